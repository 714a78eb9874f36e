import Format
import Posix
import Store

// fsync(2): docs/DURABILITY.md.

extension File {
    /// Makes all that was written durable, with the length that covers it. Unless `dataOnly`, what stat(2) shows
    /// becomes durable too, and the names that the file has got or lost.
    public func synchronize(dataOnly: Bool) throws(VaultError) {
        guard !vault.isReadOnly else { return }
        // After a failed flush, the blocks that the journal would copy may be gone from the page cache.
        try refuseAfterFailure()
        // A full disk may have stopped an earlier attempt: no header confirms an unproven file.
        if lock.withShared({ state.isUnproven }) { try prove() }
        guard dataOnly else {
            // Most of it without the lock, so that other requests do not wait.
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

    /// Flushes a new file once, with the header that shows all of it; false where that is not enough. After a crash
    /// before the end of the flush, nothing that is found was acknowledged; after a later one all of the file is found,
    /// confirmed or not. Needs `lock` exclusively.
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

    /// Has the header in the backing file confirm all of the file, which is durable. Nothing else in it changes, not
    /// even its generation and its time. It does not matter which of the two a crash finds, so no flush follows.
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
            // The next checkpoint writes the header again, with its time.
            state.writeback.modified = state.writeback.modified ?? state.header.shownTime(of: own.modified)
            state.writeback.isHeaderCurrent = false
            return list()
        }
        if own.linkCount == 1 { vault.summarize(state.header, of: descriptor) }
    }

    /// The file has got or lost a name since its folders were last flushed.
    public var hasFreshNames: Bool { lock.withShared { !state.writeback.movedIn.isEmpty } }

    /// Up to so many blocks are copied into the journal and not flushed in place: one flush instead of two.
    static let mostMirrored = 32

    /// The blocks that are in the backing file and that no header has confirmed, in order; of more than `mostMirrored`,
    /// only some. A block that is below the durable end because a flush is under way counts too: it is durable only
    /// after that flush. Needs `lock`.
    private var freshBlocks: [UInt64] {
        var blocks: [UInt64] = []
        let first = BlockGeometry.blockCount(forLength: state.header.length)
        let end = BlockGeometry.blockCount(forLength: state.length)
        guard first < end else { return [] }
        var fresh = RangeSet(first..<end)
        // As ranges: a hole may have too many blocks to look at each.
        if !state.writeback.holes.isEmpty { fresh.subtract(state.writeback.holes) }
        for range in fresh.ranges {
            for block in range where state.writeback.journaledBlocks[block] == nil {
                blocks.append(block)
                if blocks.count > Self.mostMirrored { return blocks }
            }
        }
        return blocks
    }

    /// False if there are more blocks to copy than expected.
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
            // A header that is only in the backing file may not be durable.
            let hasHeader = state.writeback.isJournaled && state.writeback.isHeaderCurrent
            guard try beginRecords() else {
                try makeRemovalDurable()
                state.writeback.isSynced = true
                return true
            }
            // Blocks that were overwritten have their header behind them in the journal already.
            if !fresh.isEmpty || state.header.length != state.length || !hasHeader {
                try confirming(state.length) { () throws(VaultError) in
                    // The cipher is not used: the blocks are copied as they are, encrypted.
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
                // What was confirmed before still lies in the journal.
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

    /// Raises the durable end to the length: from now on nothing in the backing file is overwritten, so that a flush
    /// can confirm what is there.
    func raiseDurableEnd() {
        state.writeback.durableEnd = max(state.writeback.durableEnd, state.length)
        state.writeback.durableEndSinceHeader = max(state.writeback.durableEndSinceHeader, state.length)
    }

    /// Confirms what is below `length` by the header that `body` writes, or not at all.
    private func confirming(_ length: UInt64, _ body: () throws(VaultError) -> Void) throws(VaultError) {
        let before = state.header.length
        confirm(length)
        do throws(VaultError) { try body() } catch {
            state.header.length = before
            throw error
        }
    }

    /// Raises the confirmed length. All below `length` is durable, or is in the journal before the header that will
    /// confirm it.
    func confirm(_ length: UInt64) {
        guard !state.isUnproven else { return }
        state.header.length = max(state.header.length, length)
        state.writeback.durableEnd = max(state.writeback.durableEnd, length)
        state.writeback.durableEndSinceHeader = max(state.writeback.durableEndSinceHeader, length)
    }
}
