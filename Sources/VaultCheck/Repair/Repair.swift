import Format
import Posix
import Store
import Vault

/// Checks a vault and repairs what it finds: removes orphans, and moves what cannot be read to `lost+found` in the
/// vault's root, under the path that it had.
///
/// Each step is durable before the next one relies on it, and the vault is consistent after each: a repair that was
/// interrupted can simply be run again. No other process may have the vault open, and the store must be writable.
public final class Repair: Sendable {
    /// The first step; its progress is that of the repair.
    public let check: Check
    private let vault: Vault
    private let salvages: Bool
    private let threads: Int
    private let pending: PendingFindings

    /// - Parameters:
    ///   - contents: verifies blocks too, of the classes whose keys are in the ring.
    ///   - salvages: copies each file whose contents are lost in part, with zeros in the lost ranges.
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

    /// Runs until everything is done or `check` is cancelled.
    ///
    /// - Throws: what stops the repair itself, such as a full disk. Its finished steps stay, and it can be run again.
    public func run() throws(VaultError) {
        try recoverJournal()
        do throws(VaultError) { try work() } catch {
            // After an error the vault is closed too, if possible: then the next session finds no crash, and the
            // journal's space is free.
            try? vault.close()
            throw error
        }
        try vault.close()
    }

    private func work() throws(VaultError) {
        let work = RepairWork(vault, salvages: salvages, check: check)
        // Opening a folder removes a crash's orphans if windows are set. A repair reports them first, and moves what
        // lies in a folder without a record to lost+found.
        let windows = vault.left.windows.withLock { windows in
            defer { windows = [] }
            return windows
        }
        check.noteCrashedSessions(windows)
        if let finding = try work.openRoot() { tell(finding) }
        try check.run()
        try repair(pending.take(), work)
        // A folder that was moved to lost+found as a whole has not been checked yet.
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

    /// Replays the journal. If its head is damaged, it gets a new one first.
    private func recoverJournal() throws(VaultError) {
        var finding: Finding?
        do throws(VaultError) {
            try vault.requireJournalFile()
            if vault.lacksJournal {
                finding = .missingJournal
                finding?.repair = .done("an empty one was made")
            } else if let head = try RecoveryJournal(of: vault)?.head, head.opened != 0 {
                finding = .pendingJournal("belong in the files")
                finding?.repair = .done("they were written there")
            }
            try vault.recover()
        } catch {
            guard case .damaged(let reason) = error else { throw error }
            finding = Finding(.damage, .journal, BackingName.journal, reason: "\(reason)")
            do throws(VaultError) {
                try vault.requireJournalFile()
                try vault.rebuildJournalHead()
                finding?.repair = .done("its head was made anew, and its records were written to the files")
            } catch {
                guard error.isDamage else { throw error }
                try vault.moveOutOfTheWay(vault.foundJournalName, in: vault.store.root)
                finding?.repair = .done("an empty one was made")
            }
            try vault.recover()
        }
        if let finding { tell(finding) }
    }

    /// Reports a finding that is already repaired.
    private func tell(_ finding: Finding) {
        check.progress.count(finding)
        pending.tell(finding)
    }
}
