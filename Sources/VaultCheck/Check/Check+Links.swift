import Format
import Posix
import Store
import Vault

// Symbolic links and their long targets: docs/FORMAT.md, "Symbolic links".

extension CheckWorker {
    func checkLink(_ spot: Spot, in folder: CheckedFolder) {
        let (stored, descriptor) = (spot.stored!, folder.directory.descriptor)
        do throws(VaultError) { _ = try vault.readTarget(stored, in: descriptor) } catch {
            report(error, .symlink, "its target cannot be read", at: spot)
        }
        check.report(try? vault.linkStaleness(of: spot.name!, stored, in: folder.directory), spot)
        if let text = try? store.readSymbolicLink(stored, in: descriptor), let target = Vault.longTarget(text) {
            check.sight(target)
        }
    }
}

extension Check {
    /// Looks for long targets that no link names any more, but only if the walk has seen every link: one may be in a
    /// folder that is damaged, foreign, without a record since a crash, or not readable.
    func checkTargets() {
        guard hasSeenAll else { return }
        do throws(VaultError) {
            guard let folder = try vault.openTargets() else { return }
            for entry in try vault.backingEntries(of: folder) where !isSighted(entry.name) {
                let isTemporary = BackingName(entry.name.bytes) == .temporary
                guard isTemporary || Vault.longTarget(entry.name.bytes) != nil else { continue }
                var finding = Finding(
                    .orphan, isTemporary ? .temporary : .sidecar, at: Spot(treePath: .root, stored: entry.name),
                    reason: isTemporary
                        ? "what an interrupted operation left" : "the target of a symbolic link that is gone")
                finding.backingPath = Array(BackingName.targets.utf8) + [UInt8(ascii: "/")] + entry.name.bytes
                report(finding)
            }
        } catch {
            report(
                Finding(error, .symlink, "the targets cannot be listed", at: Spot(treePath: .root, stored: .targets)))
        }
    }
}

extension Check {
    /// Reports files without a name that an unclean session has left.
    func checkNameless() {
        guard !isCancelled, let folder = try? vault.store.open(.nameless, in: vault.store.root, OpenFlags.directory),
            let entries = try? vault.backingEntries(of: folder)
        else { return }
        for entry in entries {
            var finding = Finding(
                .orphan, .temporary, at: Spot(treePath: .root, stored: entry.name),
                reason: "a file that had no name when its session ended: the next mount removes it")
            finding.backingPath = Array(BackingName.nameless.utf8) + [UInt8(ascii: "/")] + entry.name.bytes
            report(finding)
        }
    }
}

extension Finding {
    /// The folder in the root in which the spot's entry lies, if it is one of the vault's own.
    var ownFolder: Name? {
        [Name.targets, .attributes].first { backingPath.starts(with: $0.bytes + [UInt8(ascii: "/")]) }
    }
}
