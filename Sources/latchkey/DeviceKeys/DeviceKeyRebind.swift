import ArgumentParser
import Daemon
import DeviceKeys
import Keybag
import TPM

extension DeviceKeyCommand {
    struct Rebind: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Keep the device key of a vault otherwise: in the TPM, with other PCRs, or as a file.",
            discussion: """
                The key stays the same, and so do recovery keys, escrow keys and key files. Between a file and the TPM the \
                passcode is taken, and made one for the other; other passcodes go, for the TPM would not count wrong ones of \
                them, or not release them. With the TPM as before, only the registers are chosen anew, as they are now. The \
                vault must not be mounted.
                """)

        enum Kind: String, ExpressibleByArgument, CaseIterable {
            case tpm2, software
        }

        @OptionGroup var passcode: PasscodeOptions
        @OptionGroup var pcrs: PCROptions

        @Option(help: ArgumentHelp("Where it lies.", valueName: "path"))
        var deviceKey: String?

        @Argument(help: ArgumentHelp("tpm2 or software.", valueName: "kind"))
        var kind: Kind

        @Argument(help: ArgumentHelp("The vault.", valueName: "vault"))
        var vault: String

        func validate() throws {
            if pcrs.pcrs != nil, kind == .software { throw ValidationError("--pcrs is for a TPM.") }
        }

        func run() throws {
            let kept = try KeptDeviceKey(of: vault, at: deviceKey)
            let folder = try VaultFolder(kept.vault)
            defer { withExtendedLifetime(folder) {} }
            let kind: DeviceKeyKind = kind == .software ? .software : .tpm2(pcrs.pcrs ?? .none)
            let key = try kept.load()
            let keybag = try withKeybag(of: vault) { () throws(KeybagError) in
                try OpenKeybag.open(in: folder.store, deviceKey: DeviceKeyPlace.key(key, at: kept.path, as: kept.kind))
            }
            if kind.name == kept.kind.name || !keybag.hasPasscode {
                try withKeybag(of: vault) { () throws(KeybagError) in
                    try DeviceKeyPlace.keep(key, at: kept.path, as: kind)
                }
            } else {
                try change(keybag, kept, key, to: kind, in: folder)
            }
            Standard.output("The device key of \(vault) is kept anew. \(kind.text)")
        }

        /// In an order in which the passcode opens the vault after each step, whatever ends this between two.
        private func change(
            _ keybag: OpenKeybag, _ kept: KeptDeviceKey, _ key: borrowing DeviceKey, to kind: DeviceKeyKind,
            in folder: VaultFolder
        ) throws(CommandError) {
            let secret = try passcode.source.read(.passcode)
            try withKeybag(of: vault) { () throws(KeybagError) in
                let credential = try Credential(.passcode, reading: secret)
                // A mistake must not cost anything.
                _ = try keybag.slot(openedBy: credential)
                if kind == .software {
                    let plain = try DeviceKeyPlace.key(key, at: kept.path, as: .software)
                    try keybag.rewrapPasscodes(for: plain, opening: credential, keepingOthers: true)
                }
                try DeviceKeyPlace.keep(key, at: kept.path, as: kind)
                // As the next command will find it.
                let device = try DeviceKeyPlace.load(path: kept.path)
                let again = try OpenKeybag.open(
                    in: folder.store, deviceKey: DeviceKeyPlace.key(device, at: kept.path, as: kind))
                try again.rewrapPasscodes(for: device, opening: credential, keepingOthers: false)
            }
        }
    }
}
