public import Format

/// Lower bounds of the numbers of one file's blocks. Not thread-safe.
///
/// Only blocks have one of which an older version exists: those that were overwritten, and those behind the end of a
/// truncation. Bounds never fall.
public struct BlockBounds: Hashable, Sendable {
    /// Blocks of a chunk: each is changed without touching the others.
    private static let chunk: UInt64 = 1024
    /// So many chunks of one change are noted: 4 GiB. What lies behind is not.
    private static let mostChunks: UInt64 = 1024
    private static let mostFloors = 64

    /// Blocks of one chunk, and their bound: 16 bytes.
    private struct Piece: Hashable {
        var first: UInt16
        var end: UInt16
        var number: UInt64
    }

    private var chunks: [UInt64: ContiguousArray<Piece>] = [:]
    /// Bounds of all blocks from one on. Both rise from one floor to the next.
    private var floors: [Floor] = []

    private struct Floor: Hashable {
        var first: UInt64
        var number: UInt64
    }

    /// How many runs there are.
    public private(set) var count = 0

    public init() {}

    public var isEmpty: Bool { count == 0 }

    /// No block from `first` on has a lower number than this.
    public mutating func raise(from first: UInt64, to number: UInt64) {
        if floors.contains(where: { $0.first <= first && $0.number >= number }) { return }
        let before = floors.count
        floors.removeAll { $0.first >= first && $0.number <= number }
        floors.insert(Floor(first: first, number: number), at: floors.firstIndex { $0.first > first } ?? floors.count)
        // A bound that is missing only misses something.
        if floors.count > Self.mostFloors { floors.remove(at: Self.mostFloors / 2) }
        count += floors.count - before
        forgetPieces(from: first, below: number)
    }

    private mutating func forgetPieces(from first: UInt64, below number: UInt64) {
        for (chunk, pieces) in chunks where chunk * Self.chunk >= first {
            let left = ContiguousArray(pieces.filter { $0.number > number })
            guard left.count < pieces.count else { continue }
            count -= pieces.count - left.count
            chunks[chunk] = left.isEmpty ? nil : left
        }
    }

    /// No block of a range has a lower number than this.
    public mutating func raise(_ blocks: Range<UInt64>, to number: UInt64) {
        guard !blocks.isEmpty, !floors.contains(where: { $0.first <= blocks.lowerBound && $0.number >= number })
        else { return }
        let last = min((blocks.upperBound - 1) / Self.chunk, blocks.lowerBound / Self.chunk + Self.mostChunks)
        for chunk in blocks.lowerBound / Self.chunk...last {
            let start = chunk * Self.chunk
            let first = UInt16(max(blocks.lowerBound, start) - start)
            let end = UInt16(min(blocks.upperBound - start, Self.chunk))
            var pieces = chunks.removeValue(forKey: chunk) ?? []
            count -= pieces.count
            Self.raise(first, end, to: number, in: &pieces)
            count += pieces.count
            chunks[chunk] = pieces
        }
    }

    private static func raise(
        _ first: UInt16, _ end: UInt16, to number: UInt64, in pieces: inout ContiguousArray<Piece>
    ) {
        // Together with the neighbours, which may get the same number.
        let begin = max(0, index(of: first, in: pieces) - 1)
        var changed = ContiguousArray<Piece>()
        var at = first
        var behind = begin
        func append(_ first: UInt16, _ end: UInt16, _ number: UInt64) {
            guard first < end else { return }
            if let last = changed.last, last.end == first, last.number == number {
                changed[changed.count - 1].end = end
            } else {
                changed.append(Piece(first: first, end: end, number: number))
            }
        }
        while behind < pieces.count, pieces[behind].first <= end {
            let piece = pieces[behind]
            behind += 1
            append(piece.first, min(piece.end, first), piece.number)
            append(at, min(max(piece.first, at), end), number)
            append(max(piece.first, first), min(piece.end, end), max(piece.number, number))
            at = max(at, min(piece.end, end))
            if piece.end > end {
                append(at, end, number)
                at = end
                append(max(piece.first, end), piece.end, piece.number)
            }
        }
        append(at, end, number)
        pieces.replaceSubrange(begin..<behind, with: changed)
    }

    /// The first piece that ends behind a block.
    private static func index(of block: UInt16, in pieces: ContiguousArray<Piece>) -> Int {
        var (low, high) = (0, pieces.count)
        while low < high {
            let middle = (low + high) / 2
            if pieces[middle].end > block { high = middle } else { low = middle + 1 }
        }
        return low
    }

    /// The lowest number that a block may have; 0 if any.
    public subscript(block: UInt64) -> UInt64 {
        let floor = floors.last { $0.first <= block }?.number ?? 0
        guard let pieces = chunks[block / Self.chunk] else { return floor }
        let offset = UInt16(block % Self.chunk)
        let index = Self.index(of: offset, in: pieces)
        guard index < pieces.count, pieces[index].first <= offset else { return floor }
        return max(floor, pieces[index].number)
    }

    /// The bounds, in no order that counts.
    public func forEachRun(_ body: (BlockRun) -> Void) {
        for floor in floors { body(BlockRun(first: floor.first, count: BlockRun.toTheEnd, number: floor.number)) }
        for (chunk, pieces) in chunks {
            for piece in pieces {
                body(
                    BlockRun(
                        first: chunk * Self.chunk + UInt64(piece.first), count: UInt32(piece.end - piece.first),
                        number: piece.number))
            }
        }
    }

    /// Takes in a run; of two bounds of a block, the higher one counts.
    public mutating func take(_ run: BlockRun) {
        guard run.first <= BlockGeometry.mostBlocks else { return }
        if run.count == BlockRun.toTheEnd { return raise(from: run.first, to: run.number) }
        raise(run.first..<run.first + UInt64(run.count), to: run.number)
    }

    public mutating func merge(_ other: BlockBounds) {
        if isEmpty { self = other } else { other.forEachRun { take($0) } }
    }
}
