import Format
import Posix

// What the write path has done. Each event keeps the invariants of the parts of the state that it changes together.

extension FileState {
    // MARK: Flushes

    /// The backing file was flushed as it is: with the placed header, and with what was truncated.
    package mutating func didFlush() {
        didFlush(durable.placed.generation)
        durable.didFlushTruncation()
    }

    /// The backing file was flushed when its header had this generation or a later one.
    package mutating func didFlush(_ generation: UInt64) {
        durable.didFlush(generation)
        names.didFlushHeader()
    }

    /// The folders are durable: the header forgets bindings that were left. A flush of the folders that is under way
    /// does not cover those that are left next.
    package mutating func didFlushFolders() {
        guard names.hasChanges else { return }
        if let bindings = names.didFlushFolders() { header.bindings = bindings }
        sync.beginRound()
    }

    // MARK: Headers

    /// A header is about to be appended to the journal.
    package mutating func willAppendHeader() { raiseGeneration() }

    private mutating func raiseGeneration() {
        header.generation = max(header.generation, durable.surpassed) + 1
    }

    /// Draws numbers for blocks that are about to be encrypted: higher than those of all blocks and headers before, as
    /// long as they are below the highest one. The next header has a higher generation.
    ///
    /// - Returns: the first one; the others follow it, up to the highest one.
    package mutating func drawNumbers(_ count: Int) -> UInt64 {
        let last = min(max(header.generation, durable.surpassed), BlockNumber.highest)
        durable.surpass(min(last + UInt64(count), BlockNumber.highest))
        return min(last + 1, BlockNumber.highest)
    }

    /// Leaves out more numbers than blocks can have got since the header on disk: a crash has lost which ones were
    /// given.
    package mutating func skipNumbers() {
        guard header.generation < 1 << 60 else { return }
        durable.surpass(header.generation + 1 << 32)
    }

    package mutating func didAppendHeader(_ sequence: UInt64) {
        journal.didAppendHeader(sequence)
        sync.didWriteHeader(telling: length)
    }

    /// The header is about to be written to the backing file, and may be on disk from then on: what it confirms is
    /// below the durable end.
    package mutating func willPlaceHeader() {
        raiseGeneration()
        durable.willPlaceHeader(confirming: header.length)
    }

    package mutating func didPlaceHeader() {
        durable.didPlaceHeader(confirming: header.length, generation: header.generation)
        sync.didWriteHeader(telling: length)
        if names.currentProtection != nil { names.didPlaceMoving(durable.placed.generation) }
    }

    /// A checkpoint is about to place its header.
    package mutating func willPlaceCheckpoint() { durable.willCheckpoint(confirming: header.length) }

    /// The placed header is on top of blocks that are all durable in place, or will never be confirmed. Once it is
    /// durable, all records before it are dead. No record so far fits it, even if its time could not be set.
    package mutating func didPlaceCheckpoint() {
        journal.didCheckpoint(durable.placed.generation)
        sync.beginRound()
    }

    /// All of the file is durable, and the placed header is about to say so.
    package mutating func willConfirmPlacedHeader() {
        sync.didConfirmContents()
        raiseEnd()
    }

    /// It does not matter whether a crash finds the header that confirms or the one before.
    package mutating func didConfirmPlacedHeader() {
        durable.didConfirmPlacedHeader(header.length)
        sync.didConfirm(.all)
    }

    // MARK: Confirmations

    /// From now on nothing in the backing file is overwritten, so that a flush can confirm what is there.
    package mutating func raiseEnd() { durable.raise(to: length) }

    /// Raises the confirmed length. All below `length` is durable, or is in the journal before the header that will
    /// confirm it.
    package mutating func confirm(_ length: UInt64) {
        guard !repair.isUnproven else { return }
        header.length = max(header.length, length)
        durable.raise(to: length)
    }

    /// All that was written is durable in place.
    package mutating func didConfirm() {
        confirm(length)
        sync.didConfirmContents()
    }

    /// All that was written is durable once the journal is flushed up to the file's last record.
    package mutating func didConfirmInJournal() {
        sync.didConfirm(.all)
        durable.didSyncTruncation()
    }

    /// A header in the journal confirms what was flushed at `mark`.
    package mutating func didConfirmInPlace(_ mark: FlushMark) {
        sync.didConfirm(isUnchanged(since: mark) ? .all : .notAll)
        durable.didSyncTruncation()
    }

    /// A header in the journal is about to confirm blocks that only the backing file has, which was flushed at `mark`:
    /// the journal must not say any more that it has all of the file.
    package mutating func willConfirmInPlace(_ mark: FlushMark) {
        guard mayLackHeader || journal.claimsAll else { return }
        durable.didFlush(mark.generation)
        journal.dropIntent()
    }

    /// That header could not be appended: what was confirmed before still lies in the journal.
    package mutating func takeBackConfirmation(_ before: FileState) {
        guard before.journal.hasRecords else { return }
        durable.forgetFlush(before.durable.flushed)
        journal.keepIntent(before.journal)
    }

    /// A checkpoint is durable.
    package mutating func didCheckpoint() { sync.didCheckpoint(isWhole: length == header.length) }

    // MARK: Truncations

    /// The length is about to be lowered in a header.
    package mutating func willTruncate(to end: UInt64) {
        length = end
        // A flush that is under way does not know any more what it confirms.
        sync.beginRound()
        header.length = min(header.length, end)
        if end == 0 { header.firstSparseBlock = FileHeader.noSparseBlock }
        let blocks = BlockGeometry.blockCount(forLength: end)
        journal.truncate(toBlocks: blocks)
        repair.forget(blocks..<UInt64.max)
    }

    /// The truncation has failed: all is as it was in `before`, but for flushes and rounds since.
    package mutating func takeBackTruncation(_ before: FileState) {
        length = before.length
        header.length = before.header.length
        header.firstSparseBlock = before.header.firstSparseBlock
        journal.takeBack(before.journal)
        repair.takeBack(before.repair)
    }
}
