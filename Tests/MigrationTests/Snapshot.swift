import Crypto
import Posix
import Vault

@testable import Migration

/// All of a tree, in a form that can be compared with that of another tree.
struct Snapshot: Equatable {
    struct Entry: Hashable {
        var kind: FileKind
        var metadata: Metadata
        var size: Int64
        /// Digest of the contents, target, or device number.
        var contents: [UInt8]
        /// The first path of the same inode.
        var first: [UInt8]
        /// Bytes of data, in blocks of 4096; nil if the file has no hole.
        var hasHoles: Bool
    }

    var entries: [[UInt8]: Entry] = [:]

    init<Side: Tree>(of tree: Side) throws(VaultError) {
        var inodes: [UInt64: [UInt8]] = [:]
        try add(tree.root, .root, of: tree, &inodes)
    }

    private mutating func add<Side: Tree>(
        _ folder: Side.Folder, _ path: TreePath, of tree: Side, _ inodes: inout [UInt64: [UInt8]]
    ) throws(VaultError) {
        let status = try tree.status(of: folder)
        entries[path.bytes] = Entry(
            kind: .directory, metadata: Metadata(status, try tree.attributes(of: .folder(folder))), size: 0,
            contents: [], first: path.bytes, hasHoles: false)
        for entry in try tree.entries(of: folder).sorted(by: { $0.name.bytes.lexicographicallyPrecedes($1.name.bytes) })
        {
            let status = try tree.status(of: entry.name, in: folder)
            let path = path / entry.name
            guard status.kind != .directory else {
                try add(try tree.openFolder(entry.name, in: folder), path, of: tree, &inodes)
                continue
            }
            let first = inodes[status.inode] ?? path.bytes
            inodes[status.inode] = first
            entries[path.bytes] = try self.entry(entry.name, folder, status, first, of: tree)
        }
    }

    private func entry<Side: Tree>(
        _ name: Name, _ folder: Side.Folder, _ status: FileStatus, _ first: [UInt8], of tree: Side
    ) throws(VaultError) -> Entry {
        switch status.kind {
        case .regular:
            let file = try tree.open(name, in: folder)
            let status = try tree.status(of: file)
            var bytes = [UInt8](repeating: 0, count: Int(status.size))
            var elements = bytes.mutableSpan
            var span = unsafe elements.mutableBytes
            let count = try tree.read(file, into: &span, at: 0)
            let data = try tree.data(of: file, from: 0)
            return Entry(
                kind: .regular, metadata: Metadata(status, try tree.attributes(of: .file(file))), size: status.size,
                contents: unsafe sha256(Array(bytes.prefix(count)).span.bytes), first: first,
                hasHoles: status.size > 1 << 20 && data != 0..<status.size)
        case .symbolicLink:
            var metadata = try tree.metadata(of: .node(name, in: folder))
            // readlink(2) moves it, and so does stat(2) of a long link in a vault: this look, too.
            metadata.accessed = Timespec(seconds: 0, nanoseconds: 0)
            return Entry(
                kind: .symbolicLink, metadata: metadata, size: status.size,
                contents: try tree.target(of: name, in: folder), first: first, hasHoles: false)
        default:
            return Entry(
                kind: status.kind!, metadata: try tree.metadata(of: .node(name, in: folder)), size: 0,
                contents: Array("\(status.specialDevice)".utf8), first: first, hasHoles: false)
        }
    }

    /// The first differences, for a message.
    func differences(from other: Snapshot) -> [String] {
        let paths = Set(entries.keys).union(other.entries.keys)
        return paths.sorted { $0.lexicographicallyPrecedes($1) }.compactMap { path in
            guard entries[path] != other.entries[path] else { return nil }
            let name = Printable(bytes: path).text
            guard let mine = entries[path] else { return "\(name): only there: \(other.entries[path]!)" }
            guard let theirs = other.entries[path] else { return "\(name): only here: \(mine)" }
            return "\(name): \(mine) and \(theirs)"
        }
    }
}
