/// The contents of one file as its writer knows them: the synced version, and each version since.
struct FileHistory: Sendable {
    private static let blockSize = 4096

    /// The first version is durable; each write or truncate since adds one. The last is the current one.
    private(set) var versions: [[UInt8]] = [[]]
    /// Whether the file was ever synced.
    private(set) var isSaved = false

    var current: [UInt8] { versions[versions.count - 1] }

    mutating func write(_ bytes: [UInt8], at offset: Int) {
        var version = current
        if version.count < offset + bytes.count {
            version = version.first(version.count, of: offset + bytes.count)
        }
        version.overwrite(at: offset, with: bytes)
        versions.append(version)
    }

    mutating func truncate(to size: Int) {
        versions.append(current.first(min(size, current.count), of: size))
    }

    mutating func found(_ bytes: [UInt8]) { versions.append(bytes) }

    mutating func synchronize() {
        versions = [current]
        isSaved = true
    }

    /// How many leading bytes of a range match each version, as a help to find the fault.
    private func matches(_ bytes: [UInt8], _ range: Range<Int>) -> [Int] {
        versions.map { version in
            (range.lowerBound..<range.upperBound).first { $0 >= version.count || bytes[$0] != version[$0] }
                .map { $0 - range.lowerBound } ?? range.count
        }
    }

    /// Whether a crash may leave the file with this length.
    func allows(length: Int) -> Bool { versions.map(\.count).min()!...versions.map(\.count).max()! ~= length }

    /// How `bytes`, which a crash has left of the file, violate the promise; nil if they do not.
    ///
    /// Each block holds what any version held, or zeros where nothing was durable. The length lies between the shortest
    /// version's and the longest's.
    func flaw(in bytes: [UInt8]) -> String? {
        let isVersion = versions.contains { $0.count == bytes.count && bytes.matches($0, in: 0..<bytes.count) }
        if isVersion { return nil }
        let lengths = versions.map(\.count)
        guard lengths.min()!...lengths.max()! ~= bytes.count else {
            return "\(bytes.count) bytes long, not \(lengths.min()!) to \(lengths.max()!)"
        }
        for start in stride(from: 0, to: bytes.count, by: Self.blockSize) {
            let range = start..<min(start + Self.blockSize, bytes.count)
            if versions.contains(where: { bytes.matches($0, in: range) }) { continue }
            if start >= versions[0].count, bytes.isZero(in: range) { continue }
            let saved = range.clamped(to: 0..<versions[0].count)
            let isHarmed = versions.count == 1 || !bytes.matches(versions[0], in: saved)
            return "bytes \(range) are none of \(versions.count) versions"
                + (isHarmed ? ", and not what was synced" : "")
                + "; of \(lengths) bytes they match \(matches(bytes, range))"
        }
        return nil
    }
}
