import Format
import Posix
import Store

// Two machines that rename a folder to two names leave two folders with one ID, and files that this machine knows by
// one place: docs/FORMAT.md, "Synchronised vaults".

extension Vault {
    /// Brings folders that several machines have changed into order, before a program looks: each of two folders with
    /// the same ID gets its own, and one whose record another machine has removed gets it back. Does nothing in a vault
    /// that is not synchronised. What cannot be read stays as it is.
    public func settleFolders(below root: Directory) {
        guard takesTurns, !isReadOnly else { return }
        var walk = FolderWalk()
        visit(root, [], &walk)
        for twins in walk.found.values where twins.count > 1 {
            let twins = twins.sorted { $0.binding.bytes.lexicographicallyPrecedes($1.binding.bytes) }
            for twin in twins.dropFirst() { try? separate(twin.path, below: root) }
        }
    }

    private struct FolderWalk {
        /// The names that lead to each folder, and its name binding.
        var found: [DirectoryIdentifier: [(path: [Name], binding: NameBinding)]] = [:]
        /// A vault that has more is used without it.
        var left = 50_000
    }

    private static let deepestFolder = 64

    private func visit(_ directory: Directory, _ path: [Name], _ walk: inout FolderWalk) {
        walk.left -= 1
        guard walk.left > 0, path.count < Self.deepestFolder else { return }
        takeInAll(directory)
        let binding = directory.state.withLock { $0.binding }
        walk.found[directory.identifier, default: []].append((path, binding))
        for entry in (try? allEntries(of: directory)) ?? [] where entry.kind == .directory {
            guard let inner = try? openDirectory(entry.name, in: directory) else { continue }
            visit(inner, path + [entry.name], &walk)
        }
    }

    /// Gives a folder, and all below it, IDs of their own: on each machine the same ones.
    private func separate(_ path: [Name], below root: Directory) throws(VaultError) {
        guard let name = path.last else { return }
        var parent = root
        for name in path.dropLast() { parent = try openDirectory(name, in: parent) }
        try separate(name, in: parent, depth: path.count)
    }

    private func separate(_ name: Name, in parent: Directory, depth: Int) throws(VaultError) {
        guard depth < Self.deepestFolder else { return }
        try renewIdentifier(of: try openDirectory(name, in: parent))
        let directory = try openDirectory(name, in: parent)
        takeInAll(directory)
        for entry in try allEntries(of: directory) where entry.kind == .directory {
            try separate(entry.name, in: directory, depth: depth + 1)
        }
    }
}
