import Format
import Posix
import Store
import Vault

/// Checks a vault and puts in order what it finds: orphans go, and what cannot be read where it stands is moved to
/// `lost+found` in the vault's root, under the path that it had.
///
/// Each step is durable before the next one relies on it, and the vault is whole after each: a repair that is
/// interrupted is simply run again. The vault is nobody else's meanwhile, and may be written to.
public final class Repair: Sendable {
    /// The check that comes first; its progress is that of the repair.
    public let check: Check
    private let vault: Vault
    private let salvages: Bool
    private let threads: Int
    private let pending: PendingFindings

    /// - Parameters:
    ///   - contents: blocks are read too, of the classes whose keys are at hand.
    ///   - salvages: of files with contents that are lost in part, a copy is made that has zeros there.
    ///   - found: called with each finding, after its repair if it has one, by one thread at a time.
    public convenience init(
        of vault: Vault, contents: Bool, salvages: Bool, threads: Int, estimatesProgress: Bool = false,
        found: @escaping @Sendable (Finding) -> Void
    ) {
        self.init(
            of: vault, contents: contents, salvages: salvages, threads: threads, estimatesProgress: estimatesProgress,
            mostPending: PendingFindings.usualLimit, found: found)
    }

    init(
        of vault: Vault, contents: Bool, salvages: Bool, threads: Int, estimatesProgress: Bool = false,
        mostPending: Int, found: @escaping @Sendable (Finding) -> Void
    ) {
        let pending = PendingFindings(limit: mostPending, found)
        self.vault = vault
        self.salvages = salvages
        self.threads = threads
        self.pending = pending
        check = Check(of: vault, contents: contents, threads: threads, estimatesProgress: estimatesProgress) {
            pending.add($0)
        }
    }

    /// Runs until all is done or `check` is cancelled.
    ///
    /// - Throws: what stops the repair itself, such as a full disk. What was done is done; run it again.
    public func run() throws(VaultError) {
        try recoverJournal()
        do throws(VaultError) { try work() } catch {
            // What stops the repair need not stop this: the next one then finds no crash, and the journal's space is
            // free.
            try? vault.close()
            throw error
        }
        try vault.close()
    }

    private func work() throws(VaultError) {
        let work = RepairWork(vault, salvages: salvages, check: check)
        // A folder that is opened would be freed of what a crash left in it: here that is found and told first, and
        // what lies in a folder without its record is moved to lost+found.
        let windows = vault.windows.withLock { windows in
            defer { windows = [] }
            return windows
        }
        check.noteCrashedSessions(windows)
        if let finding = try work.openRoot() { tell(finding) }
        try check.run()
        try repair(pending.take(), work)
        // What was set temporary with all that is below it has not been looked at yet.
        if !check.isCancelled, let folder = work.adoptedFolder {
            try check.run(from: folder)
            try repair(pending.take().filter { !work.isDone($0) }, work)
        }
        try work.end()
    }

    private func repair(_ findings: [Finding], _ work: RepairWork) throws(VaultError) {
        try work.prepare(findings, threads: threads)
        var failure: VaultError?
        for var finding in findings.sorted(by: { RepairWork.order($0) < RepairWork.order($1) }) {
            if let failure {
                finding.repair = .failed("not tried, since the repair was stopped: \(failure.errno)")
            } else if !check.isCancelled {
                do throws(VaultError) { finding.repair = try work.repair(finding) } catch {
                    finding.repair = .failed("\(error.errno)")
                    failure = error
                }
            }
            if case .done = finding.repair { check.progress.countRepaired() }
            pending.tell(finding)
        }
        if let failure { throw failure }
    }

    /// Brings in the journal; one whose head is damaged gets a new one first.
    private func recoverJournal() throws(VaultError) {
        var finding: Finding?
        do throws(VaultError) {
            try vault.requireJournalFile()
            if vault.lacksJournal {
                finding = .missingJournal
                finding?.repair = .done("an empty one was made")
            } else if let head = try RecoveryJournal(of: vault)?.head, head.opened != 0 {
                finding = .pendingJournal("belongs into the files")
                finding?.repair = .done("it was put there")
            }
            try vault.recover()
        } catch {
            guard case .damaged(let reason) = error else { throw error }
            finding = Finding(.damage, .journal, BackingName.journal, reason: "\(reason)")
            do throws(VaultError) {
                try vault.requireJournalFile()
                try vault.rebuildJournalHead()
                finding?.repair = .done("its head was made anew, and what it holds was put into the files")
            } catch {
                guard error.isDamage else { throw error }
                try vault.moveOutOfTheWay(.journal, in: vault.store.root)
                finding?.repair = .done("an empty one was made")
            }
            try vault.recover()
        }
        if let finding { tell(finding) }
    }

    /// Tells a finding that is dealt with already.
    private func tell(_ finding: Finding) {
        check.progress.count(finding)
        pending.tell(finding)
    }
}
