import Format
import Posix
import Store
import Writeback

// Parts are used in the order of their epochs, the oldest first: a *forget* must not go before what it is about.

extension Journal {
    /// Reserves bytes for records, so that `append` finds room; false if a part must be freed first.
    func reserve(_ count: UInt64) throws(Errno) -> Bool {
        try state.withLock { state throws(Errno) in
            if let failure = state.failure { throw failure }
            precondition(count <= state.head.partSize, "no part is large enough")
            let free = state.head.partSize - state.position
            guard
                state.reserved + count <= free
                    || (state.isNextFree && state.reserved + count <= state.head.partSize)
            else { return false }
            state.reserved += count
            return true
        }
    }

    func unreserve(_ count: UInt64) {
        state.withLock { $0.reserved -= count }
        returns.withLock { $0 += 1 }
        returns.wakeAll()
    }

    /// Whether other threads have reserved the room in the next part, so that no checkpoint is needed to get some.
    var isReserved: Bool { state.withLock { $0.isNextFree && $0.reserved > 0 } }

    /// Waits until room was given back since there were so many `returns`.
    func waitForReturn(since count: UInt64) {
        returns.wait { $0 == count ? nil : () }
    }

    /// The most that records with so many payload bytes in all can need.
    static func room(records: Int, payload: Int) -> UInt64 {
        UInt64(records * (JournalRecord.byteCount(payload: 0) + JournalRecord.sectorSize + 8) + payload)
    }

    /// The files with records in the part that is written next: once they are checkpointed, it is free.
    var usersOfNextPart: [FileIdentity: UInt64] {
        state.withLock { $0.parts[$0.next].users }
    }

    /// The files with records that are not dead, as far as is known.
    var users: [FileIdentity: UInt64] {
        state.withLock { state in
            state.parts.reduce(into: [:]) { users, part in users.merge(part.users) { max($0, $1) } }
        }
    }

    /// A quarter of the active part is full and the next one is in use: a checkpoint now frees that one before this one
    /// is full. As long as the journal can grow by some parts more, a checkpoint would only slow the programs down.
    var isLowOnSpace: Bool {
        state.withLock { state in
            state.position > state.head.partSize / 4
                && (state.parts.count > mostParts * 3 / 4 || isConfined.load(ordering: .relaxed))
                && !state.parts[state.next].users.isEmpty
        }
    }
}

extension Journal.State {
    /// The part that is written when the active one is full: the oldest.
    var next: Int {
        parts.indices.lazy.filter { $0 != active }.min { parts[$0].epoch < parts[$1].epoch }!
    }

    /// Whether nothing in the next part is needed, and readers would find what is written there.
    var isNextFree: Bool { parts[next].users.isEmpty && next < head.parts }

    /// The epoch of the part that is written next.
    var nextEpoch: UInt64 {
        max(head.nextEpoch, parts.reduce(0) { max($0, $1.epoch) } + 1)
    }
}
