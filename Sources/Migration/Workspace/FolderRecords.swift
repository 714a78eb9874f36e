import Posix
import Store

/// How the folders of the source were before the migration: taking an entry out of a folder moves its times, and the
/// copy has only its owner's permissions until all is in it. Also the way back gives the folders what is recorded here.
///
/// For one thread.
final class FolderRecords {
    private let log: LineLog
    private var folders: [TreePath: Metadata] = [:]

    init(in folder: Descriptor, _ store: any Store) throws(Errno) {
        var known: [TreePath: Metadata] = [:]
        log = try LineLog("folders", in: folder, store) { line in
            guard let (path, metadata) = Self.parsed(line), known[path] == nil else { return }
            known[path] = metadata
        }
        folders = known
    }

    var all: [TreePath: Metadata] { folders }

    subscript(path: TreePath) -> Metadata? { folders[path] }

    /// Records a folder that is not known yet. Durable after `flush`.
    func note(_ path: TreePath, _ metadata: Metadata) {
        guard folders[path] == nil else { return }
        folders[path] = metadata
        let numbers: [any CustomStringConvertible] = [
            metadata.permissions, metadata.owner, metadata.group, metadata.accessed.seconds,
            metadata.accessed.nanoseconds, metadata.modified.seconds, metadata.modified.nanoseconds,
        ]
        let attributes = metadata.attributes.flatMap { [LineField.hex($0.name), LineField.hex($0.value)] }
        let fields = [LineField.hex(path.bytes)] + numbers.map(\.description) + attributes
        log.add(Array(fields.joined(separator: " ").utf8))
    }

    func flush() throws(Errno) { try log.flush() }

    private static func parsed(_ line: ArraySlice<UInt8>) -> (TreePath, Metadata)? {
        let fields = String(decoding: line, as: UTF8.self).split(separator: " ")
        guard fields.count >= 8, fields.count % 2 == 0,
            let path = LineField.bytes(fields[0]).flatMap(TreePath.init(bytes:)),
            let mode = UInt32(fields[1]), let owner = UInt32(fields[2]), let group = UInt32(fields[3])
        else { return nil }
        let times = fields[4..<8].compactMap { Int64($0) }
        guard times.count == 4 else { return nil }
        var attributes: [Attribute] = []
        for index in stride(from: 8, to: fields.count, by: 2) {
            guard let name = LineField.bytes(fields[index]), let value = LineField.bytes(fields[index + 1]) else {
                return nil
            }
            attributes.append(Attribute(name: name, value: value))
        }
        let metadata = Metadata(
            permissions: mode, owner: owner, group: group,
            accessed: Timespec(seconds: times[0], nanoseconds: times[1]),
            modified: Timespec(seconds: times[2], nanoseconds: times[3]), attributes: attributes)
        return (path, metadata)
    }
}
