import Format

/// What a failure or a crash has left in the backing file, which must be repaired before more is confirmed.
package struct RepairState: Hashable {
    /// The backing file may have a stale tail: it may be longer than the length needs, after a crash or a failed write.
    package private(set) var hasStaleTail: Bool
    /// A crash may have left blocks between the confirmed length and the live one that do not verify: those read as
    /// zeros.
    package private(set) var isUnproven: Bool
    /// Blocks that lie nowhere as a whole: a full disk has stopped their write in the middle.
    package private(set) var torn: [UInt64: [UInt8]] = [:]

    /// - Parameter size: of the backing file.
    package init(_ header: FileHeader, size: Int64) {
        hasStaleTail = UInt64(size) > BlockGeometry.backingSize(forLength: header.provisionalLength)
        isUnproven = header.length < header.provisionalLength
    }

    package mutating func mayHaveTail() { hasStaleTail = true }
    package mutating func didTruncateTail() { hasStaleTail = false }

    /// All blocks below the length verify, or are damaged.
    package mutating func didProve() { isUnproven = false }

    /// A read-only vault shows another header than the backing file's.
    package mutating func didShow(_ header: FileHeader) { isUnproven = header.length < header.provisionalLength }

    /// If the write of a block fails, a part of what was there may be gone.
    package mutating func keep(_ stored: [UInt8], ofBlock block: UInt64) { torn[block] = stored }

    /// The block lies in the backing file as a whole.
    package mutating func didWrite(_ block: UInt64) { torn[block] = nil }

    /// A truncation has failed: the torn blocks are as before.
    package mutating func takeBack(_ before: RepairState) { torn = before.torn }

    /// The blocks lie in the backing file as a whole, or are no longer part of the file.
    package mutating func forget(_ blocks: Range<UInt64>) {
        guard !torn.isEmpty else { return }
        torn = torn.filter { !blocks.contains($0.key) }
    }
}
