import Format

/// What the journal holds of a file.
///
/// Invariant: what `blocks` and `holes` name lies in the journal as the file has it, and not in the backing file; both
/// are empty while there are no records.
package struct JournaledState {
    /// The file's records on top of the placed header. While there are any, only a checkpoint places another header.
    enum Records {
        case none
        /// Behind the last block or hole there is a header, or there is none of them yet.
        case complete
        /// No header follows the last blocks or holes yet: they do not count.
        case headerless
    }

    private(set) var records = Records.none
    /// Blocks that lie in the journal and not in the backing file.
    package private(set) var blocks: [UInt64: Journal.Extent] = [:]
    /// Blocks that are holes according to the journal, unless they have been written since. The backing file still has
    /// their old contents.
    private(set) var holes = RangeSet<UInt64>()
    /// How long `blocks` and `holes` make the backing file of a read-only vault, perhaps with a hole before them.
    private(set) var pendingSize: UInt64 = 0
    /// The sequence number of the file's last record.
    private(set) var sequence: UInt64 = 0
    /// The sequence number of the last record that the placed header has made dead.
    private(set) var deadSequence: UInt64 = 0
    /// The generation of that header; 0 if the file had no records. Until it is flushed, a crash needs the records,
    /// which know the file by the name that it has.
    private(set) var deadSince: UInt64 = 0
    /// Duplicates may exist: other files with this ID, and a generation that the journal takes for one of this file.
    private(set) var mayHaveDuplicates: Bool

    init(mayHaveDuplicates: Bool) { self.mayHaveDuplicates = mayHaveDuplicates }

    var hasRecords: Bool { records != .none }
    /// Nothing of the file's contents lies in the journal alone.
    var isEmpty: Bool { blocks.isEmpty && holes.isEmpty }
    /// The file needs no records up to this one any more.
    var releasable: UInt64 { hasRecords ? deadSequence : .max }

    // MARK: Records

    mutating func didDistinguish() { mayHaveDuplicates = false }

    mutating func didAppendIntent(_ sequence: UInt64) {
        if records == .none { records = .complete }
        self.sequence = sequence
    }

    /// A block was appended, and its header was not.
    mutating func didAppend(_ extent: Journal.Extent, asBlock block: UInt64) {
        blocks[block] = extent
        sequence = extent.sequence
        records = .headerless
    }

    /// A hole was appended, and its header was not.
    mutating func didAppendHole(_ hole: Range<UInt64>, _ sequence: UInt64) {
        self.sequence = sequence
        records = .headerless
        blocks = blocks.filter { !hole.contains($0.key) }
        holes.insert(contentsOf: hole)
    }

    /// A header was appended, alone or behind other records.
    mutating func didAppendHeader(_ sequence: UInt64) {
        self.sequence = sequence
        records = .complete
    }

    /// Blocks were appended, and a header behind them.
    mutating func didAppend(_ extents: some Sequence<(UInt64, Journal.Extent)>) {
        for (block, extent) in extents { blocks[block] = extent }
    }

    // MARK: Contents that no longer lie here

    /// The backing file, or memory, has a newer version of the block.
    mutating func forget(_ block: UInt64) {
        blocks[block] = nil
        holes.remove(contentsOf: block..<block + 1)
    }

    /// The backing file has newer versions of the blocks: it has a hole there.
    mutating func forgetBlocks(_ range: Range<UInt64>) {
        guard !blocks.isEmpty else { return }
        blocks = blocks.filter { !range.contains($0.key) }
    }

    /// The file ends before this block.
    mutating func truncate(toBlocks end: UInt64) {
        if !blocks.isEmpty { blocks = blocks.filter { $0.key < end } }
        holes.remove(contentsOf: end..<UInt64.max)
    }

    /// A truncation has failed: the contents are as before. Records that were appended meanwhile do not count.
    mutating func takeBack(_ before: JournaledState) { (blocks, holes) = (before.blocks, before.holes) }

    // MARK: Ends

    /// A header was placed that makes all records dead, once it is durable: the backing file has what they held.
    mutating func didCheckpoint(_ generation: UInt64) {
        if records != .none { deadSince = generation }
        records = .none
        deadSequence = sequence
        blocks = [:]
        holes = RangeSet()
    }

    /// The next record begins with a new intent: the journal must not say any more that it has all of the file.
    mutating func dropIntent() { records = .none }

    /// No new intent was appended: the old one counts.
    mutating func keepIntent(_ before: Records) { records = before }

    /// The file has lost its last name for good.
    mutating func didRemove() { records = .none }

    /// What the journal has of a file in a read-only vault.
    mutating func show(_ blocks: [UInt64: Journal.Extent], _ holes: RangeSet<UInt64>) {
        self.blocks = blocks
        self.holes = holes
        let ends =
            blocks.map { BlockGeometry.backingOffset(ofBlock: $0.key) + UInt64($0.value.count) }
            + holes.ranges.suffix(1).map { BlockGeometry.backingOffset(ofBlock: $0.upperBound) }
        pendingSize = ends.max() ?? 0
    }
}
