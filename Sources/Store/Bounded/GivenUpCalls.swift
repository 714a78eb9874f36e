import Posix

/// The calls whose callers wait, those that were given up and may still have their effect, and the flushes that have
/// failed after they were given up.
struct GivenUpCalls {
    private struct Call {
        let kind: StoreCallKind
        /// The files and folders that it concerns; nil if that is unknown.
        let inodes: Set<KnownInode>?
        /// The hurry in which it was given up.
        let hurry: UInt64?

        func concerns(_ others: Set<KnownInode>?) -> Bool {
            guard let inodes, let others else { return true }
            return !inodes.isDisjoint(with: others)
        }
    }

    private var calls: [ObjectIdentifier: Call] = [:]
    private var failedFlushes: [KnownInode: Errno] = [:]
    private var failedFlushOfAll: Errno?
    /// How many calls were given up so far, those that had not been sent too.
    private(set) var total = 0

    var count: Int { calls.count }
    /// Neither a call nor a failure concerns any other call.
    var isEmpty: Bool { calls.isEmpty && failedFlushes.isEmpty && failedFlushOfAll == nil }
    /// Something in the store may still change.
    var mayChange: Bool { calls.values.contains { $0.kind == .change } }

    mutating func add(
        _ call: ObjectIdentifier, _ kind: StoreCallKind, _ inodes: Set<KnownInode>?, in hurry: UInt64?
    ) {
        calls[call] = Call(kind: kind, inodes: inodes, hurry: hurry)
    }

    /// Counts a call that was given up, and is forgotten if it was never sent.
    mutating func noteGivenUp(_ call: ObjectIdentifier, isSent: Bool) {
        total += 1
        if !isSent { calls[call] = nil }
    }

    /// Forgets a call that has ended. A failed flush is kept for good: the kernel reports it once, and its caller was
    /// not there any more.
    mutating func remove(_ call: ObjectIdentifier, failure: Errno?) {
        guard let ended = calls.removeValue(forKey: call), let failure else { return }
        switch ended.kind {
        case .flush: for inode in ended.inodes ?? [] { failedFlushes[inode] = failure }
        case .flushAll: failedFlushOfAll = failure
        case .look, .change: break
        }
    }

    /// What a flush of these files has failed with after its caller had given it up.
    func failure(of kind: StoreCallKind, _ inodes: Set<KnownInode>?) -> Errno? {
        switch kind {
        case .flush: inodes.flatMap { $0.lazy.compactMap { failedFlushes[$0] }.first }
        case .flushAll: failedFlushOfAll ?? failedFlushes.values.first
        case .look, .change: nil
        }
    }

    /// Whether a call has to wait for the end of one that was given up: otherwise that one could undo it, or a flush
    /// miss how that one ended.
    func delays(_ kind: StoreCallKind, _ inodes: Set<KnownInode>?) -> Bool {
        calls.values.contains { call in
            switch (call.kind, kind) {
            case (.change, .look), (.change, .change), (.change, .flush), (.flush, .flush): call.concerns(inodes)
            case (.flushAll, .flushAll): true
            default: false
            }
        }
    }

    /// Whether the store has shown in this hurry that it hangs, so that another call need not try. A flush that takes
    /// long says so of flushes only: some stores send a whole file then.
    func showHanging(for kind: StoreCallKind, in hurry: UInt64) -> Bool {
        calls.values.contains { call in
            call.hurry == hurry && (kind.isFlush || !call.kind.isFlush)
        }
    }
}
