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
        if lock.withShared({ state.repair.isUnproven }) { try prove() }
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
                (freshBlocks.count, state.sync.isSynced ? state.journal.sequence : nil)
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
        guard state.durable.flushedGeneration == 0, !state.journal.hasRecords,
            state.names.removal == .named, state.durable.end == 0,
            state.repair.torn.isEmpty, state.durable.truncation == .durable,
            state.names.currentProtection == nil,
            state.header.length == 0,
            state.length > 0, !state.repair.hasStaleTail, !state.repair.isUnproven,
            state.sync.isHeaderCurrent || !isStampSpent
        else { return false }
        if !state.sync.isHeaderCurrent { try writeStampedHeader() }
        try flush(dataOnly: false)
        state.durable.didFlush(state.durable.placed.generation)
        state.names.didFlushHeader()
        state.sync.didConfirm(.contents)
        raiseDurableEnd()
        try keepingChangeTime { (own) throws(VaultError) in try confirmHeaderInPlace(over: own) }
        state.sync.didConfirm(.all)
        unlistIfClean()
        return true
    }

    /// Has the header in the backing file confirm all of the file, which is durable. Its generation and its time stay;
    /// bindings of names that are durably gone may go. It does not matter which of the two a crash finds, so no flush
    /// follows.
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
        state.durable.didConfirmPlacedHeader(state.header.length)
        do throws(Errno) {
            try vault.store.setTimes(accessed: .keep, modified: .at(own.modified), of: descriptor)
        } catch {
            // The next checkpoint writes the header again, with its time.
            state.times.show(
                modified: state.times.modified ?? state.header.shownTime(of: own.modified))
            state.sync.needsHeader()
            return list()
        }
        if own.linkCount == 1, !state.needsPending { vault.summarize(state.header, of: descriptor) }
    }

    /// The file has got or lost a name since its folders were last flushed.
    public var hasFreshNames: Bool { lock.withShared { state.names.hasChanges } }

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
        if !state.journal.holes.isEmpty { fresh.subtract(state.journal.holes) }
        for range in fresh.ranges {
            for block in range where state.journal.blocks[block] == nil {
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
            let hasHeader = state.journal.hasRecords && state.sync.isHeaderCurrent
            guard try beginRecords() else {
                try makeRemovalDurable()
                state.sync.didConfirm(.all)
                return true
            }
            // Blocks that were overwritten have their header behind them in the journal already.
            if !fresh.isEmpty || state.header.length != state.length || !hasHeader {
                try confirming(state.length) { () throws(VaultError) in
                    // The cipher is not used: the blocks are copied as they are, encrypted.
                    try vault.scratches.withIdleScratch { (scratch) throws(VaultError) in try mirror(fresh, scratch) }
                }
            }
            state.sync.didConfirm(.all)
            state.durable.didSyncTruncation()
            sequence = state.journal.sequence
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
                length: state.length, state.durable.placed.generation, state.sync.round,
                state.sync.changes
            )
        }
        try flush(dataOnly: true)
        var sequence: UInt64 = 0
        var isDone = true
        try withRoom(2 * Journal.roomForFile) { (_) throws(VaultError) in
            guard state.sync.round == before.2 else {
                isDone = false
                return true
            }
            let (durable, records) = (state.durable, state.journal.records)
            if durable.flushedGeneration == 0 {
                state.durable.didFlush(before.1)
                // The journal must not say any more that it has all of the file.
                state.journal.dropIntent()
            }
            do throws(VaultError) {
                try confirming(before.length) { () throws(VaultError) in try journalHeader() }
            } catch {
                // What was confirmed before still lies in the journal.
                if records != .none {
                    state.durable.forgetFlush(durable.flushed)
                    state.journal.keepIntent(records)
                }
                throw error
            }
            if state.names.removal != .named { try makeRemovalDurable() }
            state.sync.didConfirm(state.sync.changes == before.3 ? .all : .notAll)
            state.durable.didSyncTruncation()
            sequence = state.journal.sequence
            return true
        }
        if isDone { try backing { () throws(Errno) in try vault.openJournal().flush(upTo: sequence) } }
        return isDone
    }

    /// Raises the durable end to the length: from now on nothing in the backing file is overwritten, so that a flush
    /// can confirm what is there.
    func raiseDurableEnd() {
        state.durable.raise(to: state.length)
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
        guard !state.repair.isUnproven else { return }
        state.header.length = max(state.header.length, length)
        state.durable.raise(to: length)
    }
}
