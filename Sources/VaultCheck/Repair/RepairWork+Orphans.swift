import Format
import Posix
import Store
import Vault

extension RepairWork {
    /// Removes an orphan of an interrupted operation.
    ///
    /// - Parameter own: the folder of the vault's own in which it lies, if it is no entry of the tree.
    func removeOrphan(_ spot: Spot, inside own: Name?) throws(VaultError) -> RepairOutcome {
        guard let stored = spot.stored else { return .failed("it has no name") }
        let directory = try folder(of: spot.treePath)
        let folder: Descriptor
        if let own {
            folder = try backing { () throws(Errno) in try store.open(own, in: store.root, OpenFlags.directory) }
        } else {
            folder = directory.descriptor
        }
        if case .sidecar = BackingName(stored.bytes), own == nil {
            let entry = Name(bytes: stored.bytes.dropLast(BackingName.sidecarSuffix.utf8.count))!
            let isGone: Bool
            do throws(Errno) {
                _ = try store.status(of: entry, in: folder)
                isGone = false
            } catch {
                guard error == .ENOENT else { throw .system(error) }
                isGone = true
            }
            guard isGone else { return .done("kept: its entry is there again") }
        }
        let status: FileStatus
        do throws(Errno) { status = try store.status(of: stored, in: folder) } catch {
            // The beginning of the session, or the opening of the folder, has removed it.
            guard error == .ENOENT else { throw .system(error) }
            return .done("removed")
        }
        if status.kind == .directory {
            guard try isOrphan(stored, in: folder) else {
                return .failed("it holds files: look at them, and remove it yourself")
            }
            try backing { () throws(Errno) in try store.unlinkTree(stored, in: folder) }
        } else {
            try backing { () throws(Errno) in try store.unlink(stored, in: folder) }
        }
        try flush(folder)
        return .done("removed")
    }

    /// Removes a file or folder that a crash has left empty. If a folder without a record has entries, saves them.
    func repairUnsynced(_ spot: Spot, _ finding: Finding) throws(VaultError) -> RepairOutcome {
        guard let stored = spot.stored else { return .failed("it has no name") }
        let folder = try folder(of: spot.treePath).descriptor
        if vault.isShell(stored, nil, in: folder) {
            // Not with what a synchronisation program is just bringing.
            try vault.removeShell(stored, in: folder)
            try flush(folder)
            dropSidecar(of: stored, in: folder)
            return .done("removed")
        }
        switch check.orphan(stored, in: folder) {
        case .empty:
            try backing { () throws(Errno) in
                try vault.removeOrphan(stored, try store.status(of: stored, in: folder), in: folder)
            }
            try flush(folder)
            dropSidecar(of: stored, in: folder)
            return .done("removed")
        case .recordless: return try repairFolder(spot, finding)
        case nil: return .failed("it is not what it was when it was found")
        }
    }

    /// An orphaned folder may hold others, if it was removed with orphans in it, but never as deep as this.
    private static let deepestOrphan = 32

    /// Whether a folder holds nothing but records and orphans, and so do the folders in it.
    func isOrphan(_ name: Name, in folder: Descriptor, depth: Int = 0) throws(VaultError) -> Bool {
        guard depth < Self.deepestOrphan else { return false }
        let inner = try vault.openFolder(name, in: folder)
        for entry in try vault.backingEntries(of: inner) {
            switch BackingName(entry.name.bytes) {
            case .reserved, .temporary, .sidecar:
                if entry.kind == .directory, !(try isOrphan(entry.name, in: inner, depth: depth + 1)) { return false }
            case .entry, .longEntry, .foreign: return false
            }
        }
        return true
    }

    /// Writes a finding to the report, before its repair.
    func note(_ finding: Finding, _ lines: [Printable]) throws(VaultError) {
        let path = finding.path.map { Printable(bytes: $0) } ?? "(no name)"
        let backing = Printable(bytes: finding.backingPath)
        try lostAndFound.note(["\(Timespec.now.date)  \(path)  \(backing)", finding.reason] + lines)
    }
}
