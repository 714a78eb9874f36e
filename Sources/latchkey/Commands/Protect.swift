import Administration
import ArgumentParser
import Control
import Crypto
import Failure
import Format
import Glibc
import Keybag
import Migration
import Posix
import VaultNames

/// `latchkey protect`: turns a folder with its files into a protected one.
struct Protect: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Turn a folder that has files into a protected one, in place.",
        discussion: """
            Makes a vault, moves all files of FOLDER into it, file by file, and mounts it on FOLDER, now and at each \
            login. FOLDER is a path, or one of desktop, documents, downloads, music, pictures, publicshare, templates, \
            videos. Each file is encrypted, made durable, read back and compared before its original is removed, with \
            its mode, owner, times, attributes, access control lists, links and holes. So it needs hardly more space \
            than the largest file, and may be interrupted at any moment: run it again to go on, or with --undo to go \
            back. Until it has ended, files are partly in the folder and partly in the vault, so end programs that \
            use them, above all those that synchronise the folder.

            On a rotating disk whose file system writes in place, such as ext4, the originals are overwritten before \
            they are removed. Elsewhere, and where there are snapshots, that is of no use: until the disk has used the \
            space again, who examines it may find parts of them.
            """ + Examples.of("latchkey protect documents", "latchkey protect --undo documents"))

    @OptionGroup var migration: MigrationArguments

    @Flag(help: "Keep the originals, in FOLDER.unprotected: this needs twice the space.")
    var keep = false

    @Flag(help: "Wait until no program has a file of the folder open for writing.")
    var wait = false

    @Flag(help: "Only say how long it will take, what it needs, and what stands in its way.")
    var plan = false

    @Flag(inversion: .prefixedNo, help: "Lock when the screen locks. (default: --lock-with-screen)")
    var lockWithScreen: Bool?

    @Option(
        help: ArgumentHelp("The vault's name. (default: the folder's, in lower case)", valueName: "name"),
        transform: textOnly)
    var name: String?

    @OptionGroup var passcode: PasscodeOptions
    @OptionGroup var lastTry: LastTryOptions
    @OptionGroup var options: NewVaultOptions

    @Argument(help: ArgumentHelp("The folders, by path or by word.", valueName: "folder"))
    var folders: [Path]

    func validate() throws {
        if folders.count > 1, name != nil || options.recoveryKeyFile != nil || migration.digests != nil {
            throw ValidationError("--name, --recovery-key-file and --digests go with one folder.")
        }
        if migration.undo, keep || wait || name != nil || plan {
            throw ValidationError("--undo excludes --keep, --wait, --name and --plan.")
        }
    }

    func run() throws { try MigrationReport.reporting(asJSON: migration.json, runInWords) }

    private func runInWords() throws {
        let targets = try folders.map { (word) throws(CommandError) in try MigratedFolder(word) }
        for target in targets {
            if plan {
                try showPlan(target)
            } else if try target.record() == nil {
                guard !migration.undo else { throw Self.nothingToUndo(target) }
                try begin(target)
            } else {
                try goOn(target, try WorkspaceHold(target))
            }
        }
    }

    private static func nothingToUndo(_ target: MigratedFolder) -> CommandError {
        CommandError(
            .failed, "no interrupted latchkey protect of \(target.path.path) is there to go back from",
            try: "latchkey unprotect \(target.path.path.quoted)   (if it is protected)")
    }
}

// MARK: From the beginning

extension Protect {
    /// Does nothing else.
    private func showPlan(_ target: MigratedFolder) throws(CommandError) {
        if let record = try target.record() {
            // Throws while another process is at work on it. One that has just ended has removed the workspace.
            try WorkspaceHold(target).giveUp()
            report.unfinished(record, of: target.path.path)
            report.recoveryKey(in: record.recoveryKey, opens: true)
            let command: Printable = "latchkey \(Printable(record.direction.rawValue))"
            Standard.output(
                """
                \(target.path.path): a run of \(command) was interrupted.
                  try: \(command) \(target.path.path.quoted)   (to go on)
                  try: \(command) --undo \(target.path.path.quoted)   (to go back)
                """)
            return
        }
        if let (name, _) = try target.protection() {
            report.protected(target.path.path, by: name)
            return Standard.output("\(target.path.path) is protected already.")
        }
        try target.refuse()
        _ = try PlannedVault(for: target, name)
        tell(try survey(target), of: target, try Medium(of: target.path.path))
        let found = OpenWriters(in: target.path.path)
        report.writers(found.writers)
        guard !found.writers.isEmpty else { return }
        Standard.output("These programs have files of it open for writing, and would have to close them first:")
        for line in found.lines { Standard.output("  \(line)") }
    }

    private func tell(_ plan: MigrationPlan, of target: MigratedFolder, _ medium: Medium) {
        for warning in plan.warnings { Standard.error("latchkey: warning: \(warning)") }
        report.plan(
            plan, of: target.path.path, overwrites: !keep && medium.isOverwrittenInPlace)
        Standard.output("\(target.path.path): \(plan.text)")
        if !keep { Standard.output(medium.sentence) }
    }

    private func begin(_ target: MigratedFolder) throws {
        try target.refuse()
        try target.refuse(holding: [
            passcode.passcodeFile, options.recoveryKeyFile, options.deviceKey?.path, migration.digests,
        ])
        if keep, target.unprotectedPath.access(F_OK) == 0 {
            throw CommandError(
                .failed, "\(target.unprotectedPath) is there already; nothing was done",
                try: "mv \(target.unprotectedPath.quoted) elsewhere, and the same again")
        }
        let vault = try PlannedVault(for: target, name)
        let hold = try WorkspaceHold(target)
        do {
            let plan = try survey(target)
            try waitForWriters(in: target)
            let (screen, standard) = try settings(target, plan)
            var record = MigrationRecord(.protect, name: vault.name, vault: vault.path)
            record.deviceKey = options.deviceKey?.path.map { AbsolutePath(lexically: $0).path }
            record.keepsOriginals = keep
            record.locksWithScreen = screen
            record.digests = migration.digests.map { AbsolutePath(lexically: $0).path }
            record.recoveryKey = options.recoveryKeyFile.map { AbsolutePath(lexically: $0).path }
            let new = try NewVault(at: target.vaultInWorkspace, options, hasPasscode: true, or: standard)
            let first = NewVault.First(
                kind: .passcode,
                secret: try passcode.source.readNew(
                    .passcode.of(target.path.path), options.strength, isGuarded: options.deviceKey?.isSealed == true))
            try migration.makeDigests()
            try new.make(first) {}
            try move(target, hold, record, first.secret, mayBeLast: true)
        } catch {
            hold.giveUp()
            throw error
        }
    }

    private func survey(_ target: MigratedFolder) throws(CommandError) -> MigrationPlan {
        let store = try target.store()
        let survey: Survey
        do {
            survey = try Survey(of: store.open(target.name, in: store.root, O_RDONLY | O_DIRECTORY), store)
        } catch { throw CommandError(.failed, "cannot read \(target.path.path): \("\(error)" as String)") }
        let plan = try MigrationPlan(survey, in: target.parent, holdsBoth: keep, migration.engine)
        try plan.refuseFindings(of: target.path.path)
        try plan.refuse()
        return plan
    }

    /// Returns whether the vault is to lock with the screen, and the class that is meant by that.
    private func settings(
        _ target: MigratedFolder, _ plan: MigrationPlan
    ) throws(CommandError) -> (screen: Bool, standard: ProtectionClass) {
        tell(plan, of: target, try Medium(of: target.path.path))
        var screen = lockWithScreen
        if !migration.yes {
            guard let terminal = Terminal.standardInput() else {
                throw CommandError(
                    .usage,
                    "there is no terminal to ask at whether \(target.path.path) is to be protected; nothing was done",
                    try: "the same with --yes")
            }
            if screen == nil { screen = try terminal.yes("Lock its files when the screen locks?", usually: true) }
            guard try terminal.yes("Move all files of \(target.path.path) into a vault now?", usually: true) else {
                throw CommandError(.failed, "nothing was done")
            }
        }
        let locks = screen ?? true
        return (locks, locks ? .complete : .completeUntilFirstUserAuthentication)
    }

    private func waitForWriters(in target: MigratedFolder) throws(CommandError) {
        var isTold = false
        while true {
            let found = OpenWriters(in: target.path.path)
            guard !found.writers.isEmpty else { return }
            if !isTold { for line in found.lines { Standard.error("latchkey: \(line)") } }
            guard wait else {
                throw CommandError(
                    .failed, "programs have files of \(target.path.path) open for writing; nothing was done",
                    try: "the same again, when they are closed", "the same with --wait")
            }
            if !isTold { Standard.error("latchkey: waiting until they are closed") }
            isTold = true
            usleep(500_000)
        }
    }
}

// MARK: On the way, and back

extension Protect {
    private var report: MigrationReport { MigrationReport(isJSON: migration.json) }
    private func again(_ target: MigratedFolder) -> Printable { "latchkey protect \(target.path.path.quoted)" }

    private func goOn(_ target: MigratedFolder, _ hold: WorkspaceHold) throws {
        guard let record = try target.record() else { throw Self.nothingToUndo(target) }
        guard record.direction == .protect else {
            throw CommandError(
                .failed, "\(target.path.path) is just being turned back into an ordinary folder",
                try: "latchkey unprotect \(target.path.path.quoted)   (to go on)",
                "latchkey unprotect --undo \(target.path.path.quoted)   (to go back)")
        }
        switch record.step {
        case .returned: try endUndo(target, hold, record)
        case .moved where migration.undo:
            throw CommandError(
                .failed, "all files are in the vault, which is being put into its place: there is no way back",
                try: "\(again(target))   (to end it)", "latchkey unprotect \(target.path.path.quoted)   (after that)")
        case .moved:
            let isInPlace = target.vaultInWorkspace.access(F_OK) != 0
            let secret = try passcode.read(
                of: isInPlace ? record.vault : target.vaultInWorkspace, deviceKey: record.deviceKey)
            try finish(target, hold, record)
            try Startup(name: record.name, report: report).begin(unlockingWith: secret)
        case .moving:
            guard target.vaultInWorkspace.access(F_OK) == 0 else {
                throw CommandError(
                    .notFound, "the vault of the interrupted run, \(target.vaultInWorkspace), is gone",
                    try: "mv it back, and the same again")
            }
            if !migration.undo { try waitForWriters(in: target) }
            let way = migration.undo ? "back" : "on"
            Standard.output("\(target.path.path): goes \(way) from where it was interrupted.")
            try PasscodeTries.repeating(passcode.isAsked) { () throws(CommandError) in
                let secret = try passcode.read(of: target.vaultInWorkspace, deviceKey: record.deviceKey)
                try lastTry.trying { (mayBeLast) throws(CommandError) in
                    if migration.undo {
                        try undo(target, hold, record, secret, mayBeLast: mayBeLast)
                    } else {
                        try move(target, hold, record, secret, mayBeLast: mayBeLast)
                    }
                }
            }
        }
    }

    private func move(
        _ target: MigratedFolder, _ hold: WorkspaceHold, _ record: MigrationRecord, _ secret: borrowing Secret,
        mayBeLast: Bool
    ) throws(CommandError) {
        let credential = try Credential?(.passcode, secret, mayBeLast: mayBeLast)
        let (report, stop) = (report, MigrationRun.StopFlag())
        var engine = migration.engine
        engine.removesOriginals = !record.keepsOriginals
        engine.overwrites = try Medium(of: target.path.path).isOverwrittenInPlace
        var record = record
        do {
            let opened = try OpenedMigration(
                .protect, isUndo: false, target, vault: target.vaultInWorkspace, deviceKey: record.deviceKey,
                credential, engine, report, stop)
            try opened.write(record)
            let (outcome, survey, seconds) = try opened.run(report, stop, again: again(target))
            record.step = .moved
            try migration.write(outcome, to: record.digests)
            try opened.write(record)
            migration.tell(outcome, survey, seconds)
        }
        try finish(target, hold, record)
        try Startup(name: record.name, report: report).begin(unlockingWith: secret)
    }

    /// Puts the vault into its place. Each step may have been done already.
    private func finish(
        _ target: MigratedFolder, _ hold: WorkspaceHold, _ record: MigrationRecord
    ) throws(CommandError) {
        if record.keepsOriginals { try keepOriginals(of: target) }
        try closeFolder(of: target, hold, record)
        let place = PlannedVault(record)
        try place.take(target.vaultInWorkspace)
        try place.keepName(mountPoint: target.path.path, record)
        try hold.remove()
        report.recoveryKey(in: record.recoveryKey, opens: true)
        Standard.output(
            "\(target.path.path) is protected: its files lie in the vault \(record.name), in \(record.vault).")
    }

    /// Closes the emptied folder, on which the vault is mounted: a program that saves there without the mount would
    /// leave plaintext. What one has saved by now, the next run moves.
    private func closeFolder(
        of target: MigratedFolder, _ hold: WorkspaceHold, _ record: MigrationRecord
    ) throws(CommandError) {
        let isEmpty: Bool
        do throws(Errno) {
            let point = try BareMountPoint(target.path.path)
            try point.close()
            isEmpty = try BareMountPoint(target.path.path).isEmpty()
            if !isEmpty { try point.open() }
        } catch { throw CommandError(cannot: "close the folder", target.path.path, error) }
        guard !isEmpty else { return }
        var record = record
        record.step = .moving
        try hold.write(record)
        throw CommandError(
            .failed, "new files have come into \(target.path.path) meanwhile; all others are moved", try: again(target))
    }

    /// The originals get another name, and an empty folder has theirs, in one step.
    private func keepOriginals(of target: MigratedFolder) throws(CommandError) {
        do throws(Errno) {
            let parent = try Descriptor.open(path: target.parent, O_RDONLY | O_DIRECTORY)
            let folder = try parent.open(target.name, O_RDONLY | O_DIRECTORY)
            let kept = target.unprotectedPath
            // Done before an interruption.
            if try folder.entries().isEmpty { return report.kept("kept", kept) }
            guard let name = kept.lastName else { throw Errno.ENAMETOOLONG }
            guard kept.mkdir(0o700) == 0 || Errno.current == .EEXIST else { throw Errno.current }
            guard try parent.open(name, O_RDONLY | O_DIRECTORY).entries().isEmpty else { throw Errno.ENOTEMPTY }
            try parent.rename(target.name, to: name, in: parent, flags: RENAME_EXCHANGE)
            try parent.synchronize(dataOnly: false)
            report.kept("kept", kept)
            Standard.output("The originals are in \(kept), unprotected.")
        } catch { throw CommandError(cannot: "keep the originals in", target.unprotectedPath, error) }
    }

    private func undo(
        _ target: MigratedFolder, _ hold: WorkspaceHold, _ record: MigrationRecord, _ secret: borrowing Secret,
        mayBeLast: Bool
    ) throws(CommandError) {
        let credential = try Credential?(.passcode, secret, mayBeLast: mayBeLast)
        let (report, stop) = (report, MigrationRun.StopFlag())
        var record = record
        do {
            let opened = try OpenedMigration(
                .unprotect, isUndo: true, target, vault: target.vaultInWorkspace, deviceKey: record.deviceKey,
                credential, migration.engine, report, stop)
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
        try PlannedVault.destroy(target.vaultInWorkspace, deviceKey: record.deviceKey)
        try hold.remove()
        report.recoveryKey(in: record.recoveryKey, opens: false)
        Standard.output("\(target.path.path) is as it was: an ordinary folder.")
    }
}
