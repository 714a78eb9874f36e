import Posix

/// A path below the folder under migration: names, none for the folder itself.
struct TreePath: Hashable, Sendable {
    var names: [Name]

    static let root = TreePath(names: [])

    static func / (folder: TreePath, name: Name) -> TreePath { TreePath(names: folder.names + [name]) }

    /// With slashes between the names.
    var bytes: [UInt8] { Array(names.map(\.bytes).joined(separator: [UInt8(ascii: "/")])) }

    var path: Path { Path(bytes: bytes) }

    init(names: [Name]) { self.names = names }

    /// Nil for bytes with a part that is no name.
    init?(bytes: [UInt8]) {
        var names: [Name] = []
        for part in bytes.isEmpty ? [] : bytes.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
            guard let name = Name(bytes: part) else { return nil }
            names.append(name)
        }
        self.names = names
    }
}
