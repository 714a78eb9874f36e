import Foundation
import Freshness
import Keybag
import Posix
import TestSupport
public import Vault

/// What a machine remembers of a vault's files, in a temporary folder; kept as it was after each change.
public final class RecordedMarks {
    /// The file of marks, and the number of the vault's records by then.
    public struct Moment: Sendable {
        let records: Int
        let bytes: [UInt8]
    }

    private let folder: TemporaryFolder
    private let keys: VolumeKeys
    public private(set) var watch: FreshnessWatch
    public private(set) var moments: [Moment] = []

    init(_ keys: VolumeKeys) throws {
        folder = try TemporaryFolder()
        self.keys = keys
        watch = try Self.watch(folder.path("marks"), keys)
    }

    private static func watch(_ path: String, _ keys: VolumeKeys) throws -> FreshnessWatch {
        FreshnessWatch(
            try Marks(path: Path(path), volume: keys.volume, cipher: keys.marks), .warn, remembers: true)
    }

    /// As the daemon does after some seconds.
    func save(after records: Int) throws {
        try watch.marks.save()
        let bytes = Array(try Data(contentsOf: URL(filePath: folder.path("marks"))))
        if bytes != moments.last?.bytes { moments.append(Moment(records: records, bytes: bytes)) }
    }

    /// Another daemon takes over.
    func reopen() throws {
        let path = folder.path("marks")
        let bytes = try Data(contentsOf: URL(filePath: path))
        try bytes.write(to: URL(filePath: path), options: .atomic)
        watch = try Self.watch(path, keys)
    }
}

extension [RecordedMarks.Moment] {
    /// What the machine remembers after a crash: the file as it was at the last moment before, in another file.
    func watch(at crash: Int, _ keys: VolumeKeys, in folder: TemporaryFolder) throws -> FreshnessWatch? {
        guard let moment = last(where: { $0.records <= crash }) else { return nil }
        let path = folder.path("marks")
        try? FileManager.default.removeItem(atPath: path)
        try Data(moment.bytes).write(to: URL(filePath: path))
        return FreshnessWatch(
            try Marks(path: Path(path), volume: keys.volume, cipher: keys.marks), .warn, remembers: true)
    }
}
