import CFuse
import Glibc
import Posix

/// Why a thread no longer serves a ring.
enum RingEnd: Sendable {
    /// The mount or the connection has ended.
    case connection
    /// The kernel does not take the slot.
    case refused(Errno)
    case failed(Errno)

    /// - Parameter isFirst: of the slot's first submission.
    init(_ error: Errno, isFirst: Bool) {
        switch error {
        case .ENOTCONN, .ECANCELED, Errno(rawValue: ECONNABORTED): self = .connection
        default: self = isFirst ? .refused(error) : .failed(error)
        }
    }
}

/// One thread that receives requests of one processor by a ring of its own, handles them, and sends their answers.
///
/// The kernel has one slot of it at a time, and none while it handles a request: then it takes another thread's. If a
/// request is answered later, the thread waits for the answer, which must come from it.
final class RingWorker: @unchecked Sendable {  // unchecked: all but `turn` is of the thread alone
    private let rings: Rings
    let processor: UInt16
    private var ring: Ring?
    private var thread: pthread_t?
    private var end: RingEnd?
    /// Whether the request that is handled was answered by this thread.
    private var isAnswered = false
    /// That of `turn`.
    private var slot: RingSlot?
    /// For `Rings.flushQueue`: the node of the last request that was answered later, and the last regular file.
    private var files: [UInt64] = []

    /// Where the request is.
    private enum Phase {
        case handled
        /// This thread waits for another one's answer.
        case owed
        /// The answer is in the slot.
        case answered
        /// The dispatcher has sent it, and keeps the slot.
        case sentElsewhere
    }

    private struct Turn {
        /// Of the request; nil before the first one, and after this thread has given up its slot.
        var slot: RingSlot?
        var phase = Phase.handled
        /// How many answers of other threads the kernel has.
        var sent = 0
        var isOver = false
    }
    /// A leaf: no other lock is taken under it. Lock order: docs/ARCHITECTURE.md.
    private let turn = Monitor(Turn())
    /// How long another thread's answer waits for the handler to return. The handler may need what that thread has.
    private static let patience = Duration.milliseconds(10)

    init(_ rings: Rings, processor: UInt16) {
        self.rings = rings
        self.processor = processor
    }

    var isThisThread: Bool { thread.map { pthread_equal($0, pthread_self()) != 0 } ?? false }

    /// Makes the ring and its slot, on the thread itself. The ring stays until the connection ends: one that is closed
    /// before could take a request with it.
    ///
    /// - Throws: EINVAL if the thread may not run on the processor, as in a container.
    func open() throws(Errno) -> RingSlot {
        thread = pthread_self()
        guard lk_run_on(UInt32(processor)) else { throw .EINVAL }
        ring = try Ring()
        let slot = try rings.makeSlot(queue: processor)
        slot.protect()
        return slot
    }

    /// Serves requests until the connection ends.
    ///
    /// - Parameter files: for `Rings.flushQueue`, if this thread is added while the kernel uses the rings.
    func run(_ first: RingSlot, _ session: Session, besides files: [UInt64] = []) -> RingEnd {
        defer { close() }
        self.files = files
        var lastFile: UInt64?
        do throws(Errno) {
            try ring!.expect(rings.stopped)
            try ring!.give(first, rings.device)
            if !files.isEmpty { try flushQueue() }
            while end == nil {
                let completion = try ring!.wait()
                guard let slot = completion.slot else { return .connection }
                if let error = completion.error {
                    try retry(slot, RingEnd(error, isFirst: slot.commitID == 0), session)
                    continue
                }
                isAnswered = false
                take(slot)
                let handled = slot.serve(by: session, on: self)
                if handled.isFile { lastFile = handled.node }
                if !isAnswered {
                    self.files = [handled.node] + (lastFile.map { [$0] } ?? files)
                    try awaitAnswer(slot, session)
                }
            }
        } catch { return .failed(error) }
        return end!
    }

    /// The kernel has refused the slot, or ends.
    private func retry(_ slot: RingSlot, _ end: RingEnd, _ session: Session) throws(Errno) {
        guard case .refused(let error) = end else {
            self.end = end
            return
        }
        if files.isEmpty {
            // At the last step.
            rings.refuse(slot, error)
            session.serveDevice()
            rings.stop()
            self.end = .connection
        } else {
            // It uses the rings, and has no memory now; the other threads go on.
            usleep(10_000)
            try ring!.give(slot, rings.device)
            try flushQueue()
        }
    }

    /// Sends the answer in a slot, on the thread itself; false if the connection has ended.
    func commit(_ slot: RingSlot) -> Bool {
        // It may be the answer to an earlier request.
        if slot === self.slot { isAnswered = true }
        guard ring != nil else { return false }
        do throws(Errno) {
            try ring!.commit(slot, rings.device)
            try ring!.submit()
        } catch {
            end = end ?? .failed(error)
            return false
        }
        slot.wipeAnswer()
        return !ring!.hasRefused(slot)
    }

    /// Has this thread send the answer that another one has put into the slot; the kernel has it when this returns.
    ///
    /// - Returns: false if the connection has ended; nil if this thread does not wait for it, and never will.
    func commitLate(_ slot: RingSlot) -> Bool? {
        let end = MonotonicClock.now + Self.patience
        // The limit is asked for after each look, so a change cannot come in between.
        let number = turn.wait(atMost: { end - MonotonicClock.now }) { turn -> Int?? in
            guard turn.slot === slot, !turn.isOver else { return .some(nil) }
            guard turn.phase == .owed else { return nil }
            turn.phase = .answered
            return turn.sent
        }
        guard let number = number ?? giveUp(slot) else { return nil }
        turn.wakeAll()
        return turn.wait { turn in turn.sent > number ? true : turn.isOver ? false : nil }
    }

    /// The thread still is in its handler: the dispatcher sends the answer, unless it waits at last. As `commitLate`.
    private func giveUp(_ slot: RingSlot) -> Int? {
        turn.withLock { turn in
            guard turn.slot === slot, !turn.isOver else { return nil }
            guard turn.phase == .owed else {
                turn.phase = .sentElsewhere
                return nil
            }
            turn.phase = .answered
            return turn.sent
        }
    }

    private func take(_ slot: RingSlot?) {
        guard slot !== self.slot else { return }
        self.slot = slot
        turn.withLock { $0.slot = slot }
    }

    /// Until another thread has answered the request in the slot, or the connection has ended.
    private func awaitAnswer(_ slot: RingSlot, _ session: Session) throws(Errno) {
        // Without threads that serve the queue meanwhile, this one goes on, and the dispatcher sends the answer.
        let mayWait = rings.beginWaiting(processor, for: files, session)
        turn.withLock { if mayWait, $0.phase == .handled { $0.phase = .owed } }
        // The answer may be there, and wait for that.
        turn.wakeAll()
        let phase = turn.wait { turn -> Phase? in
            if turn.isOver { return .owed }
            return switch turn.phase {
            case .owed: nil
            case .handled: .sentElsewhere
            case .answered, .sentElsewhere: turn.phase
            }
        }
        if mayWait { rings.endWaiting(processor) }
        switch phase {
        case .answered: _ = commit(slot)
        case .sentElsewhere:
            take(nil)
            try replace()
        case .handled, .owed:
            end = .connection
            return
        }
        turn.withLock { turn in
            turn.phase = .handled
            if phase == .answered { turn.sent += 1 }
        }
        turn.wakeAll()
    }

    /// Gives the kernel a new slot in place of one that the dispatcher has.
    private func replace() throws(Errno) {
        // Without memory, the requests of this processor go to the other threads and the dispatcher.
        guard let added = try? rings.makeSlot(queue: processor) else { return }
        added.protect()
        try ring!.give(added, rings.device)
        try flushQueue()
    }

    private func flushQueue() throws(Errno) {
        try ring!.submit()
        // A processor that was off meanwhile has let the thread go.
        if lk_run_on(UInt32(processor)) { rings.flushQueue(files) }
    }

    /// The connection has ended: the thread no longer waits for an answer. On any thread.
    func finish() {
        turn.withLock { $0.isOver = true }
        turn.wakeAll()
    }

    private func close() {
        finish()
        // The slot refers to this object, too.
        take(nil)
        ring = nil
    }
}
