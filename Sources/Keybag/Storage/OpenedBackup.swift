public import Crypto
public import Failure
public import Format
import Glibc
public import Store

/// A keybag backup whose passphrase was verified: docs/FORMAT.md, "A keybag's backup".
public struct OpenedBackup: ~Copyable, Sendable {
    let file: KeybagFile
    let bundle: Bundle
    /// Seconds since 1970.
    public let created: UInt64

    public var volume: VolumeIdentifier { file.volume }
    public var settings: KeybagSettings { file.settings }

    /// Whether a vault is a synchronised one, as the backup says, or was made one since.
    public func isOfSynchronised(_ store: any Store) throws(Failure) -> Bool {
        if file.isSynchronised { return true }
        return try KeybagStorage(store: store).hasBecomeSynchronised(since: file)
    }

    /// The volume's keys, with which the caller checks whether a vault is the one that was backed up.
    public func volumeKeys() throws(Failure) -> VolumeKeys {
        try crypto(try VolumeKeys(volumeKey: bundle.volumeKey(), volume: volume))
    }

    /// Keyed for the file of marks beside the backup. A rotation of the keys changes the key.
    public func marks() throws(Failure) -> DeterministicCipher {
        try crypto(
            try DeterministicCipher(
                key: .derived(
                    from: bundle.unlockMACKey(), salt: volume.bytes, info: Label.backupMarks, count: 64)))
    }

    /// - Parameters:
    ///   - bytes: of a whole file.
    ///   - passphrase: 1 to 1024 bytes.
    /// - Throws: `notABackup`, `foreignVersion`, `foreignFeature`; `wrongPassphrase`; `damagedBackup`.
    public init(_ bytes: [UInt8], passphrase: borrowing Secret) throws(Failure) {
        let backup: KeybagBackup
        do throws(FormatError) { backup = try KeybagBackup(decoding: bytes) } catch {
            switch error {
            case .wrongMagic: throw .notABackup
            case .tooShort, .badField: throw bytes.starts(with: KeybagBackup.magic) ? .damagedBackup : .notABackup
            default: throw Failure(error)
            }
        }
        try requirePasscode(passphrase)
        let key = try crypto(try backup.key(passphrase))
        guard let bundle = try Bundle.unwrap(backup.wrappedBundle, under: key) else { throw .wrongPassphrase }
        let tags = bytes.count - KeybagBackup.tagByteCount
        let isWhole = try crypto(try bundle.backupAuthenticator(backup.volume)).verify(
            Array(bytes[tags...]), of: Array(bytes[..<tags]))
        guard isWhole, try crypto(try X25519.publicKey(of: bundle.privateKeyB())) == backup.keybag.publicKey else {
            throw .damagedBackup
        }
        file = backup.keybag
        created = backup.created
        self.bundle = bundle
    }
}

extension OpenKeybag {
    /// A backup of the keybag, encrypted with a passphrase of its own and without the device key.
    ///
    /// - Parameters:
    ///   - passphrase: 1 to 1024 bytes.
    ///   - cost: of one guess at the passphrase; at least `Argon2Cost.minimum`.
    ///   - credential: one that opens the vault now.
    /// - Throws: what `unlock` does, `weakPasscode`, `cost`.
    public func backup(
        passphrase: borrowing Secret, cost: Argon2Cost, opening credential: borrowing Credential,
        allowingWeak: Bool = false
    ) throws(Failure) -> [UInt8] {
        guard cost.isEnough else { throw .cost(cost) }
        try Credential(.passcode, reading: passphrase).requireStrength(allowingWeak: allowingWeak)
        // A backup of an older keybag would be taken for one of the newest.
        if let found { try device.refuseOlder(found, counted: counted) }
        let current = sealed.withLock { $0 }
        let opened = try openSlot(of: current, credential)
        let salt = Random.bytes(KeybagSlot.saltByteCount)
        let key = try crypto(
            try KeybagBackup.key(passphrase, salt: salt, cost: cost, volume: current.file.volume))
        let backup = KeybagBackup(
            current.file, created: UInt64(max(time(nil), 0)), memoryKiB: cost.memoryKiB, passes: cost.passes,
            lanes: cost.lanes, salt: salt, wrappedBundle: try opened.bundle.wrapped(under: key))
        let bytes = try format(try backup.encodeWithoutTag())
        return bytes + (try crypto(try opened.bundle.backupAuthenticator(current.file.volume)).tag(of: bytes))
    }

    /// Writes a keybag from a backup into a vault, for a device key of this machine and with a new passcode.
    ///
    /// The slots that need no device key stay: those of the vault's keybag if its keys are the same, else those of the
    /// backup. If the vault was made a synchronised one since the backup, it stays one.
    /// - Throws: `otherKeys` if the vault's keybag belongs to another vault, or its keys were changed since the backup.
    ///   Then nothing has changed.
    public static func restore(
        _ backup: borrowing OpenedBackup, in store: any Store, newDeviceKey: consuming DeviceKey,
        newPasscode: borrowing Secret, cost: Argon2Cost, allowingWeak: Bool = false
    ) throws(Failure) -> OpenKeybag {
        let device = newDeviceKey
        guard device.volume == backup.volume else { throw .deviceKeyMismatch }
        let passcode = try Credential(.passcode, reading: newPasscode)
        try passcode.requireStrength(allowingWeak: allowingWeak || device.hardware != nil)
        guard cost.isEnough else { throw .cost(cost) }
        let storage = KeybagStorage(store: store)
        let present = try storage.present(like: backup)
        var file = backup.file
        // A keybag that is not authentic is ignored, and its generation too.
        if let present, (try? present.verify(backup.bundle)) != nil {
            let generation = max(file.generation, present.file.generation)
            file = present.file
            file.generation = generation
        }
        if let newest = device.newest(of: backup.bundle, file.publicKey), newest.file.generation > file.generation {
            file.slots = newest.file.slots
        }
        if try storage.hasBecomeSynchronised(since: file) { file.becomeSynchronised() }
        file.generation = max(file.generation, device.newestGeneration)
        try file.advance()
        let head = SlotHead(new: file.nextSlotIdentifier)
        file.rebind(to: try crypto(try DeviceSlotKeys.wrap(backup.bundle, device)))
        try file.rebindPreviousKeys(backup.bundle, device)
        file.slots.insert(try backup.bundle.slot(head, passcode, cost: cost, device, .empty), at: 0)
        let restored = try SealedKeybag(sealing: file, backup.bundle, device)
        try storage.put(restored, over: present)
        device.remember(restored)
        device.count(restored)
        try? device.guesses?.forget()
        let opened = try OpenKeybag(storage: storage, device: device, sealed: restored)
        try opened.learnProof(of: backup.bundle)
        return opened
    }

    /// Throws what `restore` would throw because of the vault's keybag. Changes nothing.
    public static func check(_ backup: borrowing OpenedBackup, for store: any Store) throws(Failure) {
        _ = try KeybagStorage(store: store).present(like: backup)
    }
}

extension KeybagStorage {
    /// The vault's current or previous keybag; nil if there is none, or none that can be decoded.
    fileprivate func present(like backup: borrowing OpenedBackup) throws(Failure) -> SealedKeybag? {
        var found: SealedKeybag?
        for name in [Self.current, Self.previous] where found == nil {
            do throws(Failure) { found = try read(name) } catch {
                switch error {
                case .notAVault, .damaged: break
                default: throw error
                }
            }
        }
        guard let found else { return nil }
        guard found.file.volume == backup.volume, found.file.publicKey == backup.file.publicKey else {
            throw .otherKeys
        }
        return found
    }
}

extension KeybagFile {
    /// Removes the slots that need the device key, and sets a new device slot.
    mutating func rebind(to deviceSlot: [UInt8]) {
        self.deviceSlot = deviceSlot
        slots.removeAll { $0.credentialKind.map { !$0.isPortable } ?? false }
    }
}

extension KeybagBackup {
    fileprivate func key(_ passphrase: borrowing Secret) throws(CryptoError) -> Secret {
        let cost = Argon2Cost(memoryKiB: memoryKiB, passes: passes, lanes: lanes)
        return try Self.key(passphrase, salt: salt, cost: cost, volume: volume)
    }

    /// The key that wraps the bundle.
    fileprivate static func key(
        _ passphrase: borrowing Secret, salt: [UInt8], cost: Argon2Cost, volume: VolumeIdentifier
    ) throws(CryptoError) -> Secret {
        let argon = try Argon2id.derive(passphrase, salt: unsafe salt.span.bytes, cost: cost, count: 32)
        return try .derived(from: argon, salt: volume.bytes, info: Label.backupKey)
    }
}

extension Bundle {
    fileprivate func backupAuthenticator(_ volume: VolumeIdentifier) throws(CryptoError) -> MessageAuthenticator {
        try MessageAuthenticator(key: .derived(from: unlockMACKey(), salt: volume.bytes, info: Label.backup))
    }
}
