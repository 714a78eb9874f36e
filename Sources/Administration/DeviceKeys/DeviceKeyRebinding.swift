public import Crypto
public import DeviceKeys
public import Failure
import Keybag

/// The device key of a vault that is not mounted, on its way to being kept otherwise. The key stays the same.
public struct DeviceKeyRebinding: ~Copyable {
    private let kept: KeptDeviceKey
    private let kind: DeviceKeyKind
    private let folder: VaultFolder
    private let key: DeviceKey
    private let keybag: OpenKeybag

    /// Takes the vault for this process.
    public init(of kept: KeptDeviceKey, to kind: DeviceKeyKind) throws(Failure) {
        let folder = try VaultFolder(kept.vault)
        let key = try kept.load()
        // What a killed attempt has left beside it may be the key.
        DeviceKeyFile.removeOrphan(of: kept.path)
        let keybag = try OpenKeybag.open(
            in: folder.store, deviceKey: DeviceKeyLocation.key(key, at: kept.path, as: kept.kind))
        // A value that is not copied is made whole or not at all.
        self.kept = kept
        self.kind = kind
        self.folder = folder
        self.key = key
        self.keybag = keybag
    }

    /// Whether the passcode has to be made one for the other: then it takes that.
    public var needsPasscode: Bool {
        keybag.hasPasscode && (kind.name != kept.kind.name || !keybag.isBound)
    }

    /// Keeps it so. Where `needsPasscode`, the passcodes do not open the vault then.
    public func run() throws(Failure) {
        defer { withExtendedLifetime(folder) {} }
        try DeviceKeyLocation.keep(key, at: kept.path, as: kind)
    }

    /// Throws unless the passcode opens the vault: a mistake must not cost anything.
    public func check(_ passcode: borrowing Secret, mayBeLast: Bool) throws(Failure) {
        _ = try keybag.slot(openedBy: Credential(.passcode, reading: passcode, mayBeLast: mayBeLast))
    }

    /// Keeps it so, and makes the passcode one for that, in an order in which it opens the vault after each step,
    /// whatever ends this between two; the same again ends what was broken off.
    public func run(_ passcode: borrowing Secret, mayBeLast: Bool, allowingWeak: Bool) throws(Failure) {
        defer { withExtendedLifetime(folder) {} }
        let credential = try Credential(.passcode, reading: passcode, mayBeLast: mayBeLast)
        var added: UInt32?
        if kind == .software, kept.kind != .software {
            let plain = try DeviceKeyLocation.key(key, at: kept.path, as: .software)
            added = try keybag.addSlot(for: plain, opening: credential, allowingWeak: allowingWeak)
        }
        do throws(Failure) { try DeviceKeyLocation.keep(key, at: kept.path, as: kind) } catch {
            // Unless it is kept so all the same, and the failure came after that.
            if let added, (try? DeviceKeyLocation.kind(at: kept.path)) == kept.kind {
                try? keybag.removeSlot(added, opening: credential)
            }
            throw error
        }
        // As the next process will find it.
        let device = try DeviceKeyLocation.load(path: kept.path)
        let again = try OpenKeybag.open(in: folder.store, deviceKey: device)
        try again.bindPasscode(opening: credential, allowingWeak: allowingWeak)
    }
}
