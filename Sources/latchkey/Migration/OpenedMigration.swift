import Administration
import Control
import Crypto
import Failure
import Glibc
import Keybag
import Migration
import Posix
import Store
import Vault
import VaultNames

/// A migration with its vault open in this process.
struct OpenedMigration {
    let migration: Migration
    let workspace: Workspace
    /// Holds the vault.
    private let folder: VaultFolder

    /// Opens the vault with a credential, and settles what an interrupted run has left.
    ///
    /// - Parameter vault: where it lies now.
    init(
        _ direction: Migration.Direction, isUndo: Bool, _ target: MigratedFolder, vault: Path, deviceKey: Path?,
        _ credential: borrowing Credential?, _ options: MigrationOptions, _ report: MigrationReport,
        _ stop: MigrationRun.StopFlag
    ) throws(CommandError) {
        let folder = try withKeybag(of: vault) { () throws(Failure) in
            try VaultFolder(try AbsolutePath(ofVault: vault), .ofCommand)
        }
        let opened: CheckedVault
        do throws(Failure) {
            opened = try CheckedVault(
                in: folder, deviceKeyPath: deviceKey, credential, isRepaired: true, comparing: false)
        } catch { throw CommandError(error, of: vault) }
        let store = try target.store()
        let source: Descriptor
        do throws(Errno) {
            workspace = try Workspace(target.workspace, in: store.root, store)
            source = try store.open(target.name, in: store.root, O_RDONLY | O_DIRECTORY)
            _ = try ProcessLimits.raiseOpenFiles()
        } catch { throw CommandError(cannot: "open", target.path.path, error) }
        opened.vault.mostDirtyFiles = max(opened.vault.mostDirtyFiles, 4 * options.batchFiles)
        do throws(MigrationError) {
            migration = try Migration(
                direction, of: source, workspace, opened.vault, isUndo: isUndo, options,
                isStopped: { stop.value }
            ) { report.tell($0) }
        } catch { throw CommandError(error) }
        self.folder = folder
    }

    func survey() throws(CommandError) -> Survey {
        try inWords { () throws(MigrationError) in try migration.survey() }
    }

    func write(_ record: MigrationRecord) throws(CommandError) {
        do throws(Errno) { try workspace.write(record: record.fields) } catch {
            throw CommandError(cannot: "write to the workspace of", "the migration", error)
        }
    }

    /// Moves everything. Returns if nothing is left; ends the process by the signal that has interrupted it.
    ///
    /// - Parameter again: the command that goes on.
    func run(
        _ report: MigrationReport, _ stop: MigrationRun.StopFlag, again: Printable
    ) throws(CommandError) -> (outcome: MigrationOutcome, survey: Survey, seconds: Double) {
        let survey = try inWords { () throws(MigrationError) in try migration.survey() }
        let ended: (outcome: MigrationOutcome, seconds: Double, signal: Int32?)
        do throws(CommandError) { ended = try MigrationRun(migration, survey, report, stop).run() } catch {
            // What the vault has in its journal, the next session brings into its files.
            try? migration.end()
            throw error
        }
        try inWords { () throws(MigrationError) in try migration.end() }
        if let signal = ended.signal, !ended.outcome.isComplete {
            Standard.error("latchkey: stopped; nothing is lost\n  try: \(again)\n  try: \(again) --undo   (to go back)")
            Interruption.die(of: signal)
        }
        guard ended.outcome.isComplete else { throw Self.incomplete(ended.outcome, again) }
        return (ended.outcome, survey, ended.seconds)
    }

    private func inWords<Result>(_ body: () throws(MigrationError) -> Result) throws(CommandError) -> Result {
        do throws(MigrationError) { return try body() } catch { throw CommandError(error) }
    }

    private static func incomplete(_ outcome: MigrationOutcome, _ again: Printable) -> CommandError {
        let count = outcome.leftCount
        let what: Printable =
            count == 0
            ? "new files have come into the folder meanwhile"
            : "\(Amount.of(count, "entry", plural: "entries")) could not be moved and stayed where they are"
        return CommandError(.failed, "\(what); all others are moved", try: again, "\(again) --undo   (to go back)")
    }
}
