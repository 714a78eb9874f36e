import Format
import Posix
import Vault

/// A folder on the way of a walk through the vault. It is opened again, by names, if it was closed meanwhile.
private final class WalkedFolder {
    let above: WalkedFolder?
    let name: Name
    let inode: InodeKey
    private let depth: Int
    private var directory: Directory?

    /// So many folders above each other stay open.
    private static let mostOpen = 32

    init(root: Directory, _ inode: InodeKey) {
        (above, name, self.inode, depth, directory) = (nil, .current, inode, 0, root)
    }

    init(_ name: Name, _ inode: InodeKey, in above: WalkedFolder) {
        (self.above, self.name, self.inode, depth) = (above, name, inode, above.depth + 1)
    }

    func open(in vault: Vault) throws(VaultError) -> Directory {
        var closed: [WalkedFolder] = []
        var next: WalkedFolder? = self
        while let folder = next, folder.directory == nil {
            closed.append(folder)
            next = folder.above
        }
        guard var found = next?.directory else { throw .system(.ENOENT) }
        for folder in closed.reversed() {
            found = try vault.openDirectory(folder.name, in: found)
            if folder.depth < Self.mostOpen { folder.directory = found }
        }
        return found
    }
}

extension VaultFileSystem {
    /// Looks at each folder of the vault. Takes `tree` shared for one folder at a time.
    ///
    /// - Throws: EINTR once `mustStop` is true.
    func walk(mustStop: () -> Bool) throws(VaultError) -> ParentIndex.Walked {
        var found = ParentIndex.Walked()
        let root = try tree.withShared { () throws(VaultError) in try directory(of: nodes.root) }
        var folders = [WalkedFolder(root: root, InodeKey(nodes.root.backing.inode))]
        while let folder = folders.popLast() {
            guard !mustStop() else { throw .system(.EINTR) }
            do throws(VaultError) {
                for (entry, isFolder) in try tree.withShared({ () throws(VaultError) in try entries(of: folder) }) {
                    let inode = InodeKey(entry.inode)
                    // A folder that moved during the walk is there twice.
                    guard found.parents.updateValue(folder.inode, forKey: inode) == nil, isFolder else { continue }
                    folders.append(WalkedFolder(entry.name, inode, in: folder))
                }
            } catch {
                if !error.isAbsence, found.failure == nil { found.failure = error }
            }
        }
        return found
    }

    private func entries(of folder: WalkedFolder) throws(VaultError) -> [(ListedEntry, isFolder: Bool)] {
        let directory = try folder.open(in: vault)
        var found: [(ListedEntry, isFolder: Bool)] = []
        for entry in try vault.entries(of: directory) {
            found.append((entry, try kind(of: entry, in: directory) == .directory))
        }
        return found
    }

    /// Nil if the entry was removed. Not every file system tells the kind in a listing.
    private func kind(of entry: ListedEntry, in directory: Directory) throws(VaultError) -> FileKind? {
        if let kind = entry.kind { return kind }
        do throws(VaultError) { return try vault.kind(of: entry.name, in: directory) } catch {
            guard error.isAbsence else { throw error }
            return nil
        }
    }
}
