import Format
import Posix
import Store
import Vault

// A vault that is only read is checked as the next mount will find it: with the journal's records over the files.

extension Check {
    /// Reads what the last session left in the journal. Damage to the journal is a finding.
    func readJournal() {
        do throws(VaultError) {
            try vault.requireJournalFile()
            guard vault.isReadOnly else { return try vault.beginSession() }
            guard let old = try RecoveryJournal(of: vault) else {
                if vault.lacksJournal { report(.missingJournal) }
                return
            }
            noteCrashedSessions(old.head.windows)
            guard old.head.opened != 0 else { return }
            noteCrashedSessions([JournalHead.Window(from: old.head.opened - min(old.head.opened, 2), to: .max)])
            report(.pendingJournal("are taken into account, and the next mount writes them to the files"))
            let strays = try old.strays(in: try old.entries())
            if strays > 0 { report(.strayRecords(strays)) }
            try vault.beginSession()
        } catch {
            report(
                Finding(
                    error, .journal, "the journal cannot be read",
                    at: Spot(treePath: .root, stored: vault.foundJournalName))
            )
        }
    }
}

extension Vault {
    /// Throws if the journal is not a regular file: an attacker may have replaced it.
    func requireJournalFile() throws(VaultError) {
        guard let status = try? store.status(of: foundJournalName, in: store.root), status.kind != .regular else {
            return
        }
        throw .damaged("the journal is not a regular file")
    }

    /// Whether the journal is missing although the vault has entries: it is made before the first file.
    var lacksJournal: Bool {
        guard (try? store.status(of: foundJournalName, in: store.root)) == nil,
            let listing = try? openFolder(.current, in: store.root), let entries = try? store.nextEntries(of: listing)
        else { return false }
        return entries.contains { entry in
            switch BackingName(entry.name.bytes) {
            case .entry, .longEntry: true
            case .reserved, .temporary, .sidecar, .foreign: false
            }
        }
    }
}

extension Finding {
    /// - Parameter what: how the sentence about the journal's contents ends.
    static func pendingJournal(_ what: String) -> Finding {
        Finding(
            .note, .journal, BackingName.journal, reason: "the last session ended in a crash: its records \(what)")
    }

    static func strayRecords(_ count: Int) -> Finding {
        Finding(
            .damage, .journal, BackingName.journal,
            reason: "\(count) of its records name files that this vault does not have; they are ignored")
    }

    static var missingJournal: Finding {
        Finding(
            .note, .journal, BackingName.journal,
            reason: "it is missing: if the last session ended in a crash, what was synced last may be lost")
    }
}
