public import Crypto
public import DeviceKeys
public import Failure
import Keybag

/// Changes how the device key of an unmounted vault is kept. The key itself stays the same.
public struct DeviceKeyRebinding: ~Copyable {
    private let kept: KeptDeviceKey
    private let kind: DeviceKeyKind
    private let folder: VaultFolder
    private let key: DeviceKey
    private let keybag: OpenKeybag

    /// Locks the vault for this process.
    public init(of kept: KeptDeviceKey, to kind: DeviceKeyKind, _ claim: ClaimOptions) throws(Failure) {
        let folder = try VaultFolder(kept.vault, claim)
        let key = try kept.load()
        // The temporary file of a killed attempt may hold the key.
        DeviceKeyFile.removeOrphan(of: kept.path)
        let keybag = try OpenKeybag.open(
            in: folder.store, deviceKey: DeviceKeyLocation.key(key, at: kept.path, as: kept.kind))
        // Nothing throws from here on: a noncopyable value must be initialized completely or not at all.
        self.kept = kept
        self.kind = kind
        self.folder = folder
        self.key = key
        self.keybag = keybag
    }

    /// Whether the passcode has to be changed to the other kind (with a TPM's part, or without): that takes the
    /// passcode.
    public var needsPasscode: Bool {
        keybag.hasPasscode && (kind.name != kept.kind.name || !keybag.isBound)
    }

    /// Changes it. If `needsPasscode`, the passcodes do not open the vault after that.
    public func run() throws(Failure) {
        defer { withExtendedLifetime(folder) {} }
        try DeviceKeyLocation.keep(key, at: kept.path, as: kind, generation: keybag.file.generation)
    }

    /// Throws unless the passcode opens the vault, so that a mistake changes nothing.
    public func check(_ passcode: borrowing Secret, mayBeLast: Bool) throws(Failure) {
        _ = try keybag.slot(openedBy: Credential(.passcode, reading: passcode, mayBeLast: mayBeLast))
    }

    /// Changes it, and changes the passcode to the other kind. The passcode opens the vault after each step, so an
    /// interruption loses nothing, and running it again finishes an interrupted change.
    public func run(_ passcode: borrowing Secret, mayBeLast: Bool, allowingWeak: Bool) throws(Failure) {
        defer { withExtendedLifetime(folder) {} }
        let credential = try Credential(.passcode, reading: passcode, mayBeLast: mayBeLast)
        var added: UInt32?
        if kind == .software, kept.kind != .software {
            let plain = try DeviceKeyLocation.key(key, at: kept.path, as: .software)
            added = try keybag.addSlot(for: plain, opening: credential, allowingWeak: allowingWeak)
        }
        do throws(Failure) {
            try DeviceKeyLocation.keep(key, at: kept.path, as: kind, generation: keybag.file.generation)
        } catch {
            // Only if the file did not change: the failure may have come after that.
            if let added, (try? DeviceKeyLocation.kind(at: kept.path)) == kept.kind {
                try? keybag.removeSlot(added, opening: credential)
            }
            throw error
        }
        // Opened anew, as the next process will find it.
        let device = try DeviceKeyLocation.load(path: kept.path)
        let again = try OpenKeybag.open(in: folder.store, deviceKey: device)
        try again.bindPasscode(opening: credential, allowingWeak: allowingWeak)
    }
}
