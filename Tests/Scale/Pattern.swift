import Posix

/// Contents that follow from their offset: the words of a unit of 1 KiB depend on the file's number, the unit's, and
/// how often the unit was written. Version 0 is zeros: never written.
enum Pattern {
    static let wordsInUnit = 128
    static let unit = 8 * wordsInUnit

    /// Words of consecutive units, each of its version.
    static func words(file: Int, from first: Int, versions: some Collection<UInt32>) -> [UInt64] {
        var words: [UInt64] = []
        words.reserveCapacity(versions.count * wordsInUnit)
        for (index, version) in versions.enumerated() {
            guard version > 0 else {
                words.append(contentsOf: repeatElement(0, count: wordsInUnit))
                continue
            }
            var state = mixed(UInt64(file) << 40 ^ UInt64(first + index) << 8 ^ UInt64(version) << 52)
            for _ in 0..<wordsInUnit {
                state &+= 0x9e37_79b9_7f4a_7c15
                words.append(mixed(state))
            }
        }
        return words
    }

    /// The first words of a file that is shorter than a unit.
    static func words(file: Int, count: Int) -> [UInt64] {
        Array(words(file: file, from: 0, versions: CollectionOfOne(1)).prefix(count))
    }

    private static func mixed(_ value: UInt64) -> UInt64 {
        var mixed = value
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }
}

extension Descriptor {
    func write(_ words: [UInt64], at offset: Int) throws(Errno) {
        try unsafe write(words.span.bytes, at: Int64(offset))
    }

    /// This many words; fewer at the end of the file.
    func words(_ count: Int, at offset: Int) throws(Errno) -> [UInt64] {
        var words = [UInt64](repeating: .max, count: count)
        var elements = words.mutableSpan
        var span = unsafe elements.mutableBytes
        let read = try self.read(into: &span, at: Int64(offset))
        words.removeLast(count - read / 8)
        return words
    }

    /// Checks that these words stand at `offset`.
    func check(_ expected: [UInt64], at offset: Int, _ what: @autoclosure () -> String) throws {
        let found = try words(expected.count, at: offset)
        guard found != expected else { return }
        let word = zip(found, expected).enumerated().first { $1.0 != $1.1 }?.offset ?? found.count
        throw WrongByte(
            description:
                "\(what()): at \(offset + 8 * word) "
                + "\(found.dropFirst(word).first.map { String($0, radix: 16) } ?? "the end")"
                + ", not \(expected.dropFirst(word).first.map { String($0, radix: 16) } ?? "the end")")
    }
}
