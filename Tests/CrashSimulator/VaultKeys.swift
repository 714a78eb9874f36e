public import Crypto
import Format
import Glibc
public import Keybag
import Posix
public import Store
public import Vault

/// The keys of one vault, for as many openings as there are states of it.
public final class VaultKeys: Sendable {
    /// The device key lies beside the folder.
    private let devicePath: String
    private let keybag: OpenKeybag
    private let traits = StoreTraits(nameMax: 255, recordKind: .symbolicLink)

    public static func passcode() throws -> Secret {
        try unsafe Secret(copying: Array("correct horse".utf8).span.bytes)
    }

    /// Makes a vault in an empty folder.
    public init(in folder: StateFolder) throws {
        try SecureHeap.initialize()
        let volume = VolumeIdentifier([UInt8](1...16))
        devicePath = folder.path + ".key"
        let store = try DirectoryStore(path: folder.path)
        let made = try OpenKeybag.create(
            in: store, deviceKey: try DeviceKeyFile.create(path: devicePath, volume: volume),
            passcode: try Self.passcode(), cost: .minimum, settings: KeybagSettings(created: 0))
        keybag = made.keybag
        keybag.ring.install(try keybag.unlock(passcode: try Self.passcode()))
        try Vault.makeRoot(
            in: store, keys: keybag.keys, traits: traits, defaultClass: .completeUntilFirstUserAuthentication)
        try store.synchronizeAll()
    }

    deinit { unsafe unlink(devicePath) }

    /// The way that a mount takes: the keybag by the device key, then the root.
    func open(_ folder: StateFolder) throws -> (vault: Vault, root: Directory) {
        let store = try DirectoryStore(path: folder.path)
        _ = try keybag(in: store)
        let vault = vault(over: store)
        return (vault, try vault.openRoot())
    }

    /// The keybag of a store that holds the vault.
    public func keybag(in store: any Store) throws -> OpenKeybag {
        try OpenKeybag.open(in: store, deviceKey: try DeviceKeyFile.load(path: devicePath))
    }

    /// The vault over a store that holds it, not yet read.
    public func vault(over store: any Store) -> Vault {
        Vault(store: store, keys: keybag.keys, ring: keybag.ring, traits: traits, isReadOnly: false)
    }
}
