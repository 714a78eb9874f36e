import Administration
import ArgumentParser
import Daemon
import DeviceKeys
import Failure
import Keybag
import TPM

extension DeviceKeyCommand {
    struct Rebind: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Keep the device key of a vault otherwise: in the TPM, with other PCRs, or as a file.",
            discussion: """
                The key stays the same, and so do recovery keys, escrow keys and key files. Between a file and the TPM the \
                passcode is taken, and made one for the other; other passcodes go, for the TPM would not count wrong ones of \
                them, or not release them. With the TPM as before it is bound to the registers as they are now. The same again \
                ends what was broken off. The vault must not be mounted.
                """)

        enum Kind: String, ExpressibleByArgument, CaseIterable {
            case tpm2, software
        }

        @OptionGroup var passcode: PasscodeOptions
        @OptionGroup var strength: StrengthOptions
        @OptionGroup var lastTry: LastTryOptions
        @OptionGroup var pcrs: PCROptions

        @Option(help: ArgumentHelp("Where it lies.", valueName: "path"))
        var deviceKey: DeviceKeyArgument?

        @Argument(help: ArgumentHelp("tpm2 or software.", valueName: "kind"))
        var kind: Kind

        @Argument(help: ArgumentHelp("The vault.", valueName: "vault"))
        var vault: String

        func validate() throws {
            if pcrs.pcrs != nil, kind == .software { throw ValidationError("--pcrs is for a TPM.") }
        }

        func run() throws {
            let kept = try KeptDeviceKey.of(vault, at: deviceKey?.path)
            let folder = try withKeybag(of: kept.vault.text) { () throws(Failure) in
                try VaultFolder(kept.vault)
            }
            defer { withExtendedLifetime(folder) {} }
            let kind: DeviceKeyKind = kind == .software ? .software : .tpm2(pcrs.pcrs ?? kept.kind.pcrs)
            try strength.policy.check(isGuarded: kind != .software)
            let key = try kept.loaded()
            let keybag = try withKeybag(of: vault) { () throws(Failure) in
                // What a killed attempt has left beside it may be the key.
                DeviceKeyFile.removeLeftover(of: kept.path)
                return try OpenKeybag.open(
                    in: folder.store, deviceKey: DeviceKeyPlace.key(key, at: kept.path, as: kept.kind))
            }
            let isSame = kind.name == kept.kind.name
            if keybag.hasPasscode, !isSame || !keybag.isBound {
                try change(keybag, kept, key, to: kind, in: folder)
            } else {
                try withKeybag(of: vault) { () throws(Failure) in
                    try DeviceKeyPlace.keep(key, at: kept.path, as: kind)
                }
            }
            Standard.output("The device key of \(vault) is kept anew. \(kind.text)")
        }

        /// In an order in which the passcode opens the vault after each step, whatever ends this between two; the same again ends
        /// what was broken off.
        private func change(
            _ keybag: OpenKeybag, _ kept: KeptDeviceKey, _ key: borrowing DeviceKey, to kind: DeviceKeyKind,
            in folder: VaultFolder
        ) throws(CommandError) {
            let secret = try passcode.source.read(.passcode)
            try strength.check(secret, isGuarded: kind != .software)
            // A mistake must not cost anything.
            var isLast = false
            try lastTry.trying { (mayBeLast) throws(CommandError) in
                isLast = mayBeLast
                try withKeybag(of: vault) { () throws(Failure) in
                    _ = try keybag.slot(openedBy: Credential(.passcode, reading: secret, mayBeLast: mayBeLast))
                }
            }
            try withKeybag(of: vault) { () throws(Failure) in
                let credential = try Credential(.passcode, reading: secret, mayBeLast: isLast)
                var added: UInt32?
                if kind == .software, kept.kind != .software {
                    let plain = try DeviceKeyPlace.key(key, at: kept.path, as: .software)
                    added = try keybag.addSlot(for: plain, opening: credential, allowingWeak: strength.weak)
                }
                do throws(Failure) { try DeviceKeyPlace.keep(key, at: kept.path, as: kind) } catch {
                    // Unless it is kept so all the same, and the failure came after that.
                    if let added, (try? DeviceKeyPlace.kind(at: kept.path)) == kept.kind {
                        try? keybag.removeSlot(added, opening: credential)
                    }
                    throw error
                }
                // As the next command will find it.
                let device = try DeviceKeyPlace.load(path: kept.path)
                let again = try OpenKeybag.open(in: folder.store, deviceKey: device)
                try again.bindPasscode(opening: credential, allowingWeak: strength.weak)
            }
        }
    }
}

extension DeviceKeyKind {
    /// To which a TPM binds it.
    fileprivate var pcrs: PCRSelection {
        switch self {
        case .software: .none
        case .tpm2(let pcrs): pcrs
        }
    }
}
