import Administration
import ArgumentParser
import Control
import Crypto
import Daemon
import DeviceKeys
import Failure
import Format
import Glibc
import Keybag
import Policy
import Posix
import Store

/// `latchkey mount`: shows a vault's files in a folder.
struct Mount: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Mount a vault: its files appear in DIR.",
        discussion: """
            Returns when the vault is mounted, before the first unlock: only files of class D can be read. The daemon \
            writes to the system's log, or with --foreground to standard error. SIGUSR1 locks, SIGTERM unmounts.
            """)

    @Flag(
        help: """
            Ask for the passcode, and unlock at once; implied by a key file and by a security key. If it is wrong, \
            nothing is mounted, and the exit code is 3.
            """)
    var unlock = false

    @OptionGroup var passcode: PasscodeOptions

    @Option(help: ArgumentHelp("Unlock with this key file instead of the passcode.", valueName: "file"))
    var keyFile: String?

    @Flag(name: .customLong("fido2"), help: "Unlock with a security key instead of the passcode.")
    var securityKey = false

    @OptionGroup var securityKeyOptions: SecurityKeyOptions

    @OptionGroup var lastTry: LastTryOptions

    @Flag(
        help: """
            For a vault whose device key or passcode is lost: takes the recovery key and a new passcode, makes a \
            device key if there is none, and unlocks. The slots that need the old device key are removed.
            """)
    var recovery = false

    @OptionGroup var recoveryKey: RecoveryKeyOptions
    @OptionGroup var strength: StrengthOptions

    @Option(
        help: ArgumentHelp(
            "With --recovery: use this X25519 private key, in PEM, instead of the recovery key.", valueName: "file"))
    var escrowKey: String?

    @OptionGroup var proof: VaultProofOptions

    @Option(
        help: ArgumentHelp(
            "Path of the device key. With --recovery, tpm2 makes a new one that the TPM seals.", valueName: "path"))
    var deviceKey: DeviceKeyArgument?

    @Option(
        help: ArgumentHelp(
            "Seconds from a lock until the keys are gone, 0 to 3600. (default: 10, or what the policy allows)",
            valueName: "seconds"))
    var grace: Int?

    @Option(
        help: ArgumentHelp(
            "Lock after this time without use of the mount, 1 to 86400. (default: what the policy says, else never)",
            valueName: "seconds"))
    var lockWhenIdle: Int?

    @OptionGroup var freeze: FreezeOptions

    @Option(
        name: .customShort("o"),
        help: ArgumentHelp(
            "Mount options, with commas between: ro, noexec, allow_other, dev, suid, fsname=NAME …",
            valueName: "options"))
    var options: [String] = []

    @Flag(help: "Stay in the foreground until the mount ends.")
    var foreground = false

    @Option(name: .customLong("ready-fd"), help: .hidden)
    var readyDescriptor: Int32?

    /// The kind of the secret that a detached daemon reads from its passcode descriptor.
    @Option(name: .customLong("secret-kind"), help: .hidden)
    var secretKind = SecretKind.passcode

    @Argument(help: ArgumentHelp("The folder with the ciphertext.", valueName: "vault"))
    var vault: String

    @Argument(help: ArgumentHelp("An empty folder to mount it on.", valueName: "dir"))
    var mountPoint: String

    func validate() throws {
        try recoveryKey.validate(with: recovery, passcode)
        _ = try MountOptions(parsing: options)
        guard 1...86_400 ~= lockWhenIdle ?? 1 else {
            throw ValidationError("--lock-when-idle takes 1 to 86400 seconds.")
        }
        guard 0...3600 ~= grace ?? 0 else { throw ValidationError("--grace takes 0 to 3600 seconds.") }
        if passcode.isGiven, !unlock, !recovery {
            throw ValidationError("A passcode is of use only with --unlock or --recovery.")
        }
        if strength.weak, !recovery { throw ValidationError("--weak is of use only with --recovery.") }
        if escrowKey != nil, !recovery { throw ValidationError("--escrow-key needs --recovery.") }
        if proof.isGiven, escrowKey == nil { throw ValidationError("A vault's proof goes with --escrow-key.") }
        if escrowKey != nil, recoveryKey.recoveryKeyFile != nil {
            throw ValidationError("--escrow-key and --recovery-key-file exclude each other.")
        }
        if keyFile != nil, passcode.isGiven || recovery {
            throw ValidationError("A key file takes the place of the passcode.")
        }
        if securityKey, passcode.isGiven || recovery || keyFile != nil {
            throw ValidationError("A security key takes the place of the passcode.")
        }
        if securityKeyOptions.isGiven, !securityKey {
            throw ValidationError("The options of a security key go with --fido2.")
        }
    }

    func run() throws {
        let vault = try inWords(try AbsolutePath(ofVault: self.vault))
        let point = try MountPoint(mountPoint, for: vault).path
        try EndingDaemon(vault: vault).waitUntilEnded()
        try MountOptions(parsing: options).checkAllowOther()
        try freeze.checkKernel()
        let policy = try strength.policy.inForce()
        if let readyDescriptor {
            let secret = try unlocking(for: vault, at: point, policy)?.handedOver(lastTry.lastTry)
            return try serve(configuration(vault, at: point, secret, policy), detachedTellingOn: readyDescriptor)
        }
        if foreground {
            try lastTry.trying { (mayBeLast) throws(CommandError) in
                // Read or asked for again for the last attempt: the daemon keeps no passcode.
                let secret = try unlocking(for: vault, at: point, policy)?.handedOver(mayBeLast)
                try serve(vault, at: point, secret, policy)
            }
            return
        }
        let held = try unlocking(for: vault, at: point, policy)
        try lastTry.trying { (mayBeLast) throws(CommandError) in
            try detach(vault, at: point, held?.handedOver(mayBeLast), policy)
        }
    }

    /// The credential to unlock with.
    private struct Unlocking: ~Copyable {
        let kind: SecretKind
        let secret: Secret
        /// A passcode that was just set is not counted as a guess.
        var isNew = false

        func handedOver(_ mayBeLast: Bool) throws(CommandError) -> Configuration.Unlock {
            Configuration.Unlock(Opener(kind, mayBeLast: mayBeLast || isNew), secret: try inWords(try secret.pipe()))
        }
    }

    /// Nil to mount locked.
    private func unlocking(
        for vault: AbsolutePath, at point: AbsolutePath, _ policy: PolicyInForce
    ) throws(CommandError) -> Unlocking? {
        if recovery {
            let recovery = RecoveryDialogue(
                vault: vault, deviceKey: deviceKey, newPasscode: self.passcode.source, strength: strength)
            let configuration = try configuration(vault, at: point, nil, policy)
            let isAllowed = { (keybag: KeybagFile, isGuarded: Bool) throws(CommandError) in
                do throws(Failure) { try policy.check(keybag, isGuarded: isGuarded, configuration) } catch {
                    throw CommandError(error, mounting: self.vault, on: mountPoint)
                }
            }
            let passcode: Secret
            if let escrowKey {
                passcode = try recovery.run(
                    .escrowKey, EscrowKeyFile.privateKey(in: escrowKey), proof, isAllowed: isAllowed)
            } else {
                passcode = try recovery.run(
                    .recoveryKey, recoveryKey.source.read(.recoveryKey), nil, isAllowed: isAllowed)
            }
            return Unlocking(kind: .passcode, secret: passcode, isNew: true)
        }
        if let keyFile {
            return Unlocking(kind: .keyFile, secret: try SecretSource.file(keyFile).read(.keyFile))
        }
        if securityKey {
            let derived = try SecurityKeys(of: vault.text, securityKeyOptions).secret()
            return Unlocking(kind: .securityKey, secret: derived)
        }
        // A vault without a passcode is unlocked at once, by the device key.
        guard unlock, passcode.isGiven || !Self.hasNoPasscode(vault) else { return nil }
        return Unlocking(kind: secretKind, secret: try passcode.source.read(.passcode))
    }

    private static func hasNoPasscode(_ vault: AbsolutePath) -> Bool {
        guard let store = try? DirectoryStore(path: vault.text) else { return false }
        return (try? OpenKeybag.inspect(store))?.hasNoPasscode ?? false
    }

    private func grace(_ policy: PolicyInForce) -> Int { grace ?? min(10, policy.longestGrace ?? 10) }

    private func configuration(
        _ vault: AbsolutePath, at point: AbsolutePath, _ secret: Configuration.Unlock?, _ policy: PolicyInForce
    ) throws(CommandError) -> Configuration {
        let mountOptions: MountOptions
        do { mountOptions = try MountOptions(parsing: options) } catch { throw CommandError(.usage, "\(error)") }
        var configuration = Configuration(vault: vault.text, mountPoint: point.text, version: Latchkey.version)
        configuration.options = mountOptions.options(for: vault)
        configuration.readOnly = mountOptions.isReadOnly
        configuration.grace = .seconds(grace(policy))
        configuration.lockWhenIdle = (lockWhenIdle ?? policy.lockWhenIdleAfter).map { .seconds($0) }
        configuration.policyPath = strength.policy.policy
        freeze.apply(to: &configuration)
        configuration.deviceKeyPath = deviceKey?.path
        configuration.unlock = secret
        configuration.words = { CommandError($0, of: vault.text).message.text }
        return configuration
    }

    /// Runs the daemon in this process until the mount ends.
    private func serve(
        _ vault: AbsolutePath, at point: AbsolutePath, _ secret: Configuration.Unlock?, _ policy: PolicyInForce
    ) throws(CommandError) {
        let configuration = try configuration(vault, at: point, secret, policy)
        do throws(Failure) { try DaemonProcess.run(configuration) } catch {
            throw CommandError(error, mounting: self.vault, on: mountPoint)
        }
    }

    /// Runs the daemon in a detached process. The command that started it gets a failure over the pipe, reports it, and
    /// asks the user if necessary.
    private func serve(_ configuration: Configuration, detachedTellingOn readyDescriptor: Int32) throws(Ended) {
        var configuration = configuration
        configuration.isDetached = true
        configuration.log = .system
        configuration.readiness = Descriptor(owning: dup(readyDescriptor))
        do throws(Failure) { try DaemonProcess.run(configuration) } catch {
            throw Ended(code: CommandError(error, mounting: self.vault, on: mountPoint).code)
        }
    }

    /// Starts a detached daemon, and returns when it has mounted the vault.
    private func detach(
        _ vault: AbsolutePath, at point: AbsolutePath, _ secret: Configuration.Unlock?, _ policy: PolicyInForce
    ) throws(CommandError) {
        var arguments = ["mount", "--foreground", "--ready-fd", "\(STDOUT_FILENO)", "--grace", "\(grace(policy))"]
        if let lockWhenIdle { arguments += ["--lock-when-idle", "\(lockWhenIdle)"] }
        if let file = strength.policy.policy { arguments += ["--policy", AbsolutePath(lexically: file).text] }
        arguments += freeze.arguments
        arguments += options.flatMap { ["-o", $0] }
        if let path = deviceKey?.path { arguments += ["--device-key", AbsolutePath(lexically: path).text] }
        if let secret {
            arguments += [
                "--unlock", "--passcode-fd", "\(STDIN_FILENO)", "--secret-kind", secret.opener.kind.rawValue,
            ]
            if secret.opener.mayBeLast { arguments.append("--last-try") }
        }
        arguments += ["--", vault.text, point.text]
        let daemon = try DetachedDaemon(arguments, passcode: secret?.secret)
        do throws(Failure) { try daemon.waitUntilReady() } catch {
            throw CommandError(error, mounting: self.vault, on: mountPoint)
        }
        if let mount = try? PathArgument.mount(of: point.text) { DeviceKeyExposure(of: mount)?.warn() }
        guard secret == nil else { return }
        if Self.hasNoPasscode(vault) {
            Standard.output(
                "\(point.text) is mounted. It has no passcode, and is not protected: "
                    + "encrypted with the device key alone."
            )
            Standard.output("  try: latchkey passwd \(mountPoint.quoted)")
        } else {
            Standard.output("\(point.text) is mounted; only files of class D can be read before the first unlock.")
            Standard.output("  try: latchkey unlock \(mountPoint.quoted)")
        }
    }
}
