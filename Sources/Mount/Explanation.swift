import Format
import Posix
import Vault

/// What protects one file or directory, in terms of the vault.
public struct ProtectionFacts: Sendable {
    public var kind: FileKind?
    /// For a file, its class; for a directory, the class of new files in it; nil for other kinds.
    public var protectionClass: ProtectionClass?
    public var isExplicit: Bool
    /// The class that its parent directory gives to new files; nil for the root.
    public var directoryClass: ProtectionClass?
    /// Whether the file key is in memory.
    public var hasKeyInMemory: Bool
    /// The number of open handles of the file.
    public var handles: Int
    /// Whether existing files of the class can be opened now.
    public var canOpen: Bool
    /// The path relative to the vault's folder; empty for the root.
    public var backingPath: String
}

extension VaultFileSystem {
    /// What is known of the node behind a file of this mount.
    func facts(of status: FileStatus) throws(VaultError) -> ProtectionFacts {
        guard let node = nodes.all.first(where: { $0.backing.inode == status.inode && isLive($0) }) else {
            throw .system(.ENOENT)
        }
        return try tree.withShared { () throws(VaultError) in
            let protection: (class: ProtectionClass, isExplicit: Bool)?
            if case .other = node.identity { protection = nil } else { protection = try self.protection(of: node) }
            let (hasKey, handles) = node.state.withLock { ($0.file?.file.hasKey ?? false, $0.file?.handles ?? 0) }
            return ProtectionFacts(
                kind: status.kind, protectionClass: protection?.class, isExplicit: protection?.isExplicit ?? false,
                directoryClass: try node.latestName.map { (location) throws(VaultError) in
                    try directory(of: location.parent).record.defaultClass
                },
                hasKeyInMemory: hasKey, handles: handles,
                canOpen: protection.map { gates.state(of: $0.class) == .open } ?? true,
                backingPath: try backingPath(of: node))
        }
    }

    private func isLive(_ node: Node) -> Bool { nodes[node.backing] === node }

    /// Needs `tree` shared.
    private func backingPath(of node: Node) throws(VaultError) -> String {
        var locations: [Location] = []
        while let location = (locations.last?.parent ?? node).latestName { locations.append(location) }
        var path = ""
        for location in locations.reversed() {
            path = try vault.backingPath(of: location.name, in: try directory(of: location.parent), at: path)
        }
        return path
    }
}
