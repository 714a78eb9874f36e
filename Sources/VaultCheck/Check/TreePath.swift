import Posix
import Vault

/// Where a directory stands, by its plaintext names and by its backing names: a list from it up to the root, so that
/// a path costs nothing until somebody asks for it.
final class TreePath: Sendable {
    static let root = TreePath(name: nil, stored: nil, parent: nil)
    /// Where a repair puts what it has saved: a directory in the root; the next name if that cannot be one.
    static let lostAndFound: [Name] = ["lost+found", "lost+found-2", "lost+found-3"]

    let name: Name?
    let stored: Name?
    let parent: TreePath?
    /// It is the root's `lost+found`, or lies in it: what does not read here has been dealt with.
    let isLostAndFound: Bool

    private init(name: Name?, stored: Name?, parent: TreePath?) {
        self.name = name
        self.stored = stored
        self.parent = parent
        isLostAndFound =
            parent.map { $0.isLostAndFound || ($0.parent == nil && Self.lostAndFound.contains { $0 == name }) } ?? false
    }

    /// The treePath of the directory `name` in this one.
    func appending(_ name: Name, _ stored: Name) -> TreePath { TreePath(name: name, stored: stored, parent: self) }

    /// From `/` on.
    func path(of name: Name? = nil) -> [UInt8] {
        let names = names(\.name) + (name.map { [$0.bytes] } ?? [])
        return [UInt8(ascii: "/")] + Array(names.joined(separator: [UInt8(ascii: "/")]))
    }

    /// From the vault's folder on.
    func backingPath(of stored: Name? = nil) -> [UInt8] {
        let names = names(\.stored) + (stored.map { [$0.bytes] } ?? [])
        return names.isEmpty ? [UInt8(ascii: ".")] : Array(names.joined(separator: [UInt8(ascii: "/")]))
    }

    /// From the root down.
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

/// An entry of a directory, or a directory itself: what a finding is about.
struct Spot: Sendable {
    /// Of the directory.
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
