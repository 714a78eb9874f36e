import Posix
import Store

/// Which originals lie in the workspace on their way out, and where they were.
///
/// For one thread.
final class RemovalLog {
    private let log: LineLog
    /// Of the runs before this one, by the name in the workspace.
    let earlier: [Name: TreePath]

    init(in folder: Descriptor, _ store: any Store) throws(Errno) {
        var earlier: [Name: TreePath] = [:]
        log = try LineLog("removals", in: folder, store) { line in
            let fields = String(decoding: line, as: UTF8.self).split(separator: " ")
            guard fields.count == 2, let kept = LineField.bytes(fields[0]).flatMap(Name.init(bytes:)),
                let path = LineField.bytes(fields[1]).flatMap(TreePath.init(bytes:))
            else { return }
            earlier[kept] = path
        }
        self.earlier = earlier
    }

    /// Durable after `flush`.
    func note(_ path: TreePath, keptAs name: Name) {
        log.add(Array("\(LineField.hex(name.bytes)) \(LineField.hex(path.bytes))".utf8))
    }

    func flush() throws(Errno) { try log.flush() }
}
