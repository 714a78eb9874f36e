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

            The originals are removed, not wiped: on a flash disk, or with snapshots, nothing can be. Who has had the \
            disk before, or gets parts of it that were not used again, may still read them.
            """ + Examples.of("latchkey protect documents", "latchkey protect --undo documents"))

    @OptionGroup var migration: MigrationArguments

    @Flag(help: "Keep the originals, in FOLDER.unprotected: this needs twice the space.")
    var keep = false

    @Flag(help: "Wait until no program has a file of the folder open for writing.")
    var wait = false

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
        if migration.undo, keep || wait || name != nil {
            throw ValidationError("--undo excludes --keep, --wait and --name.")
        }
    }

    func run() throws {
        let targets = try folders.map { (word) throws(CommandError) in try MigratedFolder(word) }
        if migration.undo { return try targets.forEach { try undo($0) } }
        for target in targets {
            if let record = try target.record() {
                try resume(target, record)
            } else {
                try begin(target)
            }
        }
    }
}

// MARK: From the beginning

extension Protect {
    private func begin(_ target: MigratedFolder) throws {
        try target.refuse()
        try removeStaleWorkspace(of: target)
        let vault = try PlannedVault(for: target, name)
        let plan = try plan(target)
        try waitForWriters(in: target)
        let (screen, standard) = try settings(target, plan)
        let new = try NewVault(
            at: target.vaultInWorkspace, options, hasPasscode: true, or: standard)
        let first = NewVault.First(
            kind: .passcode,
            secret: try passcode.source.readNew(
                .passcode.of(target.path.path), options.strength, isGuarded: options.deviceKey?.isSealed == true))
        try new.make(first) { () throws(CommandError) in
            guard target.workspacePath.mkdir(0o700) == 0 else {
                throw CommandError(cannot: "make the workspace", target.workspacePath, .current)
            }
        }
        var record = MigrationRecord(.protect, name: vault.name, vault: vault.path)
        record.deviceKey = options.deviceKey?.path.map { AbsolutePath(lexically: $0).path }
        record.keepsOriginals = keep
        record.locksWithScreen = screen
        record.digests = migration.digests.map { AbsolutePath(lexically: $0).path }
        try move(target, record, first.secret, mayBeLast: true)
    }

    /// An interruption before the first file was moved: a vault without files.
    private func removeStaleWorkspace(of target: MigratedFolder) throws(CommandError) {
        let path = target.workspacePath
        guard path.access(F_OK) == 0 else { return }
        let store = try target.store()
        do throws(Errno) { try Workspace.remove(target.workspace, in: store.root, store) } catch {
            throw CommandError(cannot: "remove", path, error)
        }
    }

    private func plan(_ target: MigratedFolder) throws(CommandError) -> MigrationPlan {
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
        for warning in plan.warnings { Standard.error("latchkey: warning: \(warning)") }
        if !migration.json { Standard.output("\(target.path.path): \(plan.text)") }
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

// MARK: On the way

extension Protect {
    private func again(_ target: MigratedFolder) -> Printable { "latchkey protect \(target.path.path.quoted)" }

    private func resume(_ target: MigratedFolder, _ record: MigrationRecord) throws {
        guard record.direction == .protect else {
            throw CommandError(
                .failed, "\(target.path.path) is just being turned back into an ordinary folder",
                try: "latchkey unprotect \(target.path.path.quoted)   (to go on)",
                "latchkey unprotect --undo \(target.path.path.quoted)   (to go back)")
        }
        guard record.step == .moving else {
            try finish(target, record)
            return try Startup(name: record.name).begin()
        }
        try waitForWriters(in: target)
        if !migration.json { Standard.output("\(target.path.path): goes on where it was interrupted.") }
        try PasscodeTries.repeating(passcode.isAsked) { () throws(CommandError) in
            let secret = try passcode.read(of: target.vaultInWorkspace, deviceKey: record.deviceKey)
            try lastTry.trying { (mayBeLast) throws(CommandError) in
                try move(target, record, secret, mayBeLast: mayBeLast)
            }
        }
    }

    private func move(
        _ target: MigratedFolder, _ record: MigrationRecord, _ secret: borrowing Secret, mayBeLast: Bool
    ) throws(CommandError) {
        let credential = try Credential?(.passcode, secret, mayBeLast: mayBeLast)
        let report = MigrationReport(isJSON: migration.json)
        let stop = MigrationRun.StopFlag()
        var engine = migration.engine
        engine.removesOriginals = !record.keepsOriginals
        var record = record
        do {
            let opened = try OpenedMigration(
                .protect, isUndo: false, target, vault: target.vaultInWorkspace, deviceKey: record.deviceKey,
                credential,
                engine, report, stop)
            try opened.write(record)
            let (outcome, survey, seconds) = try opened.run(report, stop, again: again(target))
            record.step = .moved
            try migration.write(outcome, to: record.digests)
            try opened.write(record)
            if !migration.json { migration.tell(outcome, survey, seconds) }
        }
        try finish(target, record)
        try Startup(name: record.name).begin(unlockingWith: secret)
    }

    /// Puts the vault into its place. Each step may have been done already.
    private func finish(_ target: MigratedFolder, _ record: MigrationRecord) throws(CommandError) {
        if record.keepsOriginals { try keepOriginals(of: target) }
        let place = PlannedVault(record)
        try place.take(target.vaultInWorkspace)
        try place.keepName(mountPoint: target.path.path, record)
        let store = try target.store()
        do throws(Errno) {
            // A program that saves there while nothing is mounted would leave plaintext.
            try BareMountPoint(target.path.path).close()
            try Workspace.remove(target.workspace, in: store.root, store)
        } catch { throw CommandError(cannot: "remove", target.workspacePath, error) }
        Standard.output(
            "\(target.path.path) is protected: its files lie in the vault \(record.name), in \(record.vault).")
    }

    private func keepOriginals(of target: MigratedFolder) throws(CommandError) {
        let kept = target.path.path + ".unprotected"
        guard kept.access(F_OK) != 0 else { return }
        guard target.path.path.rename(to: kept) == 0, target.path.path.mkdir(0o700) == 0 else {
            throw CommandError(cannot: "rename", target.path.path, .current)
        }
        Standard.output("The originals are in \(kept), unprotected.")
    }
}

// MARK: Back

extension Protect {
    private func undo(_ target: MigratedFolder) throws {
        guard let record = try target.record(), record.direction == .protect, record.step == .moving else {
            throw CommandError(
                .failed, "no interrupted latchkey protect of \(target.path.path) is there to go back from",
                try: "latchkey unprotect \(target.path.path.quoted)   (if it is protected)")
        }
        let report = MigrationReport(isJSON: migration.json)
        let stop = MigrationRun.StopFlag()
        try PasscodeTries.repeating(passcode.isAsked) { () throws(CommandError) in
            let secret = try passcode.read(of: target.vaultInWorkspace, deviceKey: record.deviceKey)
            try lastTry.trying { (mayBeLast) throws(CommandError) in
                let credential = try Credential?(.passcode, secret, mayBeLast: mayBeLast)
                let opened = try OpenedMigration(
                    .unprotect, isUndo: true, target, vault: target.vaultInWorkspace, deviceKey: record.deviceKey,
                    credential, migration.engine, report, stop)
                let (outcome, survey, seconds) = try opened.run(report, stop, again: again(target))
                if !migration.json { migration.tell(outcome, survey, seconds) }
            }
        }
        try PlannedVault.destroy(target.vaultInWorkspace, deviceKey: record.deviceKey)
        let store = try target.store()
        do throws(Errno) { try Workspace.remove(target.workspace, in: store.root, store) } catch {
            throw CommandError(cannot: "remove", target.workspacePath, error)
        }
        Standard.output("\(target.path.path) is as it was: an ordinary folder.")
    }
}
