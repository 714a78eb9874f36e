import CFuse
import Glibc
import Posix
import Synchronization

extension Session {
    /// Serves the mount on `threads` threads until it is unmounted or its connection is aborted: `start`, then `wait`.
    public func run(threads: Int) throws(Errno) {
        try start(threads: threads)
        try wait()
    }

    /// Serves the mount from now on, on `threads` threads, or fewer if the system has no more.
    ///
    /// At least 10 threads serve small writes well: the kernel hands a request to the thread that has waited longest,
    /// so with few threads that one is still asleep. All signals are blocked on the threads.
    ///
    /// - Throws: why not even one thread can be created. Then the session has ended, as after `wait`.
    public func start(threads: Int) throws(Errno) {
        let raw = unsafe begin()
        let (workers, failure) = startWorkers(threads)
        guard !workers.isEmpty else {
            _ = unsafe end(raw)
            throw failure ?? .EAGAIN
        }
        withState { $0.workers = workers }
    }

    /// Returns when the mount is unmounted or its connection is aborted. Call it once, after `start`.
    ///
    /// By then `destroyed` was called, every reply was answered, and all resources of the session are freed. Throws the
    /// error that ended the workers early; EIO if the kernel and libfuse did not agree on a protocol.
    public func wait() throws(Errno) {
        guard let raw = unsafe runningSession else { preconditionFailure("a session is started, then waited for once") }
        for worker in withState({ $0.workers }) { worker.join() }
        if let failure = unsafe end(raw) { throw failure }
    }

    private func begin() -> OpaquePointer {
        let address = withState { state -> UInt? in
            guard case .mounted(let address) = state.phase else { return nil }
            state.phase = .running(address)
            return address
        }
        guard let address, let raw = unsafe OpaquePointer(bitPattern: address) else {
            preconditionFailure("a session is mounted, then started once")
        }
        return unsafe raw
    }

    private func startWorkers(_ count: Int) -> (workers: [Worker], failure: Errno?) {
        precondition(count > 0)
        var all = sigset_t()
        var previous = sigset_t()
        unsafe sigfillset(&all)
        // A fault whose signal is blocked kills the process, even if it has a handler.
        for fault in [SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT] { unsafe sigdelset(&all, fault) }
        unsafe pthread_sigmask(SIG_SETMASK, &all, &previous)
        defer { unsafe pthread_sigmask(SIG_SETMASK, &previous, nil) }

        var workers: [Worker] = []
        for _ in 0..<count {
            let worker = Worker()
            do throws(Errno) { try worker.start { [self] in work() } } catch { return (workers, error) }
            workers.append(worker)
        }
        return (workers, nil)
    }

    /// One worker: receives requests into its own buffer, one at a time, and has libfuse call the operation.
    private func work() {
        guard let raw = unsafe runningSession else { return }
        var buffer = unsafe fuse_buf()
        var isLocked = false
        defer {
            if let memory = unsafe buffer.mem {
                unsafe ContentsMemory.release(Self.whole(memory), wasLocked: isLocked)
                unsafe free(memory)
            }
        }
        unsafe withUnsafeTemporaryAllocation(of: lk_fuse_worker.self, capacity: 1) { worker in
            let worker = worker.baseAddress!
            unsafe worker.initialize(to: lk_fuse_worker())
            unsafe lk_fuse_set_current_worker(worker)
            defer { lk_fuse_set_current_worker(nil) }

            while unsafe fuse_session_exited(raw) == 0 {
                let isFirst = unsafe buffer.mem == nil
                let received = unsafe fuse_session_receive_buf(raw, &buffer)
                if isFirst, let memory = unsafe buffer.mem {
                    isLocked = unsafe ContentsMemory.protect(Self.whole(memory))
                }
                if received == 0 { break }
                if received == -EINTR || received == -EAGAIN { continue }
                if received < 0 {
                    let error = Errno(rawValue: -received)
                    withState { $0.failure = $0.failure ?? error }
                    break
                }
                unsafe worker.pointee = lk_fuse_worker()
                unsafe worker.pointee.bytes = buffer.mem
                unsafe translate(&buffer, &worker.pointee)
                unsafe worker.pointee.count = buffer.size
                unsafe noteUse(opcode: buffer.mem.loadUnaligned(fromByteOffset: 4, as: UInt32.self))
                if unsafe refusesChange(raw, worker.pointee) { continue }
                unsafe fuse_session_process_buf(raw, &buffer)
                if unsafe ReceivedBody.isInit(worker.pointee) { raiseReadahead() }
                if unsafe worker.pointee.secret { unsafe explicit_bzero(buffer.mem, Int(received)) }
            }
        }
    }

    /// Records a use of the mount, by the opcode in struct fuse_in_header. Excluded are requests that the kernel sends
    /// for itself, and statfs, which monitoring programs send all the time: FORGET, STATFS, RELEASE, INIT, RELEASEDIR,
    /// INTERRUPT, DESTROY, BATCH_FORGET.
    private func noteUse(opcode: UInt32) {
        switch opcode {
        case 2, 17, 18, 26, 29, 36, 38, 42: break
        default: if !wasUsed.load(ordering: .relaxed) { wasUsed.store(true, ordering: .relaxed) }
        }
    }

    /// Whether the mount was used since the last call.
    public func takeUse() -> Bool { wasUsed.exchange(false, ordering: .relaxed) }

    private var runningSession: OpaquePointer? {
        let address = withState { state -> UInt in
            if case .running(let address) = state.phase { address } else { 0 }
        }
        return unsafe OpaquePointer(bitPattern: address)
    }

    /// The whole receive buffer, over 1 MiB, which holds what programs write.
    private static func whole(_ memory: UnsafeMutableRawPointer) -> UnsafeMutableRawBufferPointer {
        unsafe UnsafeMutableRawBufferPointer(start: memory, count: lk_fuse_memory_size(memory))
    }

    private func end(_ raw: OpaquePointer) -> Errno? {
        let (point, isInitialized) = withState { ($0.point, $0.isInitialized) }
        // An aborted connection leaves a mount on which every call fails with ENOTCONN.
        if let point, point.isStillMounted { try? detach(point, lazily: true) }
        if isInitialized { fileSystem.destroyed() }
        use.close()
        // Closes the device. libfuse sees that the connection is gone, and does not unmount.
        unsafe fuse_session_unmount(raw)
        unsafe fuse_session_destroy(raw)
        return withState { state in
            state.phase = .ended
            return state.failure ?? (state.isInitialized ? nil : .EIO)
        }
    }
}
