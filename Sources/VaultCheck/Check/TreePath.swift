import Posix
import Vault

/// The path of a directory, in plaintext and in backing names. It is a linked list up to the root, so it costs nothing
/// until its text is needed.
final class TreePath: Sendable {
    static let root = TreePath(name: nil, stored: nil, parent: nil)
    /// The directory in the root for what a repair saves; the next name if this one cannot be used.
    static let lostAndFound: [Name] = ["lost+found", "lost+found-2", "lost+found-3"]

    let name: Name?
    let stored: Name?
    let parent: TreePath?
    /// Whether it is the root's `lost+found`, or lies in it: damage there is known.
    let isLostAndFound: Bool

    private init(name: Name?, stored: Name?, parent: TreePath?) {
        self.name = name
        self.stored = stored
        self.parent = parent
        isLostAndFound =
            parent.map { $0.isLostAndFound || ($0.parent == nil && Self.lostAndFound.contains { $0 == name }) } ?? false
    }

    /// The path of the directory `name` in this one.
    func appending(_ name: Name, _ stored: Name) -> TreePath { TreePath(name: name, stored: stored, parent: self) }

    /// The path in the mount, from `/` on.
    func path(of name: Name? = nil) -> [UInt8] {
        let names = names(\.name) + (name.map { [$0.bytes] } ?? [])
        return [UInt8(ascii: "/")] + Array(names.joined(separator: [UInt8(ascii: "/")]))
    }

    /// The path from the vault's folder on.
    func backingPath(of stored: Name? = nil) -> [UInt8] {
        let names = names(\.stored) + (stored.map { [$0.bytes] } ?? [])
        return names.isEmpty ? [UInt8(ascii: ".")] : Array(names.joined(separator: [UInt8(ascii: "/")]))
    }

    private func names(_ kind: KeyPath<TreePath, Name?>) -> [[UInt8]] {
        var names: [[UInt8]] = []
        var step: TreePath? = self
        while let here = step, let name = here[keyPath: kind] {
            names.append(name.bytes)
            step = here.parent
        }
        return names.reversed()
    }
}

/// What a finding is about: an entry of a directory, or a directory itself.
struct Spot: Sendable {
    /// The path of the directory.
    let treePath: TreePath
    /// The entry's name in the mount, if it is known.
    var name: Name?
    /// The entry's backing name; nil for the directory itself.
    var stored: Name?
    /// The stored name of an extended attribute.
    var attribute: String?

    var path: [UInt8]? { stored != nil && name == nil ? nil : treePath.path(of: name) }
    var backingPath: [UInt8] { treePath.backingPath(of: stored) }
}
