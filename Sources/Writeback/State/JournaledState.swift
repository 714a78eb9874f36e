import Format

/// What the journal holds of a file.
///
/// Invariant: what `blocks` and `holes` name lies in the journal as the file has it, and not in the backing file; both
/// are empty while there are no records.
package struct JournaledState: Hashable {
    /// The file's records on top of the placed header. While there are any, only a checkpoint places another header.
    package enum Records {
        case none
        /// The intent alone.
        case declared
        /// Behind the last block or hole there is a header.
        case complete
        /// No header follows the last blocks or holes yet: they do not count.
        case headerless
    }

    package private(set) var records = Records.none
    /// The intent says that the journal has all of the file: replay could make it under its name.
    package private(set) var claimsAll = false
    /// Blocks that lie in the journal and not in the backing file.
    package private(set) var blocks: [UInt64: JournalExtent] = [:]
    /// Blocks that are holes according to the journal, unless they have been written since. The backing file still has
    /// their old contents.
    package private(set) var holes = RangeSet<UInt64>()
    /// How long `blocks` and `holes` make the backing file of a read-only vault, perhaps with a hole before them.
    package private(set) var pendingSize: UInt64 = 0
    /// The sequence number of the file's last record.
    package private(set) var sequence: UInt64 = 0
    /// The sequence number of the last record that the placed header has made dead.
    package private(set) var deadSequence: UInt64 = 0
    /// The generation of that header; 0 if the file had no records. Until it is flushed, a crash needs the records,
    /// which know the file by the name that it has.
    package private(set) var deadSince: UInt64 = 0
    /// Duplicates may exist: other files with this ID, and a generation that the journal takes for one of this file.
    package private(set) var mayHaveDuplicates: Bool

    package init(mayHaveDuplicates: Bool) { self.mayHaveDuplicates = mayHaveDuplicates }

    package var hasRecords: Bool { records != .none }
    /// Nothing of the file's contents lies in the journal alone.
    package var isEmpty: Bool { blocks.isEmpty && holes.isEmpty }
    /// The file needs no records up to this one any more.
    package var releasable: UInt64 { hasRecords ? deadSequence : .max }

    // MARK: Records

    package mutating func didDistinguish() { mayHaveDuplicates = false }

    /// - Parameter isAll: the intent says that the journal has all of the file.
    package mutating func didAppendIntent(_ sequence: UInt64, isAll: Bool) {
        if records == .none { records = .declared }
        claimsAll = isAll
        self.sequence = sequence
    }

    /// A block was appended, and its header was not.
    package mutating func didAppend(_ extent: JournalExtent, asBlock block: UInt64) {
        blocks[block] = extent
        sequence = extent.sequence
        records = .headerless
    }

    /// A hole was appended, and its header was not.
    package mutating func didAppendHole(_ hole: Range<UInt64>, _ sequence: UInt64) {
        self.sequence = sequence
        records = .headerless
        blocks = blocks.filter { !hole.contains($0.key) }
        holes.insert(contentsOf: hole)
    }

    /// A header was appended, alone or behind other records.
    package mutating func didAppendHeader(_ sequence: UInt64) {
        self.sequence = sequence
        records = .complete
    }

    /// Blocks were appended, and a header behind them.
    package mutating func didAppend(_ extents: some Sequence<(UInt64, JournalExtent)>) {
        for (block, extent) in extents { blocks[block] = extent }
    }

    // MARK: Contents that no longer lie here

    /// The backing file, or memory, has a newer version of the block.
    package mutating func forget(_ block: UInt64) {
        blocks[block] = nil
        holes.remove(contentsOf: block..<block + 1)
    }

    /// The backing file has newer versions of the blocks: it has a hole there.
    package mutating func forgetBlocks(_ range: Range<UInt64>) {
        guard !blocks.isEmpty else { return }
        blocks = blocks.filter { !range.contains($0.key) }
    }

    /// The file ends before this block.
    package mutating func truncate(toBlocks end: UInt64) {
        if !blocks.isEmpty { blocks = blocks.filter { $0.key < end } }
        holes.remove(contentsOf: end..<UInt64.max)
    }

    /// A truncation has failed: the contents are as before. Records that were appended meanwhile do not count.
    package mutating func takeBack(_ before: JournaledState) { (blocks, holes) = (before.blocks, before.holes) }

    // MARK: Ends

    /// A header was placed that makes all records dead, once it is durable: the backing file has what they held.
    package mutating func didCheckpoint(_ generation: UInt64) {
        if records != .none { deadSince = generation }
        dropIntent()
        deadSequence = sequence
        blocks = [:]
        holes = RangeSet()
    }

    /// The next record begins with a new intent: the journal must not say any more that it has all of the file.
    package mutating func dropIntent() { (records, claimsAll) = (.none, false) }

    /// No new intent was appended: the old one counts.
    package mutating func keepIntent(_ before: JournaledState) {
        (records, claimsAll) = (before.records, before.claimsAll)
    }

    /// The file has lost its last name for good.
    package mutating func didRemove() { dropIntent() }

    /// What the journal has of a file in a read-only vault.
    package mutating func show(_ blocks: [UInt64: JournalExtent], _ holes: RangeSet<UInt64>) {
        self.blocks = blocks
        self.holes = holes
        let ends =
            blocks.map { BlockGeometry.backingOffset(ofBlock: $0.key) + UInt64($0.value.count) }
            + holes.ranges.suffix(1).map { BlockGeometry.backingOffset(ofBlock: $0.upperBound) }
        pendingSize = ends.max() ?? 0
    }
}
