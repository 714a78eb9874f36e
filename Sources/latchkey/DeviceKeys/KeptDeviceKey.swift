import DeviceKeys
import Failure
import Format
import Keybag
import Posix
import Store

/// The device key of a vault, mounted or not.
struct KeptDeviceKey {
    let vault: AbsolutePath
    let path: String
    let volume: VolumeIdentifier
    let kind: DeviceKeyKind
    /// Whether all passcodes are for a device key that is kept so.
    let isBound: Bool

    /// - Parameter path: nil for the default place.
    init(of place: String, at path: String?) throws(CommandError) {
        let vault = try Place.vault(of: place)
        self.vault = vault
        let store: DirectoryStore
        do throws(Errno) { store = try DirectoryStore(path: vault.text) } catch {
            throw CommandError(cannot: "open the vault", vault.text, error)
        }
        let file = try withKeybag(of: vault.text) { () throws(Failure) in try OpenKeybag.inspect(store) }
        volume = file.volume
        let lies = path ?? DeviceKeyFile.defaultPath(for: volume)
        self.path = lies
        kind = try withKeybag(of: vault.text) { () throws(Failure) in try DeviceKeyPlace.kind(at: lies) }
        isBound = file.isBound(guarded: kind != .software)
    }

    func load() throws(CommandError) -> DeviceKey {
        try withKeybag(of: vault.text) { () throws(Failure) in
            let key = try DeviceKeyPlace.load(path: path)
            guard key.volume == volume else { throw .deviceKeyMismatch }
            return key
        }
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
