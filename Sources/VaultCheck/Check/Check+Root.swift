import Format
import Posix
import Store
import Vault

// What comes before the walk: the journal, the root.

extension Check {
    /// The root, if its record opens.
    func openRoot() -> CheckedFolder? {
        readJournal()
        do throws(VaultError) {
            return CheckedFolder(try vault.readRoot(), .root, share: CheckProgress.whole)
        } catch {
            report(Finding(error, .directory, "its record cannot be read", at: Spot(treePath: .root)))
            return nil
        }
    }

    /// Whether an entry was last changed in a session that ended in a crash: what is empty since then was never synced.
    func isSinceCrash(_ status: FileStatus) -> Bool {
        let changed = UInt64(max(0, status.changed.seconds))
        return crashedSessions.contains { $0.from <= changed && changed <= $0.to }
    }

    /// What a crash has left of an entry that was never durable.
    func orphan(_ stored: Name, in folder: Descriptor) -> Vault.Orphan? {
        guard let status = try? vault.store.status(of: stored, in: folder), isSinceCrash(status) else { return nil }
        return vault.orphan(stored, status, in: folder, crashedSessions)
    }
}
