import Format

/// How a shorter length is written.
package struct TruncationPlan: Equatable {
    package let header: FileState.HeaderPlace
    /// The last block, which is shorter now, goes into the journal together with the header. Otherwise it is written in
    /// place, behind the header.
    package let journalsTail: Bool
}

extension FileState {
    /// Of the blocks that a write replaces, the first one that goes into the backing file; those before it go into the
    /// journal.
    ///
    /// Keeps: what a header on disk confirms, or may confirm by a flush under way, is not overwritten.
    package func firstInPlace(of blocks: ClosedRange<UInt64>) -> UInt64 {
        max(blocks.lowerBound, min(durable.blocks, blocks.upperBound + 1))
    }

    /// A sync has acknowledged a truncation that may not be on disk: it must be flushed before the file reaches `end`.
    /// Otherwise a crash could find the old blocks, which still verify, within the new length.
    package func mustFlushTruncation(toReach end: UInt64) -> Bool {
        end > length && durable.truncation == .synced
    }

    /// - Parameter end: the new length, less than the present one.
    ///
    /// Keeps: a crash finds the old length or the new one, each with a last block that fits it.
    package func truncation(to end: UInt64, isStampSpent: Bool) -> TruncationPlan {
        let isTailDurable = end % BlockGeometry.blockSize > 0 && BlockGeometry.block(at: end) < durable.blocks
        return TruncationPlan(
            header: isTailDurable ? .journal : placeOfHeader(isStampSpent: isStampSpent), journalsTail: isTailDurable)
    }

    /// A truncation of more than this is checkpointed at once, so that blocks written later need not go through the
    /// journal.
    package static let largestJournaledTruncation: UInt64 = 256 << 10

    /// Whether the file is checkpointed after it was truncated.
    package var checkpointsTruncation: Bool {
        durable.end > length && durable.end - length > Self.largestJournaledTruncation
    }
}
