import Format
import Posix
import Store

// What a cut leaves of things that were never synced: file systems bring a name to the disk before what it names.

extension Vault {
    /// Removes from a directory what a cut left of files and directories that nobody synced, and the rubbish of what was
    /// under way; once, when it is opened after the cut.
    ///
    /// Only what was last changed in a session that did not end cleanly: anything else that is empty was emptied by
    /// somebody, and stays, to be refused.
    func tidy(_ directory: Directory) throws(VaultError) {
        let windows = windows.withLock { $0 }
        guard !windows.isEmpty, !isReadOnly else { return }
        func isWithin(_ status: FileStatus) -> Bool {
            windows.contains { window in
                UInt64(max(0, status.changed.seconds)) >= window.from
                    && UInt64(max(0, status.changed.seconds)) <= window.to
            }
        }
        let folder = directory.descriptor
        guard isWithin(try backing { () throws(Errno) in try store.status(of: folder) }) else { return }
        for entry in try backingEntries(of: folder) {
            guard let status = try? store.status(of: entry.name, in: folder), isWithin(status) else { continue }
            // Best effort: what stays is refused, and in nobody's way.
            switch BackingName(entry.name.bytes) {
            case .entry, .longEntry:
                if isRemnant(entry.name, status, in: folder) { try? removeRemnant(entry.name, status, in: folder) }
            case .temporary:
                if !isInUse(status) { try? removeRemnant(entry.name, status, in: folder) }
            case .reserved, .sidecar, .foreign:
                break
            }
        }
    }

    private func isRemnant(_ name: Name, _ status: FileStatus, in folder: Descriptor) -> Bool {
        switch status.kind {
        case .regular:
            guard let file = try? store.open(name, in: folder, OpenFlags.read, mode: 0) else { return false }
            return (try? isVoid(file)) ?? false
        case .directory:
            guard let inner = try? openFolder(name, in: folder), let entries = try? backingEntries(of: inner) else {
                return false
            }
            return entries.allSatisfy { BackingName($0.name.bytes) == .temporary }
        default:
            return false
        }
    }

    /// Made by this session: its rubbish of today is at work.
    private func isInUse(_ status: FileStatus) -> Bool {
        guard let opened = journal.withLock({ $0?.head.opened }) else { return true }
        return UInt64(max(0, status.changed.seconds)) + 2 >= opened
    }

    private func removeRemnant(_ name: Name, _ status: FileStatus, in folder: Descriptor) throws(Errno) {
        if status.kind == .directory {
            try store.unlinkTree(name, in: folder)
        } else {
            try store.unlink(name, in: folder)
        }
    }
}
