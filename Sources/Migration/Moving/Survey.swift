import Glibc
public import Posix
public import Store
public import Vault

/// What a migration will find: read before anything is changed.
public struct Survey: Sendable {
    /// Why a folder cannot be migrated, or what will be lost, with the path from the folder on.
    public enum Finding: Hashable, Sendable {
        /// Another file system is mounted there.
        case mountPoint
        case unreadable(Errno)
        /// The user cannot give files to their owner.
        case otherOwner(UInt32)
        /// The user is not in the file's group, and cannot give it to that.
        case otherGroup(UInt32)
        /// So many names of the file lie outside of the folder: it stays readable there.
        case linkedOutside(UInt64)
        /// The folder is a vault.
        case vault
    }

    /// Regular files, by names.
    public internal(set) var files = 0
    public internal(set) var folders = 0
    /// Symbolic links, FIFOs, sockets and devices.
    public internal(set) var others = 0
    /// Bytes of contents.
    public internal(set) var bytes: Int64 = 0
    public internal(set) var largest: Int64 = 0
    /// The first thousand.
    public internal(set) var findings: [(path: Path, finding: Finding)] = []
    public internal(set) var findingCount = 0
    /// The paths of each inode that has several.
    var groups: [UInt64: [TreePath]] = [:]

    static let mostFindings = 1000

    mutating func note(_ path: TreePath, _ finding: Finding) {
        findingCount += 1
        if findings.count < Self.mostFindings { findings.append((path.path, finding)) }
    }
}

extension Survey {
    /// Reads a whole folder of plain files.
    ///
    /// - Throws: `EINTR` if it was stopped.
    public init(
        of folder: Descriptor, _ store: any Store, isStopped: () -> Bool = { false }
    ) throws(VaultError) {
        let tree = PlainTree(store, root: folder, staging: folder, removed: folder, wiped: folder)
        try self.init(of: tree, isStopped: isStopped) { _, _ in }
    }

    /// Reads the whole tree.
    ///
    /// - Parameters:
    ///   - isStopped: asked at each folder.
    ///   - seeing: gets each folder before it is listed, which may move its time of access.
    init<Side: Tree>(
        of tree: Side, isStopped: () -> Bool, seeing: (TreePath, Metadata) -> Void
    ) throws(VaultError) {
        let root = try tree.status(of: tree.root)
        let (user, ownGroups) = (geteuid(), Process.groups)
        var linkCounts: [UInt64: UInt64] = [:]
        var stack: [(parent: Side.Folder?, name: Name, path: TreePath)] = [(nil, .current, .root)]
        while let (parent, name, path) = stack.popLast() {
            if isStopped() { throw .system(.EINTR) }
            folders += 1
            let folder: Side.Folder
            let entries: [DirectoryEntry]
            do throws(VaultError) {
                if let parent { folder = try tree.openFolder(name, in: parent) } else { folder = tree.root }
                seeing(path, try tree.metadata(of: .folder(folder)))
                entries = try tree.entries(of: folder)
            } catch {
                note(path, .unreadable(error.errno))
                continue
            }
            if entries.contains(where: { $0.name == "lk.keybag" }) { note(path, .vault) }
            for entry in entries {
                let path = path / entry.name
                let status: FileStatus
                do throws(VaultError) { status = try tree.status(of: entry.name, in: folder) } catch {
                    if !error.isAbsence { note(path, .unreadable(error.errno)) }
                    continue
                }
                if status.device != root.device { note(path, .mountPoint) }
                if user != 0, status.owner != user {
                    note(path, .otherOwner(status.owner))
                } else if user != 0, !ownGroups.contains(status.group) {
                    note(path, .otherGroup(status.group))
                }
                guard let kind = status.kind, kind != .directory else {
                    stack.append((folder, entry.name, path))
                    continue
                }
                if kind == .regular, user != 0, status.permissions & 0o400 == 0 { note(path, .unreadable(.EACCES)) }
                if status.linkCount > 1 {
                    groups[status.inode, default: []].append(path)
                    linkCounts[status.inode] = status.linkCount
                }
                count(status, kind)
            }
        }
        for (inode, paths) in groups {
            let outside = linkCounts[inode, default: 0] - min(UInt64(paths.count), linkCounts[inode, default: 0])
            if outside > 0 { note(paths[0], .linkedOutside(outside)) }
        }
    }

    private mutating func count(_ status: FileStatus, _ kind: FileKind) {
        guard kind == .regular else {
            others += 1
            return
        }
        files += 1
        let isFirst = status.linkCount == 1 || groups[status.inode]?.count == 1
        guard isFirst else { return }
        // A sparse file may be of any size: what it takes is what counts.
        let taken = min(max(status.size, 0), status.blocks.multipliedReportingOverflow(by: 512).partialValue)
        bytes = bytes.addingReportingOverflow(taken).overflow ? .max : bytes + taken
        largest = max(largest, taken)
    }
}
