import Glibc
import Posix

/// One file, larger than any memory.
struct LargeFile {
    let path: String
    let mebibytes: Int

    static let mebibyte = 1 << 20
    /// The number of accesses at random.
    static let piece = 4096
    private static let accesses = 1000

    func words(at offset: Int, count: Int, version: UInt32 = 1) -> [UInt64] {
        Pattern.words(
            file: 0, from: offset / Pattern.unit, versions: repeatElement(version, count: count / Pattern.unit))
    }

    func fill() throws {
        let file = try Descriptor.open(path: path, O_WRONLY | O_CREAT | O_TRUNC, mode: 0o644)
        for number in 0..<mebibytes {
            let offset = number * Self.mebibyte
            try file.write(words(at: offset, count: Self.mebibyte), at: offset)
        }
    }

    func makeSparse() throws {
        let file = try Descriptor.open(path: path, O_WRONLY | O_CREAT | O_TRUNC, mode: 0o644)
        try file.truncate(to: Int64(mebibytes * Self.mebibyte))
    }

    /// Writes at both ends, in sequence and at random, and reads the bytes back; then reads them once more from the
    /// store.
    func useEnds(mebibytes span: Int) throws {
        for (end, first) in [("first", 0), ("last", mebibytes - span)] {
            let start = first * Self.mebibyte
            let file = try Descriptor.open(path: path, O_RDWR)
            try timed("\(end) \(span) MiB, written", span) { number in
                let offset = start + number * Self.mebibyte
                try file.write(words(at: offset, count: Self.mebibyte), at: offset)
            }
            try timed("\(end) \(span) MiB, read", span) { number in
                let offset = start + number * Self.mebibyte
                try file.check(words(at: offset, count: Self.mebibyte), at: offset, path)
            }
            // A step that visits every piece once in a round.
            let pieces = span * Self.mebibyte / Self.piece
            func offset(_ number: Int) -> Int { start + number * 7919 % pieces * Self.piece }
            let count = min(Self.accesses, pieces)
            try timed("\(end) \(span) MiB, written at random", count) { number in
                try file.write(words(at: offset(number), count: Self.piece, version: 2), at: offset(number))
            }
            try timed("\(end) \(span) MiB, read at random", count) { number in
                try file.check(words(at: offset(number), count: Self.piece, version: 2), at: offset(number), path)
            }
            try file.synchronize(dataOnly: true)
            for number in 0..<count {
                try file.write(words(at: offset(number), count: Self.piece), at: offset(number))
            }
        }
        guard try Descriptor.open(path: path, O_RDONLY).status().size == mebibytes * Self.mebibyte else {
            throw WrongByte(description: "\(path): length")
        }
    }

    private func timed(_ name: String, _ count: Int, _ body: (Int) throws -> Void) throws {
        let started = ContinuousClock.now
        for number in 0..<count { try body(number) }
        let microseconds = (ContinuousClock.now - started) / .microseconds(1) / Double(count)
        print("\(name)\t\(Int(microseconds * 10) / 10)")
    }
}
