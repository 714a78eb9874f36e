import Administration
import DeviceKeys
import Failure
import Keybag
import Posix

extension KeptDeviceKey {
    /// The device key of a vault or a mount.
    ///
    /// - Parameter path: the file; nil for the default path.
    static func of(_ argument: Path, at path: Path?) throws(CommandError) -> KeptDeviceKey {
        let path = try deviceKeyPath(path, of: argument)
        let vault = try PathArgument.vault(of: argument)
        return try withKeybag(of: vault.path) { () throws(Failure) in try KeptDeviceKey(of: vault, at: path) }
    }

    /// The key, or an error in words.
    func loaded() throws(CommandError) -> DeviceKey {
        try withKeybag(of: vault.path) { () throws(Failure) in try load() }
    }
}

extension DeviceKeyKind {
    /// For people.
    var text: String {
        switch self {
        case .software: "software: a file, no secret from a thief of the whole disk"
        case .tpm2(let pcrs):
            "tpm2: sealed by this machine's TPM" + (pcrs.isEmpty ? "" : ", while PCRs \(pcrs) stay as they are")
        }
    }
}
