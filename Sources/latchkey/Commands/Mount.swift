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

            In a service of systemd, a credential named latchkey.passcode or latchkey.key-file unlocks at once.
            """
                + Examples.of(
                    "latchkey mount --unlock ~/vault ~/private",
                    "latchkey mount --unlock -o ro ~/vault ~/private",
                    "latchkey mount --recovery ~/vault ~/private"))

    @Flag(
        help: """
            Ask for the passcode, and unlock at once; implied by a passcode's source, a key file and a security key. \
            If it is wrong, nothing is mounted, and the exit code is 3.
            """)
    var unlock = false

    @OptionGroup var passcode: PasscodeOptions

    @Option(help: ArgumentHelp("Unlock with this key file instead of the passcode.", valueName: "file"))
    var keyFile: Path?

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
    var escrowKey: Path?

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

    @Option(
        help: ArgumentHelp(
            """
            Close class C as well, as lock --deep does, when the mount has been locked for so long: 1 to 8760 hours, \
            or a time as 90m or 3d. (default: what the policy says, else never)
            """, valueName: "hours"))
    var forgetAfter: ForgetTime?

    @OptionGroup var freeze: FreezeOptions
    @OptionGroup var lease: LeaseOptions

    @OptionGroup var storeRisk: StoreRiskOptions
    @OptionGroup var transport: TransportOptions
    @OptionGroup var freshness: FreshnessOptions

    @Option(
        help: ArgumentHelp(
            "Give the vault's root folder this class, which new files get, as latchkey class set does.",
            valueName: "class"))
    var classDefault: ClassArgument?

    @Option(
        name: .customShort("o"),
        help: ArgumentHelp(
            "Mount options, with commas between: ro, noexec, allow_other, dev, suid, fsname=NAME …",
            valueName: "options"),
        transform: textOnly)
    var options: [String] = []

    @Flag(
        inversion: .prefixedNo,
        help: """
            Let no program write into the bare folder DIR while nothing is mounted on it: it gets mode 0, or for root \
            the flag of chattr +i. (default: for a folder that latchkey has made)
            """)
    var guardMountPoint: Bool?

    @Flag(help: "Stay in the foreground until the mount ends.")
    var foreground = false

    /// For `executeAgain`: DIR was made for this mount, and goes if it fails.
    @Flag(help: .hidden) var madeMountPoint = false

    @Option(name: .customLong("ready-fd"), help: .hidden)
    var readyDescriptor: Int32?

    /// The kind of the secret that a detached daemon reads from its passcode descriptor.
    @Option(name: .customLong("secret-kind"), help: .hidden)
    var secretKind = SecretKind.passcode

    @Argument(help: ArgumentHelp("The folder with the ciphertext, or the name of a vault.", valueName: "vault"))
    var vault: Path

    @Argument(
        help: ArgumentHelp("An empty folder to mount it on. (default: what the configuration has)", valueName: "dir"))
    var directory: Path?

    func validate() throws {
        try recoveryKey.validate(with: recovery, passcode)
        let mountOptions = try MountOptions(parsing: options)
        guard 1...86_400 ~= lockWhenIdle ?? 1 else {
            throw ValidationError("--lock-when-idle takes 1 to 86400 seconds.")
        }
        guard 0...3600 ~= grace ?? 0 else { throw ValidationError("--grace takes 0 to 3600 seconds.") }
        if recovery, mountOptions.isReadOnly {
            throw ValidationError(
                "--recovery sets a new passcode, which a read-only mount cannot store. Mount it read-only, then: "
                    + "latchkey unlock --recovery DIR")
        }
        try freshness.validate(isReadOnly: mountOptions.isReadOnly)
        if let contradiction = contradictionOfShared(mountOptions) { throw ValidationError("\(contradiction).") }
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
        let (filled, made) = try self.filled()
        if foreground, directory == nil, let point = filled.directory {
            try executeAgain(at: point, isMade: made != nil, isGuarded: filled.guardMountPoint == true)
        }
        do { try filled.mount() } catch {
            made?.remove()
            throw error
        }
    }

    /// Mounts a named vault and unlocks it with a credential that the caller reads once the mount is known to be
    /// possible; nil for a vault that the device key alone opens.
    ///
    /// - Parameter isAsked: whether a person types it, who has three tries.
    func open(
        _ kind: SecretKind?, isAsked: Bool, _ lastTry: LastTryOptions, _ read: () throws(CommandError) -> Secret
    ) throws {
        let (filled, made) = try self.filled()
        do {
            let (vault, point, policy) = try filled.checked()
            guard let kind else { return try filled.detach(vault, at: point, nil, policy) }
            try PasscodeTries.repeating(isAsked) { () throws(CommandError) in
                let held = Unlocking(kind: kind, secret: try read())
                try lastTry.trying { (mayBeLast) throws(CommandError) in
                    try filled.detach(vault, at: point, held.handedOver(mayBeLast), policy)
                }
            }
        } catch {
            made?.remove()
            throw error
        }
    }

    /// Everything that can be wrong before the user is asked.
    private func checked() throws -> (AbsolutePath, AbsolutePath, PolicyInForce) {
        try SwappedArguments.refuse(vault: self.vault, mountPoint: mountPoint)
        let vault = try inWords(try AbsolutePath(ofVault: self.vault))
        let point = try MountPoint(mountPoint, for: vault, isGuarded: guardMountPoint == true).path
        try EndingDaemon(vault: vault).waitUntilEnded()
        try MountOptions(parsing: options).checkAllowOther()
        try freeze.checkKernel()
        if lease.isShared { try Self.checkIsSynchronised(self.vault, at: vault.path) }
        try transport.check(freezes: freeze.whenLocked == .freeze)
        return (vault, point, try strength.policy.inForce())
    }

    private func mount() throws {
        let (vault, point, policy) = try checked()
        if let readyDescriptor {
            let secret = try unlocking(for: vault, at: point, policy)?.handedOver(lastTry.lastTry)
            return try serve(configuration(vault, at: point, secret, policy), detachedTellingOn: readyDescriptor)
        }
        if foreground {
            try PasscodeTries.repeating(isAsked) { () throws(CommandError) in
                try lastTry.trying { (mayBeLast) throws(CommandError) in
                    // Read or asked for again for the last attempt: the daemon keeps no passcode.
                    let secret = try unlocking(for: vault, at: point, policy)?.handedOver(mayBeLast)
                    try serve(vault, at: point, secret, policy)
                }
            }
            return
        }
        try PasscodeTries.repeating(isAsked) { () throws(CommandError) in
            let held = try unlocking(for: vault, at: point, policy)
            try lastTry.trying { (mayBeLast) throws(CommandError) in
                try detach(vault, at: point, held?.handedOver(mayBeLast), policy)
            }
        }
    }

    /// Whether a passcode unlocks: a source of it says so, too.
    private var unlocks: Bool { unlock || (passcode.isGiven && !recovery) }

    /// Whether a person is asked for the passcode to unlock with.
    private var isAsked: Bool { unlocks && !recovery && keyFile == nil && !securityKey && passcode.isAsked }

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
                vault: vault, deviceKey: deviceKey, newPasscode: self.passcode.source, strength: strength,
                claim: lease.ofCommand)
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
                    .recoveryKey, recoveryKey.source.read(.recoveryKey.of(vault.path)), nil, isAllowed: isAllowed)
            }
            return Unlocking(kind: .passcode, secret: passcode, isNew: true)
        }
        if let keyFile {
            return Unlocking(kind: .keyFile, secret: try SecretSource.file(keyFile).read(.keyFile))
        }
        if securityKey {
            let derived = try SecurityKeys(of: vault.path, securityKeyOptions).secret()
            return Unlocking(kind: .securityKey, secret: derived)
        }
        if !unlocks, let credential = ServiceCredential.given() {
            return Unlocking(
                kind: credential.kind,
                secret: try credential.source.read(credential.kind == .keyFile ? .keyFile : .passcode))
        }
        // A vault without a passcode is unlocked at once, by the device key.
        guard unlocks, passcode.isGiven || !Self.hasNoPasscode(vault.path) else { return nil }
        let subject = readyDescriptor == nil ? SecretSource.Subject.passcode : .handedOver
        return Unlocking(
            kind: secretKind, secret: try passcode.read(subject, of: vault.path, deviceKey: deviceKey?.path))
    }

    /// Each machine needs a journal of its own.
    private static func checkIsSynchronised(_ vault: Path, at path: Path) throws(CommandError) {
        guard let store = try? DirectoryStore(path: path), let keybag = try? OpenKeybag.inspect(store),
            !keybag.isSynchronised
        else { return }
        throw CommandError(
            .failed, "--shared is for a synchronised vault, in which each machine has its own journal",
            try: "latchkey synchronise \(vault.quoted)")
    }

    static func hasNoPasscode(_ vault: Path) -> Bool {
        guard let store = try? DirectoryStore(path: vault) else { return false }
        return (try? OpenKeybag.inspect(store))?.hasNoPasscode ?? false
    }

    private func grace(_ policy: PolicyInForce) -> Int { grace ?? min(10, policy.longestGrace ?? 10) }

    private func configuration(
        _ vault: AbsolutePath, at point: AbsolutePath, _ secret: Configuration.Unlock?, _ policy: PolicyInForce
    ) throws(CommandError) -> Configuration {
        let mountOptions: MountOptions
        do { mountOptions = try MountOptions(parsing: options) } catch { throw CommandError(.usage, "\(error)") }
        var configuration = Configuration(vault: vault.path, mountPoint: point.path, version: Latchkey.version)
        configuration.options = mountOptions.ofLatchkey
        configuration.source = mountOptions.hasSource ? nil : vault.path
        configuration.readOnly = mountOptions.isReadOnly
        configuration.guardsMountPoint = guardMountPoint == true
        configuration.grace = .seconds(grace(policy))
        configuration.lockWhenIdle = (lockWhenIdle ?? policy.lockWhenIdleAfter).map { .seconds($0) }
        configuration.forgetAfter = (forgetAfter ?? policy.forgetAfter.map { ForgetTime(hours: $0) }).map {
            .seconds($0.seconds)
        }
        configuration.rootClass = classDefault?.protectionClass
        configuration.policyPath = strength.policy.policy
        freeze.apply(to: &configuration)
        lease.apply(to: &configuration)
        transport.apply(to: &configuration)
        freshness.apply(to: &configuration, policy)
        configuration.acceptsStoreRisk = storeRisk.accepts
        configuration.deviceKeyPath = deviceKey?.path
        configuration.unlock = secret
        configuration.words = { CommandError($0, of: vault.path).message.text }
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

    private func warnOfOlderKeybag() {
        Standard.error(
            "latchkey: warning: the keybag of \(vault) is older than the newest one that this machine has seen. The "
                + "vault is only read, and a passcode or key that was changed or removed since does not unlock it")
    }

    /// Starts a detached daemon, and returns when it has mounted the vault.
    private func detach(
        _ vault: AbsolutePath, at point: AbsolutePath, _ secret: Configuration.Unlock?, _ policy: PolicyInForce
    ) throws(CommandError) {
        var arguments: [Path] = [
            "mount", "--foreground", "--ready-fd", "\(STDOUT_FILENO)", "--grace", "\(grace(policy))",
        ]
        if let lockWhenIdle { arguments += ["--lock-when-idle", "\(lockWhenIdle)"] }
        if let forgetAfter { arguments += ["--forget-after", Path(forgetAfter.text)] }
        if let file = strength.policy.policy { arguments += ["--policy", AbsolutePath(lexically: Path(file)).path] }
        arguments += freeze.arguments.map { Path($0) } + lease.arguments + transport.arguments
        arguments += freshness.arguments
        if storeRisk.accepts { arguments += ["--store-risk", "accept"] }
        if let classDefault { arguments += ["--class-default", Path(classDefault.protectionClass.name)] }
        if guardMountPoint == true { arguments.append("--guard-mount-point") }
        arguments += options.flatMap { ["-o", Path($0)] }
        if let path = deviceKey?.path { arguments += ["--device-key", AbsolutePath(lexically: path).path] }
        if let secret {
            arguments += [
                "--unlock", "--passcode-fd", "\(STDIN_FILENO)", "--secret-kind",
                Path(secret.opener.kind.rawValue),
            ]
            if secret.opener.mayBeLast { arguments.append("--last-try") }
        }
        arguments += ["--", vault.path, point.path]
        let isAutomount = (try? MountTable())?.mount(at: point.path)?.type == "autofs"
        let daemon = try DetachedDaemon(arguments, passcode: secret?.secret, isAutomount: isAutomount)
        var isOlder = false
        do throws(Failure) {
            let readiness = try daemon.waitUntilReady()
            StoreRiskOptions.warn(readiness.warnings ?? [], of: self.vault)
            isOlder = readiness.hasOlderKeybag ?? false
            if isOlder { warnOfOlderKeybag() }
        } catch {
            throw CommandError(error, mounting: self.vault, on: mountPoint)
        }
        let mount = try? PathArgument.mount(of: point.path)
        if let mount { DeviceKeyExposure(of: mount)?.warn() }
        try freshness.settle(mount, isAsked: readyDescriptor == nil)
        guard secret == nil else { return }
        if !isOlder, Self.hasNoPasscode(vault.path) {
            Standard.output(
                "\(point.path) is mounted. It has no passcode, and is not protected: "
                    + "encrypted with the device key alone."
            )
            Standard.output("  try: latchkey passwd \(mountPoint.quoted)")
        } else {
            Standard.output("\(point.path) is mounted; only files of class D can be read before the first unlock.")
            Standard.output("  try: latchkey unlock \(mountPoint.quoted)")
        }
    }
}
