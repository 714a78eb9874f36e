import Format
import Posix
public import Vault

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
    /// What is damaged; nil if nothing was noticed.
    public var damage: Damage?
    /// Nil if nothing newer was seen.
    public var stale: StaleObject?
    /// Whether it is refused for that.
    public var isRefused = false
}

extension VaultFileSystem {
    /// What is known of the node behind a file of this mount.
    func facts(of status: FileStatus) throws(VaultError) -> ProtectionFacts {
        guard let node = nodes.all.first(where: { $0.backing.inode == status.inode && isLive($0) }) else {
            throw .system(.ENOENT)
        }
        return try tree.withShared { () throws(VaultError) in
            let protection: (class: ProtectionClass, isExplicit: Bool)?
            let damage = damage(of: node)
            if case .other = node.identity {
                protection = nil
            } else {
                // The class of a file whose header is damaged is unknown.
                do throws(VaultError) { protection = try self.protection(of: node) } catch {
                    guard damage?.isWhole == true else { throw error }
                    protection = nil
                }
            }
            let (hasKey, handles) = node.state.withLock { ($0.file?.file.hasKey ?? false, $0.file?.handles ?? 0) }
            let stale = try? staleness(of: node)
            var facts = ProtectionFacts(
                kind: status.kind, protectionClass: protection?.class, isExplicit: protection?.isExplicit ?? false,
                directoryClass: try node.latestName.map { (location) throws(VaultError) in
                    try directory(of: location.parent).record.defaultClass
                },
                hasKeyInMemory: hasKey, handles: handles,
                canOpen: protection.map { gates.state(of: $0.class) == .open } ?? true,
                backingPath: try backingPath(of: node), damage: damage, stale: stale)
            facts.isRefused = facts.stale != nil && vault.freshness?.answer == .refuse
            return facts
        }
    }

    /// What is known of an entry that the kernel cannot look up.
    func facts(of name: Name, inFolder status: FileStatus) throws(VaultError) -> ProtectionFacts {
        guard let parent = nodes.all.first(where: { $0.backing.inode == status.inode && isLive($0) && $0.isDirectory })
        else { throw .system(.ENOENT) }
        return try tree.withShared { () throws(VaultError) in
            let directory = try directory(of: parent)
            var facts = ProtectionFacts(
                kind: try vault.kind(of: name, in: directory), isExplicit: false,
                directoryClass: directory.record.defaultClass, hasKeyInMemory: false, handles: 0, canOpen: false,
                backingPath: try vault.backingPath(of: name, in: directory, at: try backingPath(of: parent)))
            do throws(VaultError) {
                // It can be looked up by now: a backup was put back, or another program has made it anew.
                let entry = try vault.lookup(name, in: directory)
                if case .file(let header) = entry.details {
                    facts.protectionClass = header.protectionClass
                    facts.isExplicit = header.protection.isExplicit
                    facts.canOpen = gates.state(of: header.protectionClass) == .open
                }
            } catch {
                let subject = RefusalRecord.Subject.entry(folder: parent.backing, name)
                guard case .damaged(let reason) = error else { throw error }
                if refusals.damage(of: [subject]) == nil { log(error, at: parent, name) }
                facts.damage = refusals.damage(of: [subject]) ?? Damage(reasons: [reason], at: .now)
                facts.damage?.isWhole = true
            }
            return facts
        }
    }

    private func staleness(of node: Node) throws(VaultError) -> StaleObject? {
        guard let location = node.latestName else { return try vault.staleness(ofRoot: try directory(of: node)) }
        return try vault.staleness(of: location.name, in: try directory(of: location.parent))
    }

    /// What was refused of an object, and whether its header is damaged. Needs `tree` shared.
    private func damage(of node: Node) -> Damage? {
        var subjects = [RefusalRecord.Subject.object(node.backing, node.identity)]
        var damage: Damage?
        if node.isFile, let location = node.latestName {
            do throws(VaultError) {
                _ = try vault.lookup(location.name, in: try directory(of: location.parent))
            } catch {
                if case .damaged(let reason) = error {
                    // Refusals by name count only while they would be repeated.
                    subjects += node.names.map { .entry(folder: $0.parent.backing, $0.name) }
                    if refusals.damage(of: subjects) == nil { log(error, at: node) }
                    damage = refusals.damage(of: subjects) ?? Damage(reasons: [reason], at: .now)
                    damage?.isWhole = true
                }
            }
        }
        return damage ?? refusals.damage(of: subjects)
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
