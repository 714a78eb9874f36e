import Glibc
import Posix

extension LargeFile {
    /// Writes between holes, finds the holes, and truncates the file in every part.
    func useHoles() throws {
        try makeSparse()
        // A descriptor that could map the file to write to it sees no holes.
        let writable = try Descriptor.open(path: path, O_WRONLY)
        let file = try Descriptor.open(path: path, O_RDONLY)
        let length = mebibytes * Self.mebibyte
        let offsets = [0, length / 2, length - Self.mebibyte]
        for start in offsets { try writable.write(words(at: start, count: Self.mebibyte), at: start) }
        try writable.synchronize(dataOnly: true)
        try checkParts(file, offsets, length)
        // All that is behind the new end is gone, also when the file grows over it again.
        for end in [length - Self.mebibyte / 2, length / 4 * 3, length / 2 + Self.piece, length / 4, Self.piece] {
            try writable.truncate(to: Int64(end))
            try writable.truncate(to: Int64(length))
            for start in offsets {
                for offset in stride(from: start, to: start + Self.mebibyte, by: Self.piece) {
                    let expected =
                        offset < end
                        ? words(at: offset, count: Self.piece) : [UInt64](repeating: 0, count: Self.piece / 8)
                    try file.check(expected, at: offset, "\(path), truncated to \(end)")
                }
            }
        }
        guard try file.status().size == length else { throw WrongByte(description: "\(path): length") }
    }

    private func checkParts(_ file: Descriptor, _ offsets: [Int], _ length: Int) throws {
        for (start, next) in zip(offsets, offsets.dropFirst() + [length]) {
            try file.check(words(at: start, count: Self.mebibyte), at: start, path)
            let end = start + Self.mebibyte
            guard end < length else { break }
            // Some file systems report holes in larger pieces.
            guard let hole = try file.nextHole(from: Int64(start)), hole >= end, hole < end + Self.mebibyte,
                let data = try file.nextData(from: hole), data <= next, data > next - Self.mebibyte
            else { throw WrongByte(description: "\(path): no hole between \(end) and \(next)") }
            for offset in [end, end + (next - end) / 2 & ~4095, next - Self.mebibyte] {
                let nothing = [UInt64](repeating: 0, count: Self.mebibyte / 8)
                try file.check(nothing, at: offset, "\(path), a hole")
            }
        }
    }
}
