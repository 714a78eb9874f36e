import Control
import Crypto
import Daemon
import DeviceKeys
import Failure
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
    /// Public keys of organisations.
    let escrow: [[UInt8]]
    /// Takes a weak passcode.
    let allowsWeak: Bool
    /// So many wrong passcodes destroy the keys; 0 for never.
    let eraseAfter: UInt8
    /// Nil for the default place.
    let deviceKeyPath: String?
    let deviceKeyKind: DeviceKeyKind
    /// As the person typed it, for messages.
    let typed: String

    /// What there is when it is done.
    struct Made {
        let deviceKeyPath: String
        let hasAttributes: Bool
        /// What the holder of an escrow key knows it by.
        let proof: VaultProof?
    }

    /// - Parameter handingOut: hands the recovery key out, and then runs what it gets.
    /// - Throws: after everything that this had made is gone again.
    func run(
        _ kind: SecretKind, _ secret: borrowing Secret, recoveryKey: borrowing Secret,
        handingOut: (() throws(CommandError) -> Made) throws(CommandError) -> Made
    ) throws(CommandError) -> Made {
        let first = try withKeybag(of: typed) { () throws(Failure) in
            try Credential(kind, reading: secret)
        }
        let store = try VaultFolder(folder.path)
        defer { withExtendedLifetime(store) {} }
        let volume = VolumeIdentifier(Random.bytes(16))
        let deviceKeyPath = deviceKeyPath ?? DeviceKeyFile.defaultPath(for: volume)
        // Looked at again with the lock in hand: another init may have been quicker.
        guard try names(in: store.store) == [Name(stringLiteral: BackingName.lock)] else {
            throw CommandError(cannot: "make a vault in", typed, .ENOTEMPTY)
        }
        do throws(CommandError) {
            let traits = try probe(store.store)
            try checkIsFree(deviceKeyPath)
            return try handingOut { () throws(CommandError) in
                let deviceKey = try makeDeviceKey(at: deviceKeyPath, volume)
                do throws(CommandError) {
                    return try make(in: store.store, traits, deviceKey, at: deviceKeyPath, first, recoveryKey)
                } catch {
                    _ = unsafe unlink(deviceKeyPath)
                    _ = unsafe unlink(deviceKeyPath + ".tries")
                    throw error
                }
            }
        } catch {
            takeAwayFiles()
            throw error
        }
    }

    private func takeAwayFiles() {
        for name in [
            BackingName.keybag, BackingName.newKeybag, BackingName.oldKeybag, BackingName.directoryRecord,
            BackingName.lock,
        ] {
            // What is left is seen: the next attempt says that the folder is not empty.
            _ = unsafe unlink(folder.path.text.asFolder + name)
        }
    }

    /// Before a recovery key is shown that would be for nothing.
    private func checkIsFree(_ path: String) throws(CommandError) {
        var status = stat()
        if unsafe lstat(path, &status) == 0 { throw deviceKeyExists(path) }
        try NewSecretFile.check(path, liesOutside: folder.path)
    }

    private func deviceKeyExists(_ path: String) -> CommandError {
        CommandError(
            .failed, "\(path) exists already, and may be the device key of another vault",
            try: "latchkey init --device-key PATH \(typed.quoted)")
    }

    private func makeDeviceKey(at path: String, _ volume: VolumeIdentifier) throws(CommandError) -> DeviceKey {
        do {
            return try DeviceKeyPlace.create(deviceKeyKind, path: path, volume: volume)
        } catch .io(.EEXIST, _) {
            throw deviceKeyExists(path)
        } catch {
            throw CommandError(error, of: typed)
        }
    }

    private func names(in store: DirectoryStore) throws(CommandError) -> [Name] {
        do {
            return try store.entries(of: store.root).map(\.name)
        } catch {
            throw CommandError(cannot: "look into", typed, error)
        }
    }

    private func probe(_ store: DirectoryStore) throws(CommandError) -> StoreTraits {
        let traits: StoreTraits
        do {
            traits = try StoreTraits.probe(store)
        } catch {
            throw CommandError(cannot: "make a vault in", typed, error)
        }
        try check(traits)
        return traits
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
        _ first: borrowing Credential, _ recoveryKey: borrowing Secret
    ) throws(CommandError) -> Made {
        let settings = KeybagSettings(
            created: UInt64(max(time(nil), 0)), nameMaximum: UInt16(clamping: traits.nameMax),
            directoryRecords: traits.recordKind == .symbolicLink ? .symbolicLink : .file,
            eraseAfter: eraseAfter)
        let keybag: OpenKeybag
        do {
            keybag = try OpenKeybag.create(
                in: store, deviceKey: deviceKey, first: first, recoveryKey: recoveryKey, escrow: escrow,
                cost: cost,
                settings: settings, allowingWeak: allowsWeak)
        } catch {
            throw CommandError(error, of: typed)
        }
        do {
            try Vault.makeRoot(in: store, keys: keybag.keys, traits: traits, defaultClass: defaultClass)
        } catch {
            throw CommandError(cannot: "make a vault in", typed, error.errno)
        }
        return Made(deviceKeyPath: deviceKeyPath, hasAttributes: traits.hasAttributes, proof: keybag.proof)
    }
}
