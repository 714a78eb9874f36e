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

    func run() throws { try MigrationReport.reporting(asJSON: migration.json, runInWords) }

    private func runInWords() throws {
        let known = try ProtectedFolder.interrupted(folder)
        let target: MigratedFolder
        let hold: WorkspaceHold
        if let known {
            target = known
            hold = try WorkspaceHold(target)
        } else {
            guard !migration.undo else { throw Self.nothingToUndo(folder) }
            let vault = try ProtectedFolder(folder)
            target = try MigratedFolder(vault.mountPoint)
            try target.refuse(holding: [migration.digests])
            try confirm(target)
            hold = try WorkspaceHold(target)
            do { return try begin(vault, target, hold) } catch {
                hold.giveUp()
                throw error
            }
        }
        try goOn(target, hold)
    }

    private static func nothingToUndo(_ folder: Path) -> CommandError {
        CommandError(
            .failed, "no interrupted latchkey unprotect of \(folder) is there to go back from",
            try: "latchkey protect \(folder.quoted)   (to protect it)")
    }
}

extension Unprotect {
    private var report: MigrationReport { MigrationReport(isJSON: migration.json) }
    private func again(_ target: MigratedFolder) -> Printable { "latchkey unprotect \(target.path.path.quoted)" }

    private func begin(_ vault: ProtectedFolder, _ target: MigratedFolder, _ hold: WorkspaceHold) throws {
        // Before anything is done: a wrong passcode must not leave a folder that is not mounted any more.
        let secret: Secret? = try provenSecret(of: vault)
        try migration.makeDigests()
        var record = MigrationRecord(.unprotect, name: vault.name ?? "", vault: vault.folder)
        record.deviceKey = vault.deviceKey
        record.digests = migration.digests.map { AbsolutePath(lexically: $0).path }
        // First: from here on, --undo knows that there is something to undo.
        try hold.write(record)
        do { try unmount(record) } catch {
            try? hold.remove()
            throw error
        }
        do { try openFolder(of: target, mustBeEmpty: true) } catch {
            try? hold.remove()
            throw error
        }
        try move(target, hold, record, secret, isNew: true)
    }

    /// Asks for what opens the vault, and tries it.
    private func provenSecret(of vault: ProtectedFolder) throws(CommandError) -> Secret {
        let slots = try WordedSlots(of: vault.folder, deviceKey: vault.deviceKey)
        let kind = credential.kind(withoutPasscode: Mount.hasNoPasscode(vault.folder))
        return try PasscodeTries.repeating(credential.asks(kind)) { () throws(CommandError) in
            let secret = try credential.read(kind, vault: vault.folder, deviceKey: vault.deviceKey)
            _ = try credential.lastTry.trying { (mayBeLast) throws(CommandError) in
                try slots.test(Opener(kind, mayBeLast: mayBeLast), secret)
            }
            return secret
        }
    }

    private func unmount(_ record: MigrationRecord) throws {
        let found = try PathArgument.of(record.vault)
        if case .vault = found { return }
        try Unmount.parse([]).unmount(found)
    }

    private func openFolder(of target: MigratedFolder, mustBeEmpty: Bool) throws(CommandError) {
        do throws(Errno) {
            let bare = try BareMountPoint(target.path.path)
            if mustBeEmpty, try !bare.isEmpty() { throw .ENOTEMPTY }
            try bare.open()
        } catch { throw CommandError(cannot: "use as an ordinary folder", target.path.path, error) }
    }

    private func confirm(_ target: MigratedFolder) throws(CommandError) {
        guard !migration.yes else { return }
        guard let terminal = Terminal.standardInput() else {
            throw CommandError(
                .usage,
                "there is no terminal to ask at whether \(target.path.path) is to be an ordinary folder; nothing was done",
                try: "the same with --yes")
        }
        let question: Printable =
            "Turn \(target.path.path) into an ordinary folder, which all can read who have the disk?"
        guard try terminal.yes(question, usually: false) else { throw CommandError(.failed, "nothing was done") }
    }

    private func goOn(_ target: MigratedFolder, _ hold: WorkspaceHold) throws {
        guard let record = try target.record() else { throw Self.nothingToUndo(folder) }
        switch record.step {
        case .returned: return try endUndo(target, hold, record)
        // Files may have come into the vault since, by a mount elsewhere.
        case .moved where try PlannedVault.isEmpty(record.vault):
            guard !migration.undo else {
                throw CommandError(
                    .failed, "all files are out of the vault, which is being removed: there is no way back",
                    try: "\(again(target))   (to end it)", "latchkey protect \(target.path.path.quoted)   (after that)")
            }
            return try finish(target, hold, record)
        case .moved, .moving: break
        }
        // A unit may have mounted the vault again meanwhile.
        try unmount(record)
        try openFolder(of: target, mustBeEmpty: false)
        if migration.undo { return try undo(target, hold, record) }
        Standard.output("\(target.path.path): goes on from where it was interrupted.")
        try move(target, hold, record, nil, isNew: false)
    }

    /// - Parameter isNew: nothing was moved yet. Later there may be copies already, which need no space.
    private func move(
        _ target: MigratedFolder, _ hold: WorkspaceHold, _ record: MigrationRecord, _ secret: borrowing Secret?,
        isNew: Bool
    ) throws(CommandError) {
        var record = record
        record.step = .moving
        try withVault(target, record, .unprotect, secret, isUndo: false) {
            (opened, report, stop) throws(CommandError) in
            let survey = try opened.survey()
            if isNew {
                try MigrationPlan(
                    survey, in: target.parent, holdsBoth: !isNear(target, record), migration.engine
                ).refuse()
            }
            try opened.write(record)
            if !record.name.isEmpty { Startup(name: record.name).end() }
            let (outcome, _, seconds) = try opened.run(report, stop, again: again(target))
            record.step = .moved
            try migration.write(outcome, to: record.digests)
            try opened.write(record)
            migration.tell(outcome, survey, seconds)
        }
        try finish(target, hold, record)
    }

    /// Whether what is removed from the vault makes room for the files.
    private func isNear(_ target: MigratedFolder, _ record: MigrationRecord) -> Bool {
        var (a, b) = (stat(), stat())
        guard target.parent.status(&a) == 0, record.vault.status(&b) == 0 else { return false }
        return a.st_dev == b.st_dev
    }

    /// Opens the vault with a secret, or with what the user types, three times if need be.
    private func withVault(
        _ target: MigratedFolder, _ record: MigrationRecord, _ direction: Migration.Direction,
        _ known: borrowing Secret?, isUndo: Bool,
        _ body: (OpenedMigration, MigrationReport, MigrationRun.StopFlag) throws(CommandError) -> Void
    ) throws(CommandError) {
        let hasNoPasscode = Mount.hasNoPasscode(record.vault)
        let kind = credential.kind(withoutPasscode: hasNoPasscode)
        let (report, stop) = (report, MigrationRun.StopFlag())
        func open(_ secret: borrowing Secret, mayBeLast: Bool) throws(CommandError) {
            let opener = try Credential?(kind, secret, mayBeLast: mayBeLast)
            let opened = try OpenedMigration(
                direction, isUndo: isUndo, target, vault: record.vault, deviceKey: record.deviceKey, opener,
                migration.engine, report, stop)
            try body(opened, report, stop)
        }
        switch known {
        case .some(let secret): try open(secret, mayBeLast: false)
        case .none:
            try PasscodeTries.repeating(credential.asks(kind)) { () throws(CommandError) in
                let secret = try credential.read(kind, vault: record.vault, deviceKey: record.deviceKey)
                try credential.lastTry.trying { (mayBeLast) throws(CommandError) in
                    try open(secret, mayBeLast: mayBeLast)
                }
            }
        }
    }

    /// Removes the vault. Each step may have been done already.
    private func finish(
        _ target: MigratedFolder, _ hold: WorkspaceHold, _ record: MigrationRecord
    ) throws(CommandError) {
        let copy = try PlannedVault.destroy(record.vault, deviceKey: record.deviceKey)
        if let name = VaultName(record.name) {
            Startup(name: record.name).end()
            do throws(NamedVaultsError) { try NamedVaults.remove(name) } catch {
                throw CommandError(.failed, "\(error)")
            }
        }
        try hold.remove()
        Standard.output(
            "\(target.path.path) is an ordinary folder. The vault \(record.vault) and its keys are removed.")
        if let copy {
            report.kept("device-key-kept", copy.vault)
            Standard.output(
                "Its device key is kept: the vault \(copy.vault), a copy of the same vault, \(copy.use), and needs it.")
        }
    }

    private func undo(
        _ target: MigratedFolder, _ hold: WorkspaceHold, _ record: MigrationRecord
    ) throws(CommandError) {
        var record = record
        try withVault(target, record, .protect, nil, isUndo: true) { (opened, report, stop) throws(CommandError) in
            let (outcome, survey, seconds) = try opened.run(report, stop, again: again(target))
            record.step = .returned
            try opened.write(record)
            migration.tell(outcome, survey, seconds)
        }
        try endUndo(target, hold, record)
    }

    private func endUndo(
        _ target: MigratedFolder, _ hold: WorkspaceHold, _ record: MigrationRecord
    ) throws(CommandError) {
        do throws(Errno) { try BareMountPoint(target.path.path).close() } catch {
            throw CommandError(cannot: "close", target.path.path, error)
        }
        try hold.remove()
        Standard.output("The files of \(target.path.path) are in the vault again.")
        guard !record.name.isEmpty else { return }
        report.closed(record.name)
        Startup(name: record.name).enable()
        Standard.output("  try: latchkey open \(record.name.quoted)")
    }
}
