import Crypto
import Format
import Glibc
import Keybag
import Posix
import Store
import Vault

/// A vault in the making: keys, device key file, keybag and root, all of them or none.
struct VaultCreation {
    let folder: FreshFolder
    let defaultClass: ProtectionClass
    let cost: Argon2Cost
    /// Nil for the default place.
    let deviceKeyPath: String?
    /// As the person typed it, for messages.
    let typed: String

    /// What there is when it is done.
    struct Made: ~Copyable {
        let recoveryKey: Secret
        let deviceKeyPath: String
        let hasAttributes: Bool
    }

    /// - Throws: after everything that this had made is gone again.
    func run(passcode: borrowing Secret) throws(CommandError) -> Made {
        let store: DirectoryStore
        let traits: StoreTraits
        do {
            store = try DirectoryStore(path: folder.path.text)
            traits = try StoreTraits.probe(store)
        } catch {
            throw CommandError(cannot: "make a vault in", typed, error)
        }
        try check(traits)
        let volume = VolumeIdentifier(Random.bytes(16))
        let deviceKeyPath = deviceKeyPath ?? DeviceKeyFile.defaultPath(for: volume)
        let deviceKey: DeviceKey
        do {
            deviceKey = try DeviceKeyFile.create(path: deviceKeyPath, volume: volume)
        } catch .io(.EEXIST, _) {
            throw CommandError(
                .failed, "\(deviceKeyPath) exists already, and may be the device key of another vault",
                try: "latchkey init --device-key PATH \(typed.quoted)")
        } catch {
            throw CommandError(error, of: typed)
        }
        do {
            return try make(in: store, traits, deviceKey, at: deviceKeyPath, passcode)
        } catch {
            for name: Name in ["lk.keybag", "lk.keybag.new", "lk.keybag.old", "lk.dir", "lk.lock"] {
                // What is left is seen: the next attempt says that the folder is not empty.
                try? store.unlink(name, in: store.root)
            }
            _ = unsafe unlink(deviceKeyPath)
            throw error
        }
    }

    private func check(_ traits: StoreTraits) throws(CommandError) {
        guard traits.isCaseSensitive else {
            throw CommandError(
                .failed,
                "\(typed) lies on a file system that takes a and A for the same: encrypted names would collide there")
        }
        guard KeybagSettings.nameMaximumRange.contains(UInt16(clamping: traits.nameMax)) else {
            throw CommandError(
                .failed,
                "\(typed) lies on a file system with names of at most \(traits.nameMax) bytes; a vault needs "
                    + "\(KeybagSettings.nameMaximumRange.lowerBound)")
        }
    }

    private func make(
        in store: DirectoryStore, _ traits: StoreTraits, _ deviceKey: consuming DeviceKey, at deviceKeyPath: String,
        _ passcode: borrowing Secret
    ) throws(CommandError) -> Made {
        let settings = KeybagSettings(
            created: UInt64(max(time(nil), 0)), nameMaximum: UInt16(clamping: traits.nameMax),
            directoryRecords: traits.recordKind == .symbolicLink ? .symbolicLink : .file)
        let created: CreatedKeybag
        do {
            created = try OpenKeybag.create(
                in: store, deviceKey: deviceKey, passcode: passcode, cost: cost, settings: settings)
        } catch {
            throw CommandError(error, of: typed)
        }
        do {
            try Vault.makeRoot(in: store, keys: created.keybag.keys, traits: traits, defaultClass: defaultClass)
        } catch {
            throw CommandError(cannot: "make a vault in", typed, error.errno)
        }
        return Made(
            recoveryKey: created.takeRecoveryKey(), deviceKeyPath: deviceKeyPath, hasAttributes: traits.hasAttributes)
    }
}
