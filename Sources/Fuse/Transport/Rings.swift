import Posix
import Synchronization

/// The rings of one mount: some threads for each processor that is on, and the dispatcher.
///
/// The kernel puts a request into the queue of the processor on which the program runs. It uses rings once each queue
/// of each possible processor has a slot, and wants no request to wait before.
final class Rings: Sendable {
    /// What the threads are to do.
    enum Use: Sendable {
        /// FUSE_INIT has not been answered yet.
        case open
        case rings
        case device
        case none
    }

    /// The threads of one processor.
    private struct Crew {
        var count = 0
        /// Those whose request another thread will answer.
        var waiting = 0
        /// The first slots that the kernel has refused.
        var refused = 0
    }

    private struct State {
        var use = Use.open
        /// Threads that have made their rings.
        var ready = 0
        var failure: Errno?
        /// Why the rings are no longer used.
        var end: RingEnd?
        /// Kept until the end: answers may be given until then.
        var slots: [RingSlot] = []
        var workers: [RingWorker] = []
        /// By processor.
        var crews: [UInt16: Crew] = [:]
        /// `begin` may be called.
        var isPrepared = false
        /// A queue has no slot, so the kernel does not use the rings.
        var isRefused = false
        /// The threads that were added while rings are used.
        var added: [Worker] = []
    }

    let device: FuseDevice
    private let payload: Int
    private let short: Int
    private let processors: Processors
    private let threadsEach: Int
    private let dispatcher: RingDispatcher
    private let refused: @Sendable (Errno) -> Void
    /// Stays signalled once the threads are to stop.
    let stopped: Wakeup
    /// Lock order: docs/ARCHITECTURE.md.
    private let state = Monitor(State())
    /// See `flushQueue`.
    private let raised = Atomic<UInt64>(0)

    /// Threads that handle the requests of the dispatcher's slots.
    private static let helpers = 4
    /// Threads in the place of those that wait for an answer: each takes a page or two of memory, and addresses.
    private static let mostAdded = 1000
    /// Fewer that do not wait for an answer get another one.
    private static let leastServing = 2

    /// - Parameters:
    ///   - threads: how many serve requests at a time, over all processors.
    ///   - payload: the largest contents of a request or an answer, in bytes.
    ///   - short: for a test, how many of the first slots the kernel refuses.
    ///   - refused: called if the kernel refuses the rings after it has offered them.
    init(
        _ device: FuseDevice, threads: Int, payload: Int, short: Int = 0, refused: @escaping @Sendable (Errno) -> Void
    ) throws(Errno) {
        self.refused = refused
        self.device = device
        self.payload = payload
        self.short = short
        processors = try Processors()
        threadsEach = max(4, (threads + processors.online.count - 1) / processors.online.count)
        dispatcher = try RingDispatcher(device)
        stopped = try Wakeup()
    }

    /// One for each thread. It returns whether the thread is to serve /dev/fuse.
    func bodies(_ session: Session) -> [@Sendable () -> Bool] {
        var bodies: [@Sendable () -> Bool] = []
        for processor in processors.online {
            for _ in 0..<threadsEach {
                bodies.append { [self, unowned session] in
                    let worker = RingWorker(self, processor: UInt16(processor))
                    return take(session, part: { () throws(Errno) in try worker.open() }) { slot in
                        enlist(worker)
                        return worker.run(slot, session)
                    }
                }
            }
        }
        bodies.append { [self, unowned session] in
            defer { dispatcher.close() }
            return take(
                session,
                part: { () throws(Errno) in
                    try dispatcher.open()
                    return try spareSlots()
                }
            ) { dispatcher.run($0, until: { state.withLock { $0.end } }, refused: refuse) }
        }
        for _ in 0..<Self.helpers {
            bodies.append { [self, unowned session] in
                dispatcher.help(session) { queue, file in
                    let crew = state.withLock { $0.crews[queue] ?? Crew() }
                    if crew.count - crew.waiting < Self.leastServing { _ = addWorker(queue, for: [file], session) }
                }
                return false
            }
        }
        return bodies
    }

    /// Makes a thread's ring, waits for the decision, and uses the ring. Returns whether the thread is to serve
    /// /dev/fuse.
    private func take<Part>(
        _ session: Session, part: () throws(Errno) -> Part, _ run: (Part) -> RingEnd
    ) -> Bool {
        let made: Part?
        do throws(Errno) {
            made = try part()
            state.withLock { $0.ready += 1 }
        } catch {
            made = nil
            state.withLock { $0.failure = $0.failure ?? error }
        }
        state.wakeAll()
        let use = state.wait { state in state.use == .open ? nil : state.use }
        guard use == .rings, let made else { return use == .device }
        if case .failed(let error) = run(made) { session.fail(error) }
        return false
    }

    /// The kernel does not take a slot, at the last step.
    ///
    /// It uses the rings once it has one for each queue. Until then, and without that for good, requests come from
    /// /dev/fuse.
    func refuse(_ slot: RingSlot, _ error: Errno) {
        let isDecided = state.withLock { state in
            state.crews[slot.queue, default: Crew()].refused += 1
            let all = processors.online.contains(Int(slot.queue)) ? threadsEach : 1
            guard state.crews[slot.queue]!.refused == all, !state.isRefused else { return false }
            state.isRefused = true
            return true
        }
        if isDecided { refused(error) }
    }

    private func enlist(_ worker: RingWorker) {
        state.withLock { state in
            state.workers.append(worker)
            state.crews[worker.processor, default: Crew()].count += 1
        }
    }

    /// Has the kernel put the next request that waits for a slot into a new one, which it otherwise does not before
    /// another slot of the queue is answered. The calling thread runs on the queue's processor.
    ///
    /// - Parameter files: nodes, of which the kernel has to know one as a regular file.
    ///
    /// Source: fuse_uring_do_register in fs/fuse/dev_uring.c.
    func flushQueue(_ files: [UInt64]) {
        // Larger than those of the kernel's requests, which count from 2.
        let number = (1 << 62) + 2 * raised.add(1, ordering: .relaxed).newValue
        for file in files {
            do throws(Errno) { return try device.raiseRequest(number, for: file) } catch { continue }
        }
    }

    /// A thread is about to wait for another one's answer. Adds one if few are left for its queue.
    ///
    /// - Returns: false if none is left: it must not wait.
    func beginWaiting(_ processor: UInt16, for files: [UInt64], _ session: Session) -> Bool {
        let serving = state.withLock { state in
            state.crews[processor, default: Crew()].waiting += 1
            let crew = state.crews[processor]!
            return crew.count - crew.waiting
        }
        if serving >= Self.leastServing || addWorker(processor, for: files, session) || serving > 0 { return true }
        endWaiting(processor)
        return false
    }

    func endWaiting(_ processor: UInt16) { state.withLock { $0.crews[processor, default: Crew()].waiting -= 1 } }

    /// Starts one more thread for a processor, and returns when it has its ring and its slot; false if it cannot.
    private func addWorker(_ processor: UInt16, for files: [UInt64], _ session: Session) -> Bool {
        let isOpen = Monitor<Bool?>(nil)
        let body: @Sendable () -> Void = { [self, unowned session] in
            let worker = RingWorker(self, processor: processor)
            let slot = try? worker.open()
            if slot != nil { enlist(worker) }
            isOpen.withLock { $0 = slot != nil }
            isOpen.wakeAll()
            guard let slot else { return }
            if state.withLock({ $0.end != nil }) { worker.finish() }
            if case .failed(let error) = worker.run(slot, session, besides: files) { session.fail(error) }
        }
        let isStarted = state.withLock { state in
            let thread = Worker()
            // Started under the lock: `joinAdded` misses none.
            guard state.added.count < Self.mostAdded, state.end == nil, (try? thread.start(body)) != nil else {
                return false
            }
            state.added.append(thread)
            return true
        }
        return isStarted && isOpen.wait { $0 }
    }

    /// Returns when the threads that were added have ended.
    func joinAdded() {
        while let thread = state.withLock({ $0.added.popLast() }) { thread.join() }
    }

    /// Waits until each thread has made its ring. Throws why one could not.
    func awaitReady() throws(Errno) {
        let count = processors.online.count * threadsEach + 1
        let failure: Errno?? = state.wait { state in
            state.failure.map { .some($0) } ?? (state.ready == count ? .some(nil) : nil)
        }
        if let failure, let error = failure { throw error }
    }

    /// Returns when FUSE_INIT may be answered.
    func awaitPrepared() { state.wait { $0.isPrepared ? () : nil } }

    func prepared() {
        state.withLock { $0.isPrepared = true }
        state.wakeAll()
    }

    /// Lets the threads begin, after FUSE_INIT, or has them serve /dev/fuse.
    func begin(_ isGranted: Bool) { decide(isGranted ? .rings : .device) }

    /// The mount has ended, perhaps before FUSE_INIT.
    func stop() {
        decide(.none)
        let workers = state.withLock { state in
            state.end = state.end ?? .connection
            return state.workers
        }
        for worker in workers { worker.finish() }
        stopped.signal()
        dispatcher.wake()
    }

    private func decide(_ use: Use) {
        state.withLock { state in
            guard state.use == .open else { return }
            state.use = use
            if use != .rings { state.slots = [] }
        }
        state.wakeAll()
    }

    func makeSlot(queue: UInt16) throws(Errno) -> RingSlot {
        let isShort = state.withLock { $0.slots.count } < short
        let slot = try RingSlot(queue: queue, payload: isShort ? 4096 : payload, dispatcher)
        state.withLock { $0.slots.append(slot) }
        return slot
    }

    /// Every answer was given: nothing uses the slots any more.
    func close() {
        state.withLock { state in
            state.slots = []
            state.workers = []
        }
    }

    /// One for each processor that is off.
    private func spareSlots() throws(Errno) -> [RingSlot] {
        var slots: [RingSlot] = []
        for processor in processors.possible where !processors.online.contains(processor) {
            slots.append(try makeSlot(queue: UInt16(processor)))
        }
        return slots
    }
}
