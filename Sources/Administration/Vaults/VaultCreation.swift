public import Crypto
public import DeviceKeys
public import Failure
public import Format
import Glibc
public import Keybag
public import Posix
import Store
import Vault

/// The creation of a vault: keys, device key file, keybag and root, all of them or none.
public struct VaultCreation: Sendable {
    private let folder: FreshFolder
    private let plan: Plan
    private let volume: VolumeIdentifier
    private let traits: StoreTraits
    private let held: HeldFolder
    /// The path of its device key.
    public let deviceKeyPath: Path

    /// The parameters of the new vault.
    public struct Plan: Sendable {
        /// The class of new files.
        public var defaultClass: ProtectionClass
        public var cost: Argon2Cost
        /// X25519 public keys for escrow.
        public var escrow: [[UInt8]] = []
        /// Whether a weak passcode is accepted.
        public var allowsWeak = false
        /// Number of wrong passcodes in a row that destroys the keys; 0 for no limit.
        public var eraseAfter: UInt8 = 0
        /// Nil for the default path.
        public var deviceKeyPath: Path?
        public var deviceKeyKind = DeviceKeyKind.software
        /// Whether a store that loses data is accepted.
        public var acceptsStoreRisk = false
        /// Whether a program copies the vault's folder between machines.
        public var isSynchronised = false

        public init(defaultClass: ProtectionClass, cost: Argon2Cost) {
            self.defaultClass = defaultClass
            self.cost = cost
        }
    }

    /// The result.
    public struct Made: Sendable {
        public let deviceKeyPath: Path
        public let hasAttributes: Bool
        /// The proof by which the holder of an escrow key knows the vault.
        public let proof: VaultProof?
    }

    /// Locks the folder for this process, and refuses one that cannot hold a vault, before a recovery key is shown in
    /// vain.
    ///
    /// - Throws: after everything that it made is removed.
    public init(in folder: FreshFolder, _ plan: Plan) throws(Failure) {
        self.folder = folder
        self.plan = plan
        volume = VolumeIdentifier(Random.bytes(16))
        deviceKeyPath = plan.deviceKeyPath ?? DeviceKeyFile.defaultPath(for: volume)
        let held: HeldFolder
        do throws(Failure) { held = HeldFolder(try VaultFolder(folder.path)) } catch {
            // The file is another process's that holds it; a store without locks leaves it behind.
            if error != .vaultInUse { Self.takeAwayFiles(of: folder) }
            throw error
        }
        self.held = held
        // Checked again under the lock: another process may have made a vault. A store may list new names late.
        let names: [Name]
        do throws(Failure) { names = try Self.names(in: held, folder) } catch {
            Self.takeAwayFiles(of: folder, held)
            throw error
        }
        guard names.allSatisfy({ $0 == Name(stringLiteral: BackingName.lock) }) else {
            throw .file(.ENOTEMPTY, doing: "make a vault in", path: folder.given)
        }
        do throws(Failure) {
            var traits = try Self.probe(held, folder, acceptsRisk: plan.acceptsStoreRisk)
            // Some programs leave symbolic links out, and none keeps both of two.
            if plan.isSynchronised {
                traits.recordKind = .file
                traits.nameMax = min(traits.nameMax, Int(KeybagSettings.nameMaximumOfSynchronised))
            }
            self.traits = traits
            try Self.checkIsFree(deviceKeyPath, folder)
        } catch {
            Self.takeAwayFiles(of: folder, held)
            throw error
        }
    }

    /// Makes the vault. Call it at most once.
    ///
    /// - Parameters:
    ///   - secret: the secret of the first credential, of this kind.
    ///   - recoveryKey: 32 bytes.
    ///   - handingOut: shows the recovery key to the user, then runs its argument, which makes the vault: no vault
    ///     comes into being with a recovery key that was lost.
    /// - Throws: after everything that it made is removed.
    public func make<Problem: Error>(
        _ kind: SecretKind, _ secret: borrowing Secret, recoveryKey: borrowing Secret,
        handingOut: (() throws(Failure) -> Made) throws(Problem) -> Made
    ) throws(Problem) -> Made {
        do throws(Problem) {
            return try handingOut { () throws(Failure) in
                let first = try Credential(kind, reading: secret)
                let deviceKey = try makeDeviceKey()
                let counter = deviceKey.counter
                do throws(Failure) {
                    return try make(deviceKey, first, recoveryKey)
                } catch {
                    _ = deviceKeyPath.unlink()
                    DeviceKeyFile.removeWhatLiesBeside(deviceKeyPath)
                    counter?.remove()
                    throw error
                }
            }
        } catch {
            Self.takeAwayFiles(of: folder, held)
            throw error
        }
    }

    /// The lock's file is the last to go, and is removed again after it was closed: some stores do not remove an open
    /// file, and rclone makes a removed file anew when it hears of the close, which is a moment later.
    private static func takeAwayFiles(of folder: FreshFolder, _ held: HeldFolder? = nil) {
        let lock = folder.path.path.asFolder + BackingName.lock
        for name in [
            BackingName.keybag, BackingName.newKeybag, BackingName.oldKeybag, BackingName.directoryRecord,
        ] {
            // If a file cannot be removed, the next attempt reports that the folder is not empty.
            _ = (folder.path.path.asFolder + name).unlink()
        }
        _ = lock.unlink()
        held?.release()
        let isLocal = (try? DirectoryStore(path: folder.path.path)).map { StoreKind(of: $0).isLocal } ?? true
        for attempt in 0..<(isLocal ? 1 : 10) {
            if attempt > 0 { usleep(50_000) }
            let left = try? Descriptor.open(path: folder.path.path, O_RDONLY | O_DIRECTORY).entries().map(\.name)
            // Other files are those of another process that has made a vault meanwhile.
            guard let left, left.allSatisfy({ isPassing($0) }) else { return }
            for name in left { _ = (folder.path.path.asFolder + Path(bytes: name.bytes)).unlink() }
        }
    }

    /// Whether an attempt to make a vault leaves a file of this name behind.
    private static func isPassing(_ name: Name) -> Bool {
        name == Name(stringLiteral: BackingName.lock) || BackingName(name.bytes) == .temporary
    }

    private static func checkIsFree(_ path: Path, _ folder: FreshFolder) throws(Failure) {
        var status = stat()
        if path.linkStatus(&status) == 0 { throw .deviceKeyExists(path: path) }
        try NewSecretFile.check(path, liesOutside: folder.path)
    }

    private func makeDeviceKey() throws(Failure) -> DeviceKey {
        do {
            return try DeviceKeyLocation.create(plan.deviceKeyKind, path: deviceKeyPath, volume: volume)
        } catch .io(.EEXIST, _) {
            throw .deviceKeyExists(path: deviceKeyPath)
        }
    }

    private static func names(in held: HeldFolder, _ folder: FreshFolder) throws(Failure) -> [Name] {
        let store = try held.current().store
        do {
            return try store.entries(of: store.root).map(\.name)
        } catch {
            throw FreshFolder.failure(listing: folder.path, folder.given, error)
        }
    }

    private static func probe(
        _ held: HeldFolder, _ folder: FreshFolder, acceptsRisk: Bool
    ) throws(Failure) -> StoreTraits {
        let store = try held.current().store
        let traits: StoreTraits
        do {
            traits = try StoreTraits.probe(store)
        } catch {
            throw .file(error, doing: "make a vault in", path: folder.given)
        }
        guard traits.isCaseSensitive else { throw .caseInsensitive }
        let range = KeybagSettings.nameMaximumRange
        guard range.contains(UInt16(clamping: traits.nameMax)) else {
            throw .namesTooShort(bytes: traits.nameMax, least: Int(range.lowerBound))
        }
        try StoreProbe.facts(of: store, .decisive).refuse(unless: acceptsRisk)
        return traits
    }

    private func make(
        _ deviceKey: consuming DeviceKey, _ first: borrowing Credential, _ recoveryKey: borrowing Secret
    ) throws(Failure) -> Made {
        let settings = KeybagSettings(
            created: UInt64(max(time(nil), 0)), nameMaximum: UInt16(clamping: traits.nameMax),
            directoryRecords: traits.recordKind == .symbolicLink ? .symbolicLink : .file,
            eraseAfter: plan.eraseAfter)
        let store = try held.current().store
        let keybag = try OpenKeybag.create(
            in: store, deviceKey: deviceKey, first: first, recoveryKey: recoveryKey, escrow: plan.escrow,
            cost: plan.cost, settings: settings, isSynchronised: plan.isSynchronised, allowingWeak: plan.allowsWeak)
        do {
            try Vault.makeRoot(in: store, keys: keybag.keys, traits: traits, defaultClass: plan.defaultClass)
        } catch .unseen(let reason) {
            throw .riskyStore(store: StoreKind(of: store).engine, reason: reason, isFinal: true)
        } catch {
            throw .file(error.errno, doing: "make a vault in", path: folder.given)
        }
        return Made(deviceKeyPath: deviceKeyPath, hasAttributes: traits.hasAttributes, proof: keybag.proof)
    }
}
