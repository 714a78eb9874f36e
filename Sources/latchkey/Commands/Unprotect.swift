import Administration
import ArgumentParser
import Control
import Crypto
import Failure
import Glibc
import Keybag
import Migration
import Posix
import Store
import VaultNames

/// `latchkey unprotect`: turns a protected folder into an ordinary one, with its files.
struct Unprotect: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Turn a protected folder into an ordinary one, with its files.",
        discussion: """
            Unmounts the vault, moves all its files into the folder on which it was mounted, file by file as latchkey \
            protect does, and removes the vault with its keys. It may be interrupted at any moment: run it again to go \
            on, or with --undo to go back. Then the files are readable for all who have the disk.
            """ + Examples.of("latchkey unprotect documents", "latchkey unprotect --undo ~/Documents"))

    @OptionGroup var migration: MigrationArguments
    @OptionGroup var credential: CredentialOptions

    @Argument(help: ArgumentHelp("The folder, by path or by word, or the vault's name.", valueName: "folder"))
    var folder: Path

    func run() throws {
        let vault = try ProtectedFolder(folder)
        let target = try MigratedFolder(vault.mountPoint)
        if let record = try target.record() {
            guard record.direction == .unprotect else {
                throw CommandError(
                    .failed, "\(target.path.path) is not wholly protected yet",
                    try: "latchkey protect \(target.path.path.quoted)   (to go on)",
                    "latchkey protect --undo \(target.path.path.quoted)   (to go back)")
            }
            if migration.undo { return try undo(target, record) }
            guard record.step == .moving else { return try finish(target, record) }
            return try move(target, record)
        }
        guard !migration.undo else {
            throw CommandError(
                .failed, "no interrupted latchkey unprotect of \(target.path.path) is there to go back from",
                try: "latchkey protect \(target.path.path.quoted)   (to protect it)")
        }
        try begin(vault, target)
    }
}

extension Unprotect {
    private func begin(_ vault: ProtectedFolder, _ target: MigratedFolder) throws {
        try confirm(target)
        let found = try PathArgument.of(vault.folder)
        if case .vault = found {} else { try Unmount.parse([]).unmount(found) }
        do throws(Errno) {
            let bare = try BareMountPoint(target.path.path)
            guard try bare.isEmpty() else { throw Errno.ENOTEMPTY }
            try bare.open()
        } catch { throw CommandError(cannot: "use as an ordinary folder", target.path.path, error) }
        var record = MigrationRecord(.unprotect, name: vault.name ?? "", vault: vault.folder)
        record.deviceKey = vault.deviceKey
        record.digests = migration.digests.map { AbsolutePath(lexically: $0).path }
        try move(target, record)
    }

    private func confirm(_ target: MigratedFolder) throws(CommandError) {
        guard !migration.yes else { return }
        guard let terminal = Terminal.standardInput() else {
            throw CommandError(
                .usage,
                "there is no terminal to ask at whether \(target.path.path) is to be an ordinary folder; nothing was done",
                try: "the same with --yes")
        }
        guard
            try terminal.yes(
                "Turn \(target.path.path) into an ordinary folder, which all can read who have the disk?",
                usually: false)
        else { throw CommandError(.failed, "nothing was done") }
    }

    private func again(_ target: MigratedFolder) -> Printable { "latchkey unprotect \(target.path.path.quoted)" }

    private func move(_ target: MigratedFolder, _ record: MigrationRecord) throws(CommandError) {
        var record = record
        try withVault(target, record, .unprotect, isUndo: false) { (opened, report, stop) throws(CommandError) in
            let survey = try opened.survey()
            try MigrationPlan(survey, in: target.parent, holdsBoth: !isNear(target, record), migration.engine).refuse()
            try opened.write(record)
            let (outcome, _, seconds) = try opened.run(report, stop, again: again(target))
            record.step = .moved
            try migration.write(outcome, to: record.digests)
            try opened.write(record)
            if !migration.json { migration.tell(outcome, survey, seconds) }
        }
        try finish(target, record)
    }

    /// Whether what is removed from the vault makes room for the files.
    private func isNear(_ target: MigratedFolder, _ record: MigrationRecord) -> Bool {
        var (a, b) = (stat(), stat())
        guard target.parent.status(&a) == 0, record.vault.status(&b) == 0 else { return false }
        return a.st_dev == b.st_dev
    }

    /// Opens the vault with what the user types, three times if need be.
    private func withVault(
        _ target: MigratedFolder, _ record: MigrationRecord, _ direction: Migration.Direction, isUndo: Bool,
        _ body: (OpenedMigration, MigrationReport, MigrationRun.StopFlag) throws(CommandError) -> Void
    ) throws(CommandError) {
        let hasNoPasscode = Mount.hasNoPasscode(record.vault)
        let kind = credential.kind(withoutPasscode: hasNoPasscode)
        let report = MigrationReport(isJSON: migration.json)
        let stop = MigrationRun.StopFlag()
        try PasscodeTries.repeating(credential.asks(kind)) { () throws(CommandError) in
            let secret = try credential.read(kind, vault: record.vault, deviceKey: record.deviceKey)
            try credential.lastTry.trying { (mayBeLast) throws(CommandError) in
                let opener = try Credential?(kind, secret, mayBeLast: mayBeLast)
                let opened = try OpenedMigration(
                    direction, isUndo: isUndo, target, vault: record.vault, deviceKey: record.deviceKey, opener,
                    migration.engine, report, stop)
                try body(opened, report, stop)
            }
        }
    }

    /// Removes the vault. Each step may have been done already.
    private func finish(_ target: MigratedFolder, _ record: MigrationRecord) throws(CommandError) {
        if let name = VaultName(record.name) {
            Startup(name: record.name).end()
            do throws(NamedVaultsError) { try NamedVaults.remove(name) } catch {
                throw CommandError(.failed, "\(error)")
            }
        }
        try PlannedVault.destroy(record.vault, deviceKey: record.deviceKey)
        try removeWorkspace(of: target)
        Standard.output(
            "\(target.path.path) is an ordinary folder. The vault \(record.vault) and its keys are removed.")
    }

    private func removeWorkspace(of target: MigratedFolder) throws(CommandError) {
        let store = try target.store()
        do throws(Errno) { try Workspace.remove(target.workspace, in: store.root, store) } catch {
            throw CommandError(cannot: "remove", target.workspacePath, error)
        }
    }

    private func undo(_ target: MigratedFolder, _ record: MigrationRecord) throws(CommandError) {
        guard record.step == .moving else {
            throw CommandError(
                .failed, "all files are out of the vault, which is being removed: there is no way back",
                try: "\(again(target))   (to end it)", "latchkey protect \(target.path.path.quoted)   (after that)")
        }
        try withVault(target, record, .protect, isUndo: true) { (opened, report, stop) throws(CommandError) in
            let (outcome, survey, seconds) = try opened.run(report, stop, again: again(target))
            if !migration.json { migration.tell(outcome, survey, seconds) }
        }
        try removeWorkspace(of: target)
        do throws(Errno) { try BareMountPoint(target.path.path).close() } catch {
            throw CommandError(cannot: "close", target.path.path, error)
        }
        Standard.output("The files of \(target.path.path) are in the vault again.")
        guard !record.name.isEmpty else { return }
        Standard.output("  try: latchkey open \(record.name.quoted)")
    }
}
