import Format
import Posix
import Store

// What a crash leaves of files and directories that were never synced: a file system may write a name to the disk
// before the inode.

extension Vault {
    /// Removes orphans of a crash from a directory when it is first opened after that crash: unsynced files and
    /// directories, and temporary files. A file whose name is in its pending bindings alone gets it in its header.
    ///
    /// Removes only what was last changed in a session that did not end cleanly. Any other empty file was emptied by
    /// another program: it stays and is refused. Removes nothing that holds a byte of a file.
    func tidy(_ directory: Directory) throws(VaultError) {
        let windows = left.windows.withLock { $0 }
        // What another machine makes at the moment looks the same.
        guard !windows.isEmpty, !isReadOnly, !isShared else { return }
        let folder = directory.descriptor
        guard try backing({ () throws(Errno) in try store.status(of: folder) }).isWithin(windows) else { return }
        for entry in try backingEntries(of: folder) {
            guard let status = try? store.status(of: entry.name, in: folder), status.isWithin(windows) else { continue }
            // Best effort: an orphan that stays is refused and does no harm.
            switch BackingName(entry.name.bytes) {
            case .entry, .longEntry:
                switch orphan(entry.name, status, in: folder, windows) {
                case nil: mend(entry.name, status, in: directory)
                case .empty: try? removeOrphan(entry.name, status, in: folder)
                case .recordless: try? store.rename(entry.name, in: folder, to: .lost(), in: folder, flags: 0)
                }
            case .temporary:
                if !isInUse(status) { try? removeOrphan(entry.name, status, in: folder) }
            case .reserved, .sidecar, .foreign:
                break
            }
        }
    }

    /// Opens a file that has pending bindings: `openFile` writes its header. Best effort: the bindings stay until then.
    private func mend(_ stored: Name, _ status: FileStatus, in directory: Directory) {
        guard status.kind == .regular, let file = try? openBacking(stored, in: directory),
            (try? hasPending(file)) == true, let name = plainName(of: stored, in: directory)
        else { return }
        _ = try? openFile(name, in: directory)
    }

    /// Whether an entry is not shown: in a vault that is only read, an orphan; in a synchronised one, a shell.
    func isHidden(_ name: Name, _ kind: FileKind?, in directory: Directory) -> Bool {
        if isShell(name, kind, in: directory.descriptor) { return true }
        guard isReadOnly else { return false }
        let windows = left.windows.withLock { $0 }
        guard !windows.isEmpty, let status = try? store.status(of: name, in: directory.descriptor),
            status.isWithin(windows), left.overlays.withLock({ $0.made[status.inode] == nil })
        else { return false }
        return orphan(name, status, in: directory.descriptor, windows) != nil
    }

    /// What a crash has left under a name that was never durable.
    package enum Orphan {
        /// An empty file, or a directory that holds nothing but orphans.
        case empty
        /// A directory without its record but with something in it. Its name cannot be known any more, but it stays.
        case recordless
    }

    package func orphan(
        _ name: Name, _ status: FileStatus, in folder: Descriptor, _ windows: [JournalHead.Window], depth: Int = 0
    ) -> Orphan? {
        switch status.kind {
        case .regular:
            guard let file = try? store.open(name, in: folder, OpenFlags.read, mode: 0) else { return nil }
            return (try? isVoid(file)) == true ? .empty : nil
        case .directory:
            guard let inner = try? openFolder(name, in: folder), let entries = try? backingEntries(of: inner) else {
                return nil
            }
            guard
                !entries.contains(where: { entry in
                    entry.name == .directoryRecord || entry.name == .newDirectoryRecord
                        || isRecordCopy(entry.name, in: inner)
                })
            else { return nil }
            // Each level keeps a descriptor open.
            guard depth < 32 else { return .recordless }
            let isEmpty = entries.allSatisfy { entry in
                switch BackingName(entry.name.bytes) {
                case .temporary, .sidecar: return true
                // A copy of the record that never reached the disk.
                case .reserved: return BackingName.machine(ofRecordCopy: entry.name.bytes) != nil
                case .foreign: return false
                case .entry, .longEntry:
                    guard let status = try? store.status(of: entry.name, in: inner), status.isWithin(windows) else {
                        return false
                    }
                    return orphan(entry.name, status, in: inner, windows, depth: depth + 1) == .empty
                }
            }
            return isEmpty ? .empty : .recordless
        default:
            return nil
        }
    }

    /// Whether this session made it: then its temporary files are in use.
    private func isInUse(_ status: FileStatus) -> Bool {
        guard let opened = journal.withLock({ $0?.head.opened }) else { return true }
        return UInt64(max(0, status.changed.seconds)) + 2 >= opened
    }

    package func removeOrphan(_ name: Name, _ status: FileStatus, in folder: Descriptor) throws(Errno) {
        if status.kind == .directory {
            try store.unlinkTree(name, in: folder)
        } else {
            try store.unlink(name, in: folder)
        }
    }
}

extension FileStatus {
    /// Whether the last change lies in a session that ended in a crash.
    func isWithin(_ windows: [JournalHead.Window]) -> Bool {
        let seconds = UInt64(max(0, changed.seconds))
        return windows.contains { seconds >= $0.from && seconds <= $0.to }
    }
}
