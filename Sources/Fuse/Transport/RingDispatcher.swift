import Posix
import Synchronization

/// The thread that sends answers which come from other threads, and passes the requests that the kernel then puts into
/// their slots to a few helpers. It handles none itself, so it is always ready.
///
/// It also has the slots for processors that were off when the mount began.
final class RingDispatcher: @unchecked Sendable {  // unchecked: `ring` is of the thread alone
    private struct Answers {
        var slots: [RingSlot] = []
        /// How many have come, and how many the kernel has.
        var handed = 0
        var sent = 0
        var isClosed = false
    }

    private let device: FuseDevice
    private var ring: Ring?
    private let wakeup: Wakeup
    /// A leaf: no other lock is taken under it. Lock order: docs/ARCHITECTURE.md.
    private let answers = Monitor(Answers())
    /// Requests for the helpers; nil at the end. A leaf as well.
    private let requests = Monitor<[RingSlot]?>([])

    init(_ device: FuseDevice) throws(Errno) {
        self.device = device
        wakeup = try Wakeup()
    }

    /// Makes the ring, on the thread itself.
    func open() throws(Errno) { ring = try Ring() }

    /// Dispatches until the connection ends.
    ///
    /// - Parameter refused: called with each slot that the kernel does not take.
    func run(
        _ first: [RingSlot], until stopped: () -> RingEnd?, refused: (RingSlot, Errno) -> Void
    ) -> RingEnd {
        defer { close() }
        do throws(Errno) {
            try ring!.expect(wakeup)
            for slot in first { try ring!.give(slot, device) }
            while true {
                let completion = try ring!.wait()
                guard let slot = completion.slot else {
                    wakeup.clear()
                    if let end = stopped() { return end }
                    try send()
                    try ring!.expect(wakeup)
                    continue
                }
                if let error = completion.error {
                    let end = RingEnd(error, isFirst: slot.commitID == 0)
                    guard case .refused(let error) = end else { return end }
                    refused(slot, error)
                    continue
                }
                requests.withLock { $0?.append(slot) }
                requests.wakeOne()
            }
        } catch { return .failed(error) }
    }

    /// The end of the use of the ring; later answers are not taken.
    func close() {
        answers.withLock { $0.isClosed = true }
        answers.wakeAll()
        requests.withLock { $0 = nil }
        requests.wakeAll()
        ring = nil
    }

    /// Makes `run` look whether it is stopped.
    func wake() { wakeup.signal() }

    /// A helper: handles requests until the end.
    ///
    /// - Parameter owed: called with the queue and the node of a request that is answered later.
    func help(_ session: Session, owed: (UInt16, UInt64) -> Void) {
        while let slot = requests.wait({ slots -> RingSlot?? in
            guard slots != nil else { return .some(nil) }
            return slots!.isEmpty ? nil : .some(slots!.removeFirst())
        }) {
            let handled = slot.serve(by: session, on: nil)
            if slot.isOwed { owed(slot.queue, handled.node) }
        }
    }

    /// Sends the answer in a slot; the kernel has it when this returns. False after the end.
    func commit(_ slot: RingSlot) -> Bool {
        let number = answers.withLock { answers -> Int? in
            guard !answers.isClosed else { return nil }
            answers.slots.append(slot)
            answers.handed += 1
            return answers.handed
        }
        guard let number else { return false }
        wakeup.signal()
        return answers.wait { answers in answers.sent >= number ? true : answers.isClosed ? false : nil }
    }

    private func send() throws(Errno) {
        let slots = answers.withLock { answers in
            defer { answers.slots = [] }
            return answers.slots
        }
        guard !slots.isEmpty else { return }
        for slot in slots { try ring!.commit(slot, device) }
        try ring!.submit()
        for slot in slots { slot.wipeAnswer() }
        answers.withLock { $0.sent += slots.count }
        answers.wakeAll()
    }
}
