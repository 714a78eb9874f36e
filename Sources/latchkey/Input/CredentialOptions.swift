import Administration
import ArgumentParser
import Control
import Crypto
import Failure
import Keybag
import Posix

/// What opens the vault: the passcode unless an option names something else.
struct CredentialOptions: ParsableArguments {
    @OptionGroup var passcode: PasscodeOptions

    @Flag(help: "Use the recovery key instead of the passcode.")
    var recovery = false

    @OptionGroup var recoveryKey: RecoveryKeyOptions

    @Option(help: ArgumentHelp("Use this key file instead of the passcode.", valueName: "file"))
    var keyFile: Path?

    @Option(
        help: ArgumentHelp("Use this X25519 private key, in PEM, instead of the passcode.", valueName: "file"))
    var escrowKey: Path?

    @Flag(name: .customLong("fido2"), help: "Use a security key instead of the passcode.")
    var securityKey = false

    @OptionGroup var securityKeyOptions: SecurityKeyOptions

    @OptionGroup var lastTry: LastTryOptions

    func validate() throws {
        try recoveryKey.validate(with: recovery, passcode)
        let ways = [passcode.isGiven, recovery, keyFile != nil, escrowKey != nil, securityKey].count { $0 }
        guard ways <= 1 else {
            throw ValidationError(
                "One thing opens a vault: passcode, recovery key, key file, escrow key or security key.")
        }
    }

    /// Whether any of the options was given.
    var isGiven: Bool { passcode.isGiven || recovery || keyFile != nil || escrowKey != nil || securityKey }

    var kind: SecretKind {
        if recovery { return .recoveryKey }
        if keyFile != nil { return .keyFile }
        if securityKey { return .securityKey }
        return escrowKey != nil ? .escrowKey : .passcode
    }

    /// The same for a vault that may have no passcode: then the user is asked for none.
    func kind(withoutPasscode isOpen: Bool) -> SecretKind { isOpen && !isGiven ? .noPasscode : kind }

    func kind(for slots: WordedSlots) throws(CommandError) -> SecretKind {
        kind(withoutPasscode: try slots.list().contains { $0.kind == SecretKind.noPasscode.rawValue })
    }

    /// Asks for the secret, or reads it.
    ///
    /// - Parameters:
    ///   - vault: its path; its keybag holds what a security key needs.
    ///   - deviceKey: the path of its device key, if the user has given one.
    ///   - isAddingKey: the security key options are for another key, which is to be added.
    func read(
        _ kind: SecretKind, vault: Path, deviceKey: Path? = nil, isAddingKey: Bool = false
    ) throws(CommandError) -> Secret {
        if securityKey { return try SecurityKeys(of: vault, securityKeyOptions).secret() }
        guard isAddingKey || !securityKeyOptions.isGiven else {
            throw CommandError(.usage, "the options of a security key go with --fido2", try: "the same with --fido2")
        }
        guard kind == .noPasscode else { return try read(vault, deviceKey) }
        return try nothing()
    }

    /// Whether a secret of this kind is a passcode that a person is asked for.
    func asks(_ kind: SecretKind) -> Bool { kind == .passcode && passcode.isAsked }

    private func read(_ vault: Path, _ deviceKey: Path?) throws(CommandError) -> Secret {
        if let keyFile { return try SecretSource.file(keyFile).read(.keyFile) }
        if let escrowKey { return try EscrowKeyFile.privateKey(in: escrowKey) }
        return recovery
            ? try recoveryKey.source.read(.recoveryKey.of(vault)) : try passcode.read(of: vault, deviceKey: deviceKey)
    }
}

/// The secret of a credential that has none.
func nothing() throws(CommandError) -> Secret {
    do { return try Secret(count: 1) } catch { throw CommandError(.failed, "\(error)") }
}

extension SecretKind {
    /// As in "the … is wrong".
    var text: String {
        switch self {
        case .passcode: "passcode"
        case .recoveryKey: "recovery key"
        case .keyFile: "key file"
        case .escrowKey: "private key"
        case .securityKey: "security key"
        case .noPasscode: "device key alone"
        }
    }
}

extension SecretKind: ExpressibleByArgument {}

extension Credential? {
    /// From a secret that the caller keeps.
    init(_ kind: SecretKind, _ secret: borrowing Secret, mayBeLast: Bool) throws(CommandError) {
        do throws(Failure) { self = try Credential(Opener(kind, mayBeLast: mayBeLast), reading: secret) } catch {
            throw CommandError(error)
        }
    }

    /// From a secret of a kind that was read; nil for no secret.
    init(_ opener: Opener, _ secret: borrowing Secret?) throws(Failure) {
        switch secret {
        case .none: self = nil
        case .some(let secret): self = try Credential(opener, reading: secret)
        }
    }
}
