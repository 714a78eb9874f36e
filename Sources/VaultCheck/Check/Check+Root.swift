import Format
import Posix
import Store
import Vault

// Before the walk: the journal and the root.

extension Check {
    /// The root, if its record opens.
    func openRoot() -> CheckedFolder? {
        readJournal()
        do throws(VaultError) {
            let root = try vault.readRoot()
            report(root.older, Spot(treePath: .root))
            return CheckedFolder(root, .root, share: CheckProgress.whole)
        } catch {
            report(Finding(error, .directory, "its record cannot be read", at: Spot(treePath: .root)))
            return nil
        }
    }

    /// Whether the last change of an entry lies in a session that ended in a crash. An empty entry of that time was
    /// never synced.
    func isSinceCrash(_ status: FileStatus) -> Bool {
        let changed = UInt64(max(0, status.changed.seconds))
        return crashedSessions.contains { $0.from <= changed && changed <= $0.to }
    }

    /// The kind of orphan that a crash has left under a name, nil if the entry is not an orphan.
    func orphan(_ stored: Name, in folder: Descriptor) -> Vault.Orphan? {
        guard let status = try? vault.store.status(of: stored, in: folder), isSinceCrash(status) else { return nil }
        return vault.orphan(stored, status, in: folder, crashedSessions)
    }
}
