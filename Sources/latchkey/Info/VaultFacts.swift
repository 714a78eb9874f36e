import Administration
import Control
import Crypto
import DeviceKeys
import Failure
import Format
import Keybag
import Posix
import Store
import Vault

/// What a vault shows without a passcode, mounted or not.
struct VaultFacts: Encodable {
    /// The algorithms of format 1: docs/FORMAT.md.
    struct Ciphers: Encodable {
        let contents = "AES-256-GCM"
        let names = "AES-256-SIV"
        let keys = "AES-256 key wrap"
    }

    struct Cost: Encodable {
        let memoryKiB, passes, lanes: UInt32
    }

    struct SlotFacts: Encodable {
        let slot: Slot
        /// Of a passcode.
        let argon2id: Cost?

        init(_ slot: KeybagSlot) {
            self.slot = Slot(slot)
            argon2id =
                if case .passcode(let slot) = slot {
                    Cost(memoryKiB: slot.memoryKiB, passes: slot.passes, lanes: slot.lanes)
                } else { nil }
        }

        /// The fields of both are encoded beside each other.
        func encode(to encoder: any Encoder) throws {
            try slot.encode(to: encoder)
            var fields = encoder.container(keyedBy: AddedField.self)
            try fields.encodeIfPresent(argon2id, forKey: .argon2id)
        }

        private enum AddedField: String, CodingKey { case argon2id }
    }

    struct DeviceKeyFacts: Encodable {
        let file: String
        /// Nil if the path is UTF-8.
        let fileBase64: String?
        let isThere: Bool
        /// Nil if it is not there, or cannot be read.
        let kind: String?
        let path: Path

        init(_ path: Path, isThere: Bool, kind: String?) {
            (file, fileBase64) = PathInJSON.pair(path)
            (self.path, self.isThere, self.kind) = (path, isThere, kind)
        }

        private enum CodingKeys: String, CodingKey { case file, fileBase64, isThere, kind }
    }

    let vault: Path
    private let vaultText: String
    private let vaultBase64: String?
    /// Nil unless it is mounted.
    let mountPoint: Path?
    private let mountPointText: String?
    private let mountPointBase64: String?
    let volume: String
    let formatVersion = Int(KeybagFile.version)
    let ciphers = Ciphers()
    /// In seconds since 1970.
    let created: UInt64
    /// The class of the root folder; nil without the device key.
    private(set) var defaultClass: String?
    let slots: [SlotFacts]
    /// Nil if no number of wrong passcodes erases the vault.
    let eraseAfter: Int?
    private(set) var guesses: Guesses?
    let deviceKey: DeviceKeyFacts
    /// Whether some files still have the keys from before a rotation.
    let isRotating: Bool
    /// Whether several machines may change it in turns, each in its own copy of the folder.
    let isSynchronised: Bool
    private(set) var journal: JournalFacts?
    private(set) var claim: ClaimReport?
    /// Whether the device key confirms the keybag: all that is not about the device key and the journal.
    private(set) var isVerified = false
    /// Why not.
    private(set) var reason: String?
    /// Whether lk.keybag is damaged or missing, and lk.keybag.old is shown.
    private(set) var isPreviousKeybag = false
    /// Whether this machine has seen a newer keybag.
    private(set) var isOlderKeybag = false

    /// Why the device key does not confirm the keybag; nil if it does, or is not there.
    private(set) var failure: CommandError?

    private enum CodingKeys: String, CodingKey {
        case vaultText = "vault"
        case vaultBase64
        case mountPointText = "mountPoint"
        case mountPointBase64, volume, formatVersion, ciphers, created, defaultClass, slots, eraseAfter, guesses
        case deviceKey, isRotating, isSynchronised, journal, claim, isVerified, reason, isPreviousKeybag, isOlderKeybag
    }

    /// - Parameter path: of the device key; nil for the one that the daemon uses, else for the default path.
    init(of argument: PathArgument, deviceKey path: Path?) throws(CommandError) {
        let status: Status?
        switch argument {
        case .mount(let mount): (vault, status) = (mount.status.vault, mount.status)
        case .vault(let folder): (vault, status) = (folder.path, nil)
        case .orphan(let entry): throw SilentMount(entry).error
        }
        mountPoint = status?.mountPoint
        (vaultText, vaultBase64) = PathInJSON.pair(vault)
        mountPointText = mountPoint.map { PathInJSON.text($0) }
        mountPointBase64 = mountPoint.flatMap { PathInJSON.base64($0) }
        let folder = vault
        let store: DirectoryStore
        do { store = try DirectoryStore(path: folder) } catch {
            throw CommandError(cannot: "open the vault", folder, error)
        }
        let file = try withKeybag(of: folder) { () throws(Failure) in try OpenKeybag.inspect(store) }
        volume = "\(file.volume)"
        created = file.settings.created
        slots = file.slots.map { SlotFacts($0) }
        eraseAfter = file.settings.eraseAfter > 0 ? Int(file.settings.eraseAfter) : nil
        guesses = status?.guesses
        isRotating = file.previousKeys != nil
        let keyPath = path ?? status?.deviceKeyFile ?? DeviceKeyFile.defaultPath(for: file.volume)
        let kind = Result { () throws(Failure) in try DeviceKeyLocation.kind(at: keyPath) }
        if case .failure(.deviceKeyMissing) = kind {
            deviceKey = DeviceKeyFacts(keyPath, isThere: false, kind: nil)
            reason = "the device key is not there"
        } else {
            deviceKey = DeviceKeyFacts(keyPath, isThere: true, kind: try? kind.get().name)
        }
        if let status { defaultClass = try Self.classOfRoot(of: status) }
        var keys: VolumeKeys?
        if deviceKey.isThere {
            do throws(Failure) {
                let keybag = try OpenKeybag.open(
                    in: store, deviceKey: DeviceKeyLocation.load(path: keyPath), readOnly: true)
                keys = keybag.keys
                guesses = keybag.guessesLeft ?? guesses
                isPreviousKeybag = keybag.isPrevious
                isOlderKeybag = keybag.isOlder
                if status == nil { defaultClass = try Self.classOfRoot(in: store, keybag) }
                isVerified = true
            } catch {
                let failure = CommandError(error, of: folder)
                (self.failure, reason) = (failure, failure.message.text)
            }
        }
        isSynchronised = file.isSynchronised
        journal = JournalFacts(
            in: store, isMounted: status != nil, keys, of: file.isSynchronised ? .own(in: file.volume) : nil)
        claim = ClaimReport(in: store, keys)
    }

    private static func classOfRoot(of status: Status) throws(CommandError) -> String? {
        do throws(Errno) {
            let root = try Descriptor.open(path: status.mountPoint, O_PATH)
            let value = try root.attribute(ProtectionClass.attributeName)
            return ProtectionClass(attributeValue: String(decoding: value, as: UTF8.self))?.name
        } catch { throw CommandError(cannot: "read the class of", status.mountPoint, error) }
    }

    private static func classOfRoot(in store: DirectoryStore, _ keybag: OpenKeybag) throws(Failure) -> String {
        let traits = StoreTraits(
            nameMax: Int(keybag.settings.nameMaximum),
            recordKind: keybag.settings.directoryRecords == .file ? .file : .symbolicLink)
        let vault = Vault(
            store: store, keys: keybag.keys, ring: keybag.ring, traits: traits, isReadOnly: true,
            machine: keybag.machine)
        do throws(VaultError) { return try vault.rootClass().name } catch {
            switch error {
            case .damaged(let reason): throw .damaged(reason: reason)
            case .unsupported(let reason): throw .unsupported(reason: reason)
            case .unseen(let reason), .stale(let reason): throw .failed(reason: reason)
            case .system(let errno): throw .io(errno, doing: "read the vault's root")
            case .locked: throw .rootLocked
            }
        }
    }
}
