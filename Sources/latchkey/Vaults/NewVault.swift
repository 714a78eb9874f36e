import Administration
import Crypto
import Failure
import Format
import Keybag
import Policy
import Posix

/// A vault that a command makes. It shows the recovery key before the vault exists: no vault must exist whose recovery
/// key the user never saw.
struct NewVault {
    /// What opens it first.
    struct First: ~Copyable {
        let kind: SecretKind
        let secret: Secret
    }

    let folder: FreshFolder
    let path: Path
    private let options: NewVaultOptions
    private let hasPasscode: Bool
    private let escrow: [[UInt8]]
    private let eraseAfter: UInt8
    private let defaultClass: ProtectionClass
    /// The program that copies the folder to other machines, if there is a mark of one.
    private let synchroniser: Synchroniser?

    /// Checks everything that can be wrong before the user is asked; makes nothing yet.
    ///
    /// - Parameter standardClass: the class of new files if neither the options nor the policy have one.
    init(
        at path: Path, _ options: NewVaultOptions, hasPasscode: Bool,
        or standardClass: ProtectionClass = .completeUntilFirstUserAuthentication
    ) throws(CommandError) {
        self.path = path
        self.options = options
        self.hasPasscode = hasPasscode
        let policy = try options.strength.policy.inForce()
        folder = try withKeybag(of: path) { () throws(Failure) in try FreshFolder(path) }
        try inWords(try NewSecretFile.check(options.recoveryKeyFile))
        synchroniser = Synchroniser.copying(folder.path.path)
        escrow = try options.recoveryPublicKey.map { (path) throws(CommandError) in
            try EscrowKeyFile.publicKey(in: path)
        }
        eraseAfter = options.eraseAfter ?? UInt8(clamping: min(policy.eraseAfter ?? 0, 250))
        defaultClass = options.defaultClass?.protectionClass ?? policy.defaultClass(or: standardClass)
        try check(policy)
    }

    /// Makes the vault, and tells of it.
    ///
    /// - Parameter preparing: makes what the vault's folder needs.
    func make(_ first: borrowing First, preparing: () throws(CommandError) -> Void) throws {
        do {
            try preparing()
            try folder.make()
            let cost = try options.cost.cost(for: .milliseconds(500))
            var plan = VaultCreation.Plan(defaultClass: defaultClass, cost: cost)
            plan.escrow = escrow
            plan.isSynchronised = options.synchronised.map { $0 == .yes } ?? (synchroniser != nil)
            plan.allowsWeak = options.strength.weak
            plan.eraseAfter = eraseAfter
            plan.deviceKeyPath = options.deviceKey?.path
            plan.acceptsStoreRisk = options.storeRisk.accepts
            plan.deviceKeyKind = DeviceKeyArgument.kind(options.deviceKey, options.pcrs.pcrs ?? .none)
            let recoveryKey = try RecoveryKeyText.generate()
            let text = try RecoveryKeyText.encode(recoveryKey)
            // The first that leaves a file, which `make` takes away if it fails.
            let creation = try withKeybag(of: path) { () throws(Failure) in try VaultCreation(in: folder, plan) }
            let made = try creation.make(first.kind, first.secret, recoveryKey: recoveryKey) {
                (make) throws(CommandError) in
                try NewSecretFile.handOut(text, to: options.recoveryKeyFile) { () throws(CommandError) in
                    try withKeybag(of: path, make)
                }
            }
            tell(made)
            if !escrow.isEmpty, let proof = made.proof { tellOfProof(proof.text) }
            tellOfPasscode(first.secret, cost)
        } catch {
            folder.remove()
            throw error
        }
    }

    /// Throws unless the policy allows such a vault.
    private func check(_ policy: PolicyInForce) throws(CommandError) {
        var facts = Facts()
        facts.defaultClass = defaultClass
        facts.erasure = eraseAfter > 0 ? .after(Int(eraseAfter)) : .never
        facts.escrowKeys = escrow
        facts.deviceKey = options.deviceKey?.isSealed == true ? .tpm2 : .software
        // No passcode counts as the weakest one.
        if !hasPasscode { facts.passcodeScore = 0 }
        if let violation = policy.violations(of: facts).first { throw CommandError(forbidden: violation) }
    }

    private func tellOfPasscode(_ passcode: borrowing Secret, _ cost: Argon2Cost) {
        if !hasPasscode {
            Standard.output("It has no passcode, and is not protected: encrypted with the device key alone.")
        } else if let advice = PasscodeAdvice(passcode, cost: cost) {
            Standard.output("\(advice.text)")
        }
        if eraseAfter > 0 {
            Standard.output("\(eraseAfter) wrong passcodes in a row destroy its keys: then nothing opens it any more.")
        }
    }

    private func tell(_ made: VaultCreation.Made) {
        if let recoveryKeyFile = options.recoveryKeyFile {
            Standard.output("The recovery key is in \(recoveryKeyFile). Keep it away from this machine.")
        }
        Standard.output(
            """
            It opens the vault without the passcode and the device key. If it is lost, and one of
            these is lost too, the data is lost.

            The device key lies in \(made.deviceKeyPath).
            """)
        if options.deviceKey?.isSealed == true {
            Standard.output(
                """
                The TPM of this machine has sealed it: a thief of the disk alone reads nothing. A thief of the whole
                machine can start it, and reads names, sizes, extended attributes and files of class D; the TPM counts
                wrong passcodes.
                """)
        } else {
            Standard.output(
                """
                It is a file, and no secret from a thief of the whole disk, who then reads names, sizes, extended
                attributes and files of class D, and can try passcodes for the others.
                """)
        }
        if !made.hasAttributes {
            Standard.output("The folder takes no extended attributes: Latchkey keeps them in files of its own.")
        }
        if options.synchronised == nil, let synchroniser {
            Standard.output(
                "\(synchroniser.rawValue) copies the folder between machines: they may change the vault in turns.")
        }
        Standard.output("New files are of class \(ProtectionClassName(defaultClass).text).")
    }
}
