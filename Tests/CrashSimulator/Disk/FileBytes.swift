/// The contents of a file, in chunks that copies share: thousands of states differ in a few sectors only.
public struct FileBytes: Sendable {
    static let chunkSize = 32_768

    public private(set) var count = 0
    /// A chunk of nil is all zeros. The last chunk has full size, with zeros behind the end.
    private var chunks: [[UInt8]?] = []

    public init(_ bytes: [UInt8] = []) {
        resize(to: bytes.count)
        overwrite(at: 0, with: bytes[...])
    }

    public var array: [UInt8] { slice(from: 0, count: count) }

    /// Truncates, or appends zeros.
    mutating func resize(to newCount: Int) {
        let needed = newCount.roundedUp(to: Self.chunkSize) / Self.chunkSize
        if newCount < count {
            chunks.removeLast(chunks.count - needed)
            let tail = newCount % Self.chunkSize
            if tail > 0 { chunks[needed - 1]?.clear(from: tail) }
        } else {
            chunks += [[UInt8]?](repeating: nil, count: needed - chunks.count)
        }
        count = newCount
    }

    /// All of `bytes` must lie below the end.
    mutating func overwrite(at offset: Int, with bytes: ArraySlice<UInt8>) {
        precondition(offset + bytes.count <= count)
        var done = 0
        while done < bytes.count {
            let (chunk, start) = (offset + done).quotientAndRemainder(dividingBy: Self.chunkSize)
            let part = bytes.dropFirst(done).prefix(Self.chunkSize - start)
            if chunks[chunk] == nil { chunks[chunk] = [UInt8](repeating: 0, count: Self.chunkSize) }
            chunks[chunk]!.overwrite(at: start, with: part)
            done += part.count
        }
    }

    /// `wanted` bytes from an offset on, with zeros where there are none.
    func slice(from offset: Int, count wanted: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: wanted)
        let end = min(offset + wanted, count)
        var position = offset
        while position < end {
            let (chunk, start) = position.quotientAndRemainder(dividingBy: Self.chunkSize)
            let part = min(Self.chunkSize - start, end - position)
            if let source = chunks[chunk] { bytes.overwrite(at: position - offset, with: source[start..<start + part]) }
            position += part
        }
        return bytes
    }

    /// Whether the range is known to be zeros without a look at its bytes.
    func isPlainlyZero(in range: Range<Int>) -> Bool {
        let end = min(range.upperBound, count)
        guard range.lowerBound < end else { return true }
        return (range.lowerBound / Self.chunkSize...(end - 1) / Self.chunkSize).allSatisfy { chunks[$0] == nil }
    }

    /// Whether the range, which lies within one chunk, is zeros.
    func isZero(in range: Range<Int>) -> Bool {
        let (chunk, start) = range.lowerBound.quotientAndRemainder(dividingBy: Self.chunkSize)
        guard range.lowerBound < count, let bytes = chunks[chunk] else { return true }
        return bytes.isZero(in: start..<start + range.count)
    }

    /// The chunks that may hold data, with their offsets.
    var filled: [(offset: Int, bytes: ArraySlice<UInt8>)] {
        chunks.enumerated().compactMap { index, chunk in
            let offset = index * Self.chunkSize
            return chunk.map { (offset, $0[..<min(Self.chunkSize, count - offset)]) }
        }
    }
}

extension FileBytes: Hashable {
    public static func == (left: FileBytes, right: FileBytes) -> Bool {
        guard left.count == right.count else { return false }
        return zip(left.chunks, right.chunks).allSatisfy { one, other in
            one == other || (one ?? other!).isZero(in: 0..<chunkSize) && (other ?? one!).isZero(in: 0..<chunkSize)
        }
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(count)
        hasher.combine(slice(from: 0, count: min(count, 4096)))
    }
}
