import Format
import Posix
import Store

// What fsync(2) does; docs/DURABILITY.md.

extension File {
    /// Makes all that was written durable, with the length that covers it. Unless `dataOnly`, what stat(2) says too,
    /// and the names that it has got or lost.
    public func synchronize(dataOnly: Bool) throws(VaultError) {
        guard !vault.isReadOnly else { return }
        // What the journal would copy may not be there any more.
        try refuseAfterFailure()
        // A full disk has kept it so: nothing would confirm what is there.
        if lock.withShared({ state.isUnproven }) { try prove() }
        guard dataOnly else {
            // The bulk of it without the lock, so that nobody waits for it.
            if lock.withShared({ freshBlocks.count }) > Self.mostMirrored {
                try flush(dataOnly: true)
            }
            return try lock.withExclusive { () throws(VaultError) in
                try flushBindings()
                if try !flushFirst() { try checkpointAlone(all: true) }
            }
        }
        while true {
            let (fresh, sequence) = lock.withShared {
                (freshBlocks.count, state.writeback.isSynced ? state.writeback.sequence : nil)
            }
            if let sequence {
                return try backing { () throws(Errno) in try vault.openJournal().flush(upTo: sequence) }
            }
            if try fresh > Self.mostMirrored ? confirmInPlace() : confirmInJournal() { return }
        }
    }

    /// Flushes a new file once, with the header that shows all of it; false where that does not do. A crash before the
    /// end finds something that nobody was promised, and one that comes later finds all of it, confirmed or not. Needs
    /// `lock` exclusively.
    private func flushFirst() throws(VaultError) -> Bool {
        let writeback = state.writeback
        guard writeback.durableGeneration == 0, !writeback.isJournaled, !writeback.isRemoved, writeback.durableEnd == 0,
            writeback.torn.isEmpty, writeback.truncation == .durable, writeback.currentProtection == nil,
            state.header.length == 0,
            state.length > 0, !state.hasStaleTail, !state.isUnproven, writeback.isHeaderCurrent || !isStampSpent
        else { return false }
        if !writeback.isHeaderCurrent { try writeStampedHeader() }
        try flush(dataOnly: false)
        state.writeback.noteDurable(state.writeback.inPlaceGeneration)
        state.writeback.createdIn = nil
        state.writeback.isDataSynced = true
        raiseDurableEnd()
        try keepingChangeTime { (own) throws(VaultError) in try confirmHeaderInPlace(over: own) }
        state.writeback.isSynced = true
        unlistIfClean()
        return true
    }

    /// Has the header that is in the backing file confirm all of the file, which is durable. Nothing else changes, not
    /// even its generation and its time: which of the two a crash finds does not matter, so nobody waits for this one.
    private func confirmHeaderInPlace(over own: FileStatus) throws(VaultError) {
        let file = try writable()
        try confirming(state.length) { () throws(VaultError) in
            let bytes = signedHeader()
            try backing { () throws(Errno) in
                try vault.keepingSetID(of: file) { () throws(Errno) in
                    try vault.store.write(unsafe bytes.span.bytes, to: file, at: 0)
                }
            }
        }
        vault.headerWrites.add(1, ordering: .releasing)
        state.writeback.inPlaceLength = state.header.length
        do throws(Errno) {
            try vault.store.setTimes(accessed: .keep, modified: .at(own.modified), of: descriptor)
        } catch {
            // It is checkpointed with its time once more.
            state.writeback.modified = state.writeback.modified ?? state.header.shownTime(of: own.modified)
            state.writeback.isHeaderCurrent = false
            return list()
        }
        if own.linkCount == 1 { vault.summarize(state.header, of: descriptor) }
    }

    /// It has got or lost a name since its folders were last flushed.
    public var hasFreshNames: Bool { lock.withShared { !state.writeback.movedIn.isEmpty } }

    /// So many blocks are rather copied into the journal than flushed where they are: one flush instead of two.
    static let mostMirrored = 32

    /// Blocks that are in the backing file and no header has confirmed, in order; of more than `mostMirrored`, some.
    /// Also those that are below the durable end because somebody is flushing them: they are durable only when that is
    /// done. Needs `lock`.
    private var freshBlocks: [UInt64] {
        var blocks: [UInt64] = []
        let first = BlockGeometry.blockCount(forLength: state.header.length)
        let end = BlockGeometry.blockCount(forLength: state.length)
        guard first < end else { return [] }
        var fresh = RangeSet(first..<end)
        // As ranges: there may be more blocks in holes than anybody can look at.
        if !state.writeback.holes.isEmpty { fresh.subtract(state.writeback.holes) }
        for range in fresh.ranges {
            for block in range where state.writeback.slots[block] == nil {
                blocks.append(block)
                if blocks.count > Self.mostMirrored { return blocks }
            }
        }
        return blocks
    }

    /// False if there is more to copy than was thought.
    private func confirmInJournal() throws(VaultError) -> Bool {
        var sequence: UInt64 = 0
        var isDone = true
        try withRoom(Journal.roomForFile + Journal.roomForBlocks(Self.mostMirrored)) { (_) throws(VaultError) in
            try writeTornInPlace()
            let fresh = freshBlocks
            guard fresh.count <= Self.mostMirrored else {
                isDone = false
                return true
            }
            // A header in the backing file may not be durable.
            let hasHeader = state.writeback.isJournaled && state.writeback.isHeaderCurrent
            guard try beginRecords() else {
                try makeRemovalDurable()
                state.writeback.isSynced = true
                return true
            }
            // What was written over has its header behind it already.
            if !fresh.isEmpty || state.header.length != state.length || !hasHeader {
                try confirming(state.length) { () throws(VaultError) in
                    // The cipher is not used: what is copied is encrypted.
                    try vault.scratches.withIdleScratch { (scratch) throws(VaultError) in try mirror(fresh, scratch) }
                }
            }
            state.writeback.isSynced = true
            state.writeback.isDataSynced = true
            if state.writeback.truncation == .unsynced { state.writeback.truncation = .synced }
            sequence = state.writeback.sequence
            return true
        }
        if isDone { try backing { () throws(Errno) in try vault.openJournal().flush(upTo: sequence) } }
        return isDone
    }

    /// False if the file was truncated meanwhile.
    private func confirmInPlace() throws(VaultError) -> Bool {
        let before = try lock.withExclusive { () throws(VaultError) in
            try writeTornInPlace()
            raiseDurableEnd()
            return (
                length: state.length, state.writeback.inPlaceGeneration, state.writeback.round, state.writeback.changes
            )
        }
        try flush(dataOnly: true)
        var sequence: UInt64 = 0
        var isDone = true
        try withRoom(2 * Journal.roomForFile) { (_) throws(VaultError) in
            guard state.writeback.round == before.2 else {
                isDone = false
                return true
            }
            let (durable, isJournaled) = (state.writeback.durableGeneration, state.writeback.isJournaled)
            if durable == 0 {
                state.writeback.durableGeneration = before.1
                // The journal must not say any more that it has all of the file.
                state.writeback.isJournaled = false
            }
            do throws(VaultError) {
                try confirming(before.length) { () throws(VaultError) in try journalHeader() }
            } catch {
                // What was confirmed before lies in the journal still.
                if isJournaled {
                    state.writeback.durableGeneration = durable
                    state.writeback.isJournaled = true
                }
                throw error
            }
            if state.writeback.isRemoved { try makeRemovalDurable() }
            state.writeback.isSynced = state.writeback.changes == before.3
            state.writeback.isDataSynced = state.writeback.isSynced
            if state.writeback.truncation == .unsynced { state.writeback.truncation = .synced }
            sequence = state.writeback.sequence
            return true
        }
        if isDone { try backing { () throws(Errno) in try vault.openJournal().flush(upTo: sequence) } }
        return isDone
    }

    /// From now on nothing that lies in the backing file is written over; what is there can be flushed and
    /// confirmed.
    func raiseDurableEnd() {
        state.writeback.durableEnd = max(state.writeback.durableEnd, state.length)
        state.writeback.durableEndSinceHeader = max(state.writeback.durableEndSinceHeader, state.length)
    }

    /// Confirms what is below `length` by the header that `body` appends to the journal, or not at all.
    private func confirming(_ length: UInt64, _ body: () throws(VaultError) -> Void) throws(VaultError) {
        let before = state.header.length
        confirm(length)
        do throws(VaultError) { try body() } catch {
            state.header.length = before
            throw error
        }
    }

    /// All below `length` is durable, or in the journal before the header that will say so.
    func confirm(_ length: UInt64) {
        guard !state.isUnproven else { return }
        state.header.length = max(state.header.length, length)
        state.writeback.durableEnd = max(state.writeback.durableEnd, length)
        state.writeback.durableEndSinceHeader = max(state.writeback.durableEndSinceHeader, length)
    }
}
