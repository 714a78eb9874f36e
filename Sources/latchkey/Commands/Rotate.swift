import Administration
import ArgumentParser
import Control
import Crypto
import Failure
import Glibc
import Keybag
import Posix

/// `latchkey rotate`: new keys for a mounted vault.
struct Rotate: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Make new keys for a mounted vault, and give them to all files in the background.",
        discussion: """
            For when another person may have had the keys. Afterwards an old copy of the keybag, with all that opens \
            it, opens nothing that was written since. If the passcode may be known too, change it first.

            The passcode, key file or security key that the command takes still opens the vault afterwards, and so do \
            escrow keys. A new recovery key replaces the old one. Other passcodes, key files and security keys are \
            removed: they are listed first, and have to be added again.

            Files can be used meanwhile. The work goes on while the mount is unlocked, over locks and restarts. If \
            some files could not be given new keys, the next unlock or this command tries again. Older copies of the \
            vault, and single files from them, open with the older keybag only.
            """
                + Examples.of(
                    "latchkey rotate ~/private", "latchkey rotate --wait --key-file /media/stick/vault.key ~/private"))

    @OptionGroup var passcode: PasscodeOptions

    @Option(help: ArgumentHelp("Use this key file instead of the passcode.", valueName: "file"))
    var keyFile: Path?

    @Flag(name: .customLong("fido2"), help: "Use a security key instead of the passcode.")
    var securityKey = false

    @OptionGroup var securityKeyOptions: SecurityKeyOptions

    @OptionGroup var lastTry: LastTryOptions

    @Option(
        help: ArgumentHelp(
            "Write the new recovery key to this new file, 0600, instead of showing it.", valueName: "file"))
    var recoveryKeyFile: Path?

    @Flag(help: "Do not ask before the listed slots are removed.")
    var yes = false

    @Flag(help: "Return only when all files have the new keys; fails if some could not be given them.")
    var wait = false

    @Argument(help: ArgumentHelp("The mount, a path in it, or its vault. \(onlyMount)", valueName: "dir"))
    var argument: Path?

    func validate() throws {
        guard [keyFile != nil, passcode.isGiven, securityKey].count(where: { $0 }) <= 1 else {
            throw ValidationError("One thing opens a vault: passcode, key file or security key.")
        }
        if securityKeyOptions.isGiven, !securityKey {
            throw ValidationError("The options of a security key go with --fido2.")
        }
    }

    func run() throws {
        let mount = try PathArgument.mount(ofOrOnly: argument)
        guard !mount.status.readOnly else {
            throw CommandError(.failed, "\(mount.status.mountPoint) is mounted read-only")
        }
        let isNew = mount.status.rotation == nil
        if isNew {
            try begin(mount)
        } else {
            _ = try asking(mount) { (client) throws(Failure) in try client.rotate(nil) }
            Standard.error("Files are already being given new keys: that goes on, and no new rotation is started.")
        }
        let status = try asking(mount) { (client) throws(Failure) in try client.status() }
        if isNew, let proof = status.vaultProof, try WordedSlots(of: mount).list().contains(where: \.isEscrow) {
            tellOfProof(proof, isNew: true)
        }
        if wait { return try RotationWatch(of: mount).wait() }
        guard let rotation = status.rotation else {
            return Standard.output("All files of \(status.mountPoint) have the new keys.")
        }
        let when = status.state == .unlocked ? "in the background" : "from the next unlock on"
        Standard.output("The files of \(status.mountPoint) are given new keys \(when): \(rotation.text).")
    }

    private func begin(_ mount: ServedMount) throws {
        try NewSecretFile.check(recoveryKeyFile)
        let slots = WordedSlots(of: mount)
        let present = try slots.list()
        let kind = kind(withoutPasscode: mount.status.hasPasscode == false)
        var opener = Opener(kind)
        var opened = 0
        let secret = try PasscodeTries.repeating(kind == .passcode && passcode.isAsked) { () throws(CommandError) in
            let secret = try read(kind, vault: mount.status.vault)
            // Finds a mistake before a new recovery key is shown in vain.
            opened = try lastTry.trying { (mayBeLast) throws(CommandError) in
                opener.mayBeLast = mayBeLast
                return try slots.test(opener, secret)
            }
            return secret
        }
        let lost = present.filter { $0.id != opened && $0.kind != SecretKind.escrowKey.rawValue }
        let recovery = lost.filter { $0.kind == SecretKind.recoveryKey.rawValue }
        try confirm(recovery.count == 1 ? lost.filter { $0.id != recovery[0].id } : lost, of: mount)
        guard !recovery.isEmpty else { return try begin(mount, opener, secret, recoveryKey: nil, dropping: lost) }
        let key = try newRecoveryKey()
        try NewSecretFile.handOut(key, to: recoveryKeyFile) { () throws(CommandError) in
            try begin(mount, opener, secret, recoveryKey: inWords(try key.pipe()), dropping: lost)
        }
        Standard.error("The old recovery key does not open the vault any more.")
    }

    private func newRecoveryKey() throws(CommandError) -> Secret {
        do { return try RecoveryKeyText.encode(RecoveryKeyText.generate()) } catch {
            throw CommandError(.failed, "\(error)")
        }
    }

    private func begin(
        _ mount: ServedMount, _ opener: Opener, _ secret: borrowing Secret, recoveryKey: Descriptor?,
        dropping lost: [Slot]
    ) throws(CommandError) {
        let new = NewRotation(
            opener, secret: try inWords(try secret.pipe()), recoveryKey: recoveryKey, dropping: lost.map(\.id))
        _ = try asking(mount) { (client) throws(Failure) in try client.rotate(new) }
    }

    private func kind(withoutPasscode isOpen: Bool) -> SecretKind {
        if keyFile != nil { return .keyFile }
        if securityKey { return .securityKey }
        return isOpen && !passcode.isGiven ? .noPasscode : .passcode
    }

    private func read(_ kind: SecretKind, vault: Path) throws(CommandError) -> Secret {
        if securityKey { return try SecurityKeys(of: vault, securityKeyOptions).secret() }
        if kind == .noPasscode { return try nothing() }
        if let keyFile { return try SecretSource.file(keyFile).read(.keyFile) }
        return try passcode.read(of: vault)
    }

    /// Asks the user to confirm that slots are removed.
    private func confirm(_ lost: [Slot], of mount: ServedMount) throws(CommandError) {
        guard !lost.isEmpty else { return }
        var table = Table()
        for slot in lost { table.add("\(slot.id)", "\(slot.kind)", "\(slot.name)") }
        Standard.error("These do not open the vault any more, and have to be added again:\n\(table.lines(indent: 2))")
        if yes { return }
        guard isatty(STDIN_FILENO) == 1 else {
            throw CommandError(
                .usage, "there is no terminal to ask at whether to go on; nothing was done",
                try: "latchkey rotate --yes \((argument ?? mount.status.mountPoint).quoted)")
        }
        Standard.error("Type yes to go on:")
        guard readLine() == "yes" else { throw CommandError(.failed, "nothing was done") }
    }

    private func asking<Result>(
        _ mount: ServedMount, _ question: (ControlClient) throws(Failure) -> Result
    ) throws(CommandError) -> Result {
        do throws(Failure) { return try question(mount.client) } catch {
            throw CommandError(error, at: mount.status.mountPoint)
        }
    }
}
