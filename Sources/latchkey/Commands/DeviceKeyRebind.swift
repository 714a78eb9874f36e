import Administration
import ArgumentParser
import DeviceKeys
import Failure
import Posix
import TPM

extension DeviceKeyCommand {
    struct Rebind: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Keep the device key of a vault in the TPM or in a file, or bind it to other PCRs.",
            discussion: """
                The key stays the same, and so do recovery keys, escrow keys and key files. When the key moves between \
                a file and the TPM, the command takes the passcode and makes its slot anew; other passcodes are \
                removed, because the TPM could not count wrong guesses of them, or would not release them. If the key \
                stays in the TPM, it is bound to the present values of the registers. To finish an interrupted \
                rebind, run the same command again. The vault must not be mounted.
                """
                    + Examples.of(
                        "latchkey device-key rebind tpm2 ~/vault",
                        "latchkey device-key rebind --pcrs 0,2,7 tpm2 ~/vault"))

        enum Kind: String, ExpressibleByArgument, CaseIterable {
            case tpm2, software
        }

        @OptionGroup var passcode: PasscodeOptions
        @OptionGroup var strength: StrengthOptions
        @OptionGroup var lastTry: LastTryOptions
        @OptionGroup var pcrs: PCROptions

        @Option(help: ArgumentHelp("Path of the device key.", valueName: "path"))
        var deviceKey: DeviceKeyArgument?

        @Argument(help: ArgumentHelp("tpm2 or software.", valueName: "kind"))
        var kind: Kind

        @Argument(help: ArgumentHelp("The vault.", valueName: "vault"))
        var vault: Path

        func validate() throws {
            if pcrs.pcrs != nil, kind == .software { throw ValidationError("--pcrs is for a TPM.") }
        }

        func run() throws {
            let kept = try KeptDeviceKey.of(vault, at: deviceKey?.path)
            let kind: DeviceKeyKind = kind == .software ? .software : .tpm2(pcrs.pcrs ?? kept.kind.pcrs)
            try strength.policy.check(isGuarded: kind != .software)
            let rebinding = try withKeybag(of: vault) { () throws(Failure) in
                try DeviceKeyRebinding(of: kept, to: kind, .ofCommand)
            }
            if rebinding.needsPasscode {
                try run(rebinding, isGuarded: kind != .software)
            } else {
                try withKeybag(of: vault) { () throws(Failure) in try rebinding.run() }
            }
            Standard.output("The device key of \(vault) is kept anew. \(kind.text)")
        }

        private func run(_ rebinding: borrowing DeviceKeyRebinding, isGuarded: Bool) throws(CommandError) {
            var isLast = false
            let secret = try PasscodeTries.repeating(passcode.isAsked) { () throws(CommandError) in
                let secret = try passcode.read(of: vault, deviceKey: deviceKey?.path)
                try strength.check(secret, isGuarded: isGuarded)
                try lastTry.trying { (mayBeLast) throws(CommandError) in
                    isLast = mayBeLast
                    try withKeybag(of: vault) { () throws(Failure) in
                        try rebinding.check(secret, mayBeLast: mayBeLast)
                    }
                }
                return secret
            }
            try withKeybag(of: vault) { () throws(Failure) in
                try rebinding.run(secret, mayBeLast: isLast, allowingWeak: strength.weak)
            }
        }
    }
}

extension DeviceKeyKind {
    /// The PCRs to which a TPM binds the key.
    fileprivate var pcrs: PCRSelection {
        switch self {
        case .software: .none
        case .tpm2(let pcrs): pcrs
        }
    }
}
