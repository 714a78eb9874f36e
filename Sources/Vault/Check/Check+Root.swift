import Format
import Posix
import Store

// What comes before the walk: the journal, the root.

extension Check {
    /// The root, if its record opens.
    func openRoot() -> CheckedFolder? {
        readJournal()
        do throws(VaultError) {
            return CheckedFolder(try vault.readRoot(), .root, share: CheckProgress.whole)
        } catch {
            report(Finding(error, .directory, "its record cannot be read", at: Spot(trail: .root)))
            return nil
        }
    }

    /// Whether an entry was last changed in a session that ended in a cut: what is empty since then was never synced.
    func isCut(_ status: FileStatus) -> Bool {
        let changed = UInt64(max(0, status.changed.seconds))
        return cuts.contains { $0.from <= changed && changed <= $0.to }
    }

    func isCut(statusOf stored: Name, in folder: CheckedFolder) -> Bool {
        guard let status = try? vault.store.status(of: stored, in: folder.directory.descriptor) else { return false }
        return isCut(status)
    }
}
