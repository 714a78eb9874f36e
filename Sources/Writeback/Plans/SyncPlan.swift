import Format

/// How fdatasync(2) makes durable what was written.
package enum DataSyncPlan: Equatable {
    /// All is in the journal, up to this record.
    case flushJournal(upTo: UInt64)
    /// What no header has confirmed is copied into the journal: one flush instead of two.
    case confirmInJournal
    /// It is flushed in its place, and then a header in the journal confirms it.
    case confirmInPlace
}

extension FileState {
    /// Up to so many blocks are copied into the journal and not flushed in place.
    package static let mostMirrored = 32

    /// - Parameter most: as many blocks are copied into the journal at most.
    package func dataSync(copying most: Int = mostMirrored) -> DataSyncPlan {
        if sync.isSynced { return .flushJournal(upTo: journal.sequence) }
        return freshBlocks(most).count > most ? .confirmInPlace : .confirmInJournal
    }

    /// The blocks that are in the backing file and that no header has confirmed, in order; of more than `most`, only
    /// some. A block that is below the durable end because a flush is under way counts too: it is durable only after
    /// that flush.
    package func freshBlocks(_ most: Int = mostMirrored) -> [UInt64] {
        var blocks: [UInt64] = []
        let first = BlockGeometry.blockCount(forLength: header.length)
        let end = BlockGeometry.blockCount(forLength: length)
        guard first < end else { return [] }
        var fresh = RangeSet(first..<end)
        // As ranges: a hole may have too many blocks to look at each.
        if !journal.holes.isEmpty { fresh.subtract(journal.holes) }
        for range in fresh.ranges {
            for block in range where journal.blocks[block] == nil {
                blocks.append(block)
                if blocks.count > most { return blocks }
            }
        }
        return blocks
    }

    /// What comes next before a flush of the journal makes all that was written durable; nil if nothing does. Nothing
    /// comes after `appendFreshBlocks`.
    ///
    /// Keeps: the last header in the journal confirms blocks that are durable in place or lie before it in the journal.
    package var nextStepToConfirmInJournal: WriteStep? {
        if !repair.torn.isEmpty { return .writeTorn }
        // Without a name, there is nothing that a crash could leave.
        guard names.removal == .named else { return nextStepToRemoval }
        if let step = nextStepToRecords { return step }
        // A header that is only in the backing file may not be durable. Blocks that were overwritten have their header
        // behind them in the journal already.
        let isTold = journal.records == .complete && sync.isHeaderCurrent && header.length == length
        return isTold && freshBlocks().isEmpty ? nil : .appendFreshBlocks
    }

    /// What is done before a flush that other requests do not wait for, and that a header in the journal follows.
    package var stepsBeforeConfirmingInPlace: [WriteStep] { (repair.torn.isEmpty ? [] : [.writeTorn]) + [.raiseEnd] }

    /// What a flush covers that was begun without the lock.
    package struct FlushMark: Hashable {
        package let length: UInt64
        package let generation: UInt64
        /// So many folders wait for a flush.
        fileprivate let folders: Int
        fileprivate let round: UInt64
        fileprivate let changes: UInt64
    }

    package var flushMark: FlushMark {
        FlushMark(
            length: length, generation: durable.placed.generation, folders: names.folders.count,
            round: sync.round, changes: sync.changes)
    }

    /// Whether a flush that was begun at `mark` has made durable what the file had then, and still has.
    package func isCovered(by mark: FlushMark) -> Bool { sync.round == mark.round }

    /// Whether no name was gained or lost since `mark`, so that its folders are all.
    package func hasSameNames(as mark: FlushMark) -> Bool { names.folders.count == mark.folders }

    /// Whether nothing has been written since `mark`.
    package func isUnchanged(since mark: FlushMark) -> Bool { sync.changes == mark.changes }

    /// The first fsync(2) of a file that is new and lies in its backing file alone: one flush, with a header that shows
    /// all of it. Nil if this does not do: then the file is checkpointed.
    ///
    /// Keeps: after a crash before the end of the flush, nothing that is found was acknowledged; after a later one all
    /// of the file is found, confirmed or not.
    package func stepsToSyncFirst(isStampSpent: Bool) -> [WriteStep]? {
        guard mayLackHeader, !journal.hasRecords, names.removal == .named else { return nil }
        // Nothing was confirmed yet.
        guard header.length == 0, durable.end == 0, durable.truncation == .durable else { return nil }
        guard length > 0, repair.torn.isEmpty, !repair.hasStaleTail, !repair.isUnproven else { return nil }
        guard names.currentProtection == nil, !isStampSpent else { return nil }
        // A header that was written earlier may be in a copy by now: what confirms must have another time.
        return [.placeHeader, .flush(all: true), .confirmPlacedHeader, .unlist]
    }
}
