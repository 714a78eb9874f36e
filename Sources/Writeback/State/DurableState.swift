import Format

/// What a crash may find in the backing file, and what it must find unharmed there.
///
/// Invariants: a header that a crash may find confirms nothing beyond `end`; only a checkpoint overwrites in place what
/// is below `end`; `endSinceHeader` is at most `end`.
package struct DurableState: Hashable {
    /// The header that was last written to the backing file.
    package struct PlacedHeader: Hashable {
        /// Its confirmed length. It tells how long a block is that lies in the backing file below it.
        package var length: UInt64
        package var generation: UInt64
        package var stamp: Int64
    }

    /// The generation of the header that is on disk at least. A crash finds this one, the placed one, or one between.
    package enum FlushedHeader: Hashable {
        /// No header need be on disk yet: the file is new.
        case none
        /// The one that was found when the file was opened: an earlier `File` wrote it, perhaps without a flush since.
        case assumed(UInt64)
        case flushed(UInt64)
    }

    /// Whether a power loss may bring back what was last truncated from the backing file.
    package enum Truncation {
        case durable
        /// It may, and no sync has acknowledged the truncation.
        case unsynced
        /// A sync has acknowledged the truncation: the file may not grow over it before a flush.
        case synced
    }

    package private(set) var placed: PlacedHeader
    package private(set) var flushed: FlushedHeader
    /// The durable end. Only a checkpoint overwrites blocks that hold bytes below it in the backing file: a header on
    /// disk, there or in the journal, may confirm them, or a flush under way is about to be followed by one that does.
    package private(set) var end: UInt64
    /// As `end`, but only for the placed header, and for headers and flushes since.
    package private(set) var endSinceHeader: UInt64
    package private(set) var truncation = Truncation.durable
    /// The next header has a higher generation than this: another machine, or an earlier session, has seen it.
    package private(set) var surpassed: UInt64 = 0

    /// - Parameter header: the one in the backing file, or the first one of a new file.
    package init(_ header: FileHeader, isNew: Bool) {
        placed = PlacedHeader(length: header.length, generation: header.generation, stamp: header.stamp)
        flushed = isNew ? .none : .assumed(header.generation)
        (end, endSinceHeader) = (header.length, header.length)
    }

    /// The generation that is on disk at least; 0 if no header need be there.
    package var flushedGeneration: UInt64 {
        switch flushed {
        case .none: 0
        case .assumed(let generation), .flushed(let generation): generation
        }
    }

    /// Blocks below this one hold bytes below the durable end.
    package var blocks: UInt64 { BlockGeometry.blockCount(forLength: end) }
    /// Blocks below this one are as long in the backing file as the placed header says.
    package var placedBlocks: UInt64 { BlockGeometry.blockCount(forLength: placed.length) }

    // MARK: Headers

    /// A header that confirms `length` is about to be written to the backing file, and may be on disk from then on.
    package mutating func willPlaceHeader(confirming length: UInt64) { end = max(end, length) }

    package mutating func didPlaceHeader(confirming length: UInt64, generation: UInt64) {
        placed.length = length
        placed.generation = generation
    }

    /// The placed header was written once more and confirms more. Its generation and its time are the same.
    package mutating func didConfirmPlacedHeader(_ length: UInt64) { placed.length = length }

    package mutating func didStampHeader(_ stamp: Int64) { placed.stamp = stamp }

    /// Another file had this stamp under a name that this one gets: the next header has a later one.
    package mutating func pass(stamp: Int64) { placed.stamp = max(placed.stamp, stamp) }

    /// A read-only vault shows a header of the journal as if it were in the backing file: the length that an older
    /// header gives the last block no longer counts.
    package mutating func didShowHeader(confirming length: UInt64) { placed.length = length }

    /// The backing file was flushed when its header had this generation or a later one.
    package mutating func didFlush(_ generation: UInt64) { flushed = .flushed(max(flushedGeneration, generation)) }

    /// The journal does not tell of that flush: the flushed header counts as it did before.
    package mutating func forgetFlush(_ before: FlushedHeader) { flushed = before }

    package mutating func surpass(_ generation: UInt64) { surpassed = max(surpassed, generation) }

    /// Another machine may have written the header that is in place, without a flush since.
    package mutating func assumeFlushed() { if flushed != .none { flushed = .assumed(placed.generation) } }

    // MARK: The durable end

    /// From now on nothing below `length` is overwritten in place: a flush is about to confirm it, or a header does.
    package mutating func raise(to length: UInt64) {
        end = max(end, length)
        endSinceHeader = max(endSinceHeader, length)
    }

    /// A checkpoint is about to place a header that confirms `length`, on top of blocks that are all in place.
    package mutating func willCheckpoint(confirming length: UInt64) { endSinceHeader = length }

    /// The header of that checkpoint is durable, and nothing but it confirms anything.
    package mutating func lowerEnd() { end = endSinceHeader }

    // MARK: Truncations

    package mutating func didTruncate() { if truncation == .durable { truncation = .unsynced } }

    /// A sync has acknowledged the length.
    package mutating func didSyncTruncation() { if truncation == .unsynced { truncation = .synced } }

    package mutating func didFlushTruncation() { truncation = .durable }
}
