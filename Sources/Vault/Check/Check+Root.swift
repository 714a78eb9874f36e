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

    /// What the last session left in the journal is shown over the files, as the next mount will find them.
    private func readJournal() {
        do throws(VaultError) {
            if vault.isReadOnly, let head = try OldJournal(of: vault)?.head {
                noteCuts(head.windows)
                if head.opened != 0 {
                    noteCuts([JournalHead.Window(from: head.opened - min(head.opened, 2), to: .max)])
                    report(
                        Finding(
                            .note, .journal, at: Spot(trail: .root, stored: .journal),
                            reason: "the last session ended in a cut: what it holds is counted in, and the next mount "
                                + "puts it into the files"))
                }
            }
            try vault.beginSession()
            if !vault.isReadOnly { noteCuts(vault.windows.withLock { $0 }) }
        } catch {
            report(
                Finding(error, .journal, "the journal cannot be read", at: Spot(trail: .root, stored: .journal)))
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
