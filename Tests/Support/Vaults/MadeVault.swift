public import Crypto
import Format
public import Keybag
import Posix
public import Store
public import Vault

extension StoreTraits {
    /// The traits of the file systems that tests work on.
    public static let ofTests = StoreTraits(nameMax: 255, recordKind: .symbolicLink)
}

/// Makes a vault in an empty store as `latchkey init` does, at the least cost that the format allows.
public func makeVault(
    in store: any Store, deviceKeyPath: String, passcode: borrowing Secret, recoveryKey: borrowing Secret
) throws -> OpenKeybag {
    // A new identifier each time: a daemon's socket is named by it.
    let volume = VolumeIdentifier(Random.bytes(16))
    let made = try OpenKeybag.create(
        in: store, deviceKey: try DeviceKeyFile.create(path: Path(deviceKeyPath), volume: volume), passcode: passcode,
        recoveryKey: recoveryKey, cost: .minimum, settings: KeybagSettings(created: 1))
    try Vault.makeRoot(
        in: store, keys: made.keys, traits: .ofTests, defaultClass: .completeUntilFirstUserAuthentication)
    return made
}
