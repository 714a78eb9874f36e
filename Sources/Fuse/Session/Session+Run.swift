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
        precondition(threads > 0)
        let isFirst = withState { state in
            defer { state.phase = .running }
            return state.phase == .mounted
        }
        precondition(isFirst, "a session is mounted, then started once")
        var (workers, failure) = startRings(threads)
        while workers.count < threads, failure == nil {
            (workers, failure) = Self.adding(to: workers) { [self] in serveDevice() }
        }
        guard !workers.isEmpty else {
            _ = end()
            throw failure ?? .EAGAIN
        }
        withState { $0.workers = workers }
    }

    /// Returns when the mount is unmounted or its connection is aborted. Call it once, after `start`.
    ///
    /// By then `destroyed` was called, every reply was answered, and all resources of the session are freed. Throws the
    /// error that ended the workers early; EIO if the kernel and this code did not agree on a protocol.
    public func wait() throws(Errno) {
        precondition(withState { $0.phase == .running }, "a session is started, then waited for once")
        for worker in withState({ $0.workers }) { worker.join() }
        rings?.joinAdded()
        if let failure = end() { throw failure }
    }

    /// The workers with one more, or why there is none.
    static func adding(
        to workers: [Worker], _ body: @escaping @Sendable () -> Void
    ) -> (workers: [Worker], failure: Errno?) {
        var all = sigset_t()
        var previous = sigset_t()
        unsafe sigfillset(&all)
        // A fault whose signal is blocked kills the process, even if it has a handler.
        for fault in [SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT] { unsafe sigdelset(&all, fault) }
        unsafe pthread_sigmask(SIG_SETMASK, &all, &previous)
        defer { unsafe pthread_sigmask(SIG_SETMASK, &previous, nil) }
        let worker = Worker()
        do throws(Errno) { try worker.start(body) } catch { return (workers, error) }
        return (workers + [worker], nil)
    }

    /// One worker: receives requests from /dev/fuse into its own buffer, one at a time.
    func serveDevice() {
        let device = self.device
        let buffer = ReceiveBuffer(contents: configuration.maxWrite)
        do throws(Errno) {
            while true {
                let count = unsafe try device.receive(into: buffer.memory)
                if count == 0 { return }
                let message = unsafe UnsafeRawBufferPointer(rebasing: buffer.memory[..<count])
                guard let received = unsafe Received(message: message) else { throw .EIO }
                if received.opcode == .initialize {
                    negotiate(received, device)
                } else if Handling.run(nil, { serve(received, .device(device)) }) {
                    buffer.wipe(count)
                }
            }
        } catch { fail(error) }
    }

    /// A worker has ended early.
    func fail(_ error: Errno) {
        withState { $0.failure = $0.failure ?? error }
        guard rings != nil else { return }
        // Its requests are lost, and the programs would wait for ever.
        guard let point = withState({ $0.point }), point.isStillMounted, (try? abort()) != nil else {
            Log.emit(.critical, "a thread for requests has failed, and the mount cannot be aborted: \(error)\n")
            _exit(EXIT_FAILURE)
        }
    }

    /// Whether the mount was used since the last call.
    public func takeUse() -> Bool { wasUsed.exchange(false, ordering: .relaxed) }

    private func end() -> Errno? {
        let (point, isInitialized) = withState { ($0.point, $0.isInitialized) }
        // An aborted connection leaves a mount on which every call fails with ENOTCONN.
        if let point, point.isStillMounted { try? detach(point, lazily: true) }
        if isInitialized { fileSystem.destroyed() }
        use.close()
        notifier.detach()
        rings?.close()
        return withState { state in
            state.phase = .ended
            state.device = nil
            state.rings = nil
            return state.failure ?? (state.isInitialized ? nil : .EIO)
        }
    }
}

/// Memory for one message from /dev/fuse, which holds what programs write.
@safe
private final class ReceiveBuffer {
    let memory: UnsafeMutableRawBufferPointer
    private let isLocked: Bool

    /// - Parameter contents: the bytes of the largest write. The kernel wants room for the header beside it.
    init(contents: Int) {
        unsafe memory = .allocate(byteCount: contents + 4096, alignment: 4096)
        isLocked = unsafe ContentsMemory.protect(memory)
    }

    deinit {
        unsafe ContentsMemory.release(memory, wasLocked: isLocked)
        unsafe memory.deallocate()
    }

    func wipe(_ count: Int) { unsafe explicit_bzero(memory.baseAddress!, count) }
}
