public import Posix

extension Leases {
    /// Gives up what other machines wait for. The keeper does so each `LeaseTimes.poll`, and less often while none
    /// waits.
    ///
    /// - Returns: whether one waits for anything.
    @discardableResult public func answerWishes() throws(Errno) -> Bool {
        let wishes = try store.wishes()
        var failure: Errno?
        for handover in table.withLock({ $0.beginGivingUp(wishes) }) {
            do throws(Errno) { try giveUp(handover) } catch { failure = error }
            if handover.kept == nil { turns.withLock { $0.gaveUp(handover.object, at: surroundings.now, times) } }
        }
        surroundings.wakeAll()
        if let failure { throw failure }
        return !wishes.isEmpty
    }

    /// Gives up leases that no request uses, until at most so many are left.
    public func giveUpIdle(keeping most: Int) throws(Errno) {
        while table.withLock({ $0.objects }) > most, let handover = table.withLock({ $0.beginGivingUpAny() }) {
            try giveUp(handover)
        }
    }

    /// The object is gone: its lease is given up when `giveUpEnded` is called next, unless a request uses it again.
    public func noteEnd(of object: LeaseObject) { table.withLock { $0.noteEnd(of: object) } }

    /// Gives up some leases of what is gone: with each lock, many stores take longer for all of them.
    public func giveUpEnded() throws(Errno) {
        // Other machines wait for an answer to their wishes meanwhile.
        for _ in 0..<Self.mostEndedAtOnce {
            guard let handover = table.withLock({ $0.beginGivingUpEnded() }) else { return }
            try giveUp(handover)
        }
    }

    private static let mostEndedAtOnce = 32

    func giveUp(_ handover: LeaseTable.Handover) throws(Errno) {
        let object = handover.object
        // If the changes cannot be brought into place, the lease stays.
        var held: LeaseKind? = handover.held
        defer {
            table.withLock { [held] table in table.end(object, with: held) }
            surroundings.wakeAll()
        }
        if object != .register, handover.held == .write { try owner.settle(object) }
        if let kept = handover.kept, try store.lock(object, kept) {
            held = kept
            return
        }
        forget(object)
        held = nil
        try store.unlock(object)
    }
}
