public import Crypto
public import Failure
public import Format
public import Store
import Synchronization

/// The keybag of a vault, opened with the device key: what a mount needs before an unlock, and the way to unlock.
///
/// Safe for any number of threads; changes take turns. A process that opens a vault to change it holds `lk.lock`.
public final class OpenKeybag: Sendable {
    public let keys: VolumeKeys
    /// Holds the key of class D and B's public key. The caller installs what `unlock` returns.
    public let ring: KeyRing

    let device: DeviceKey
    let storage: KeybagStorage
    let isReadOnly: Bool
    /// What the chip said when the keybag was opened: an unlock, a change and an erasure wait for no chip. What is
    /// written meanwhile is in the file beside the device key.
    let counted: UInt64
    /// The keybag as it was found; nil if it may be written to.
    let found: SealedKeybag?
    /// The keybag as it is on disk, or the newest one that this machine has seen, if the store is only read. Held while
    /// it is replaced. Lock order: docs/ARCHITECTURE.md.
    let sealed: Mutex<SealedKeybag>
    /// Apart from `sealed`, which is held over waits for the disk.
    let isOpenToAll: Atomic<Bool>
    /// Changed under `sealed`: no keybag may be written after this one was destroyed.
    let isDestroyed = Atomic(false)
    /// Changed under `sealed`.
    let hasPreviousKeys: Atomic<Bool>
    /// A leaf: no other lock is taken under it. Lock order: docs/ARCHITECTURE.md.
    private let left: Mutex<Guesses?>
    /// A leaf: no other lock is taken under it. Lock order: docs/ARCHITECTURE.md.
    private let knownProof = Mutex<VaultProof?>(nil)

    public var volume: VolumeIdentifier { keys.volume }
    public var settings: KeybagSettings { file.settings }
    /// The unencrypted contents of the keybag, as of now.
    public var file: KeybagFile { sealed.withLock { $0.file } }

    /// Whether a chip holds the device key and counts wrong passcodes.
    public var isGuarded: Bool { device.isGuarded }

    /// Whether the device key alone opens the vault. Waits for no disk.
    public var hasNoPasscode: Bool { isOpenToAll.load(ordering: .relaxed) }

    /// How many wrong passcodes are still allowed, as of the last one that was tried here; nil without a limit. Waits
    /// for no disk.
    public var guessesLeft: Guesses? { left.withLock { $0 } }

    /// The proof by which the holder of an escrow key knows the vault; nil before the first unlock. Waits for no disk.
    public var proof: VaultProof? { knownProof.withLock { $0 } }

    func learnProof(of bundle: borrowing Bundle) throws(Failure) {
        learn(try bundle.proof(volume))
    }

    func learn(_ proof: VaultProof) { knownProof.withLock { $0 = proof } }

    /// Whether `lk.keybag` differs from the keybag that was opened: that was read from `lk.keybag.old`, which has not
    /// been put back.
    public var isPrevious: Bool {
        (try? storage.read(KeybagStorage.current).bytes) != (found?.bytes ?? sealed.withLock { $0.bytes })
    }

    /// Whether the store is only read, and this machine has seen a newer keybag than the one there.
    public var isOlder: Bool {
        guard let found, case .older = device.age(of: found, counted: counted) else { return false }
        return true
    }

    /// What a keybag says of itself, unverified: enough to find the device key.
    public static func inspect(_ store: any Store) throws(Failure) -> KeybagFile {
        try KeybagStorage(store: store).load(readOnly: true) { _ in }.file
    }

    /// Opens the keybag with its device key, and checks the device MAC.
    ///
    /// If `lk.keybag` is not valid and `lk.keybag.old` is, that one is used and put back.
    /// - Parameter readOnly: nothing in the store is changed; a keybag that is older than one that this machine has
    ///   seen is opened, for a backup beside the vault. The newest one then says what unlocks, if it has the same keys.
    /// - Throws: `deviceKeyMismatch`, `recoveredElsewhere`, `tampered`, `damaged`, `notAVault`, `olderKeybag`.
    public static func open(
        in store: any Store, deviceKey: consuming DeviceKey, readOnly: Bool = false
    ) throws(Failure) -> OpenKeybag {
        let storage = KeybagStorage(store: store)
        let device = deviceKey
        let counted = device.counted
        let sealed = try storage.load(readOnly: readOnly) { keybag throws(Failure) in
            guard readOnly || keybag.file.canWrite else { throw .foreignFeature }
            _ = try keybag.openDeviceSlot(device)
            // Before anything is tidied: the newest keybag may lie beside this one.
            if !readOnly { try device.refuseOlder(keybag, counted: counted) }
        }
        let opened = try OpenKeybag(
            storage: storage, device: device, sealed: sealed, isReadOnly: readOnly, counted: counted)
        _ = opened.inForce()
        return opened
    }

    init(
        storage: KeybagStorage, device: consuming DeviceKey, sealed: SealedKeybag, isReadOnly: Bool = false,
        counted: UInt64 = 0
    ) throws(Failure) {
        let slot = try sealed.openDeviceSlot(device)
        let volumeKey = try crypto(try slot.volumeKey())
        keys = try crypto(try VolumeKeys(volumeKey: volumeKey, volume: sealed.file.volume))
        ring = KeyRing(volume: sealed.file.volume, publicKey: sealed.file.publicKey)
        ring.install(classKeyD: try crypto(try slot.classKeyD()))
        ring.install(previousClassKeyD: try sealed.file.previousClassKeyD(device))
        left = Mutex(device.guesses?.left(of: sealed.file.settings.eraseAfter))
        self.storage = storage
        self.isReadOnly = isReadOnly
        self.counted = counted
        found = isReadOnly ? sealed : nil
        self.device = device
        self.sealed = Mutex(sealed)
        isOpenToAll = Atomic(sealed.file.hasNoPasscode)
        hasPreviousKeys = Atomic(sealed.file.previousKeys != nil)
    }

    /// Throws `io` with EROFS if the store is read-only.
    func requireWritable() throws(Failure) {
        if isReadOnly { throw .io(.EROFS, doing: "replacing \(KeybagStorage.current)") }
    }

    // MARK: - Unlocking

    /// The class keys. For a passcode this takes one Argon2 derivation; a cost below today's minimum is then raised.
    /// - Throws: `wrong` for a credential that opens no slot; `lastGuess` for a passcode that must not be the last
    ///   guess; `tampered` if the keybag was changed without its keys.
    public func unlock(_ credential: borrowing Credential) throws(Failure) -> ClassKeys {
        let (sealed, onlyPortable) = inForce()
        if onlyPortable { try requirePortable(credential.kind) }
        let opened = try openSlot(of: sealed, credential)
        if !onlyPortable { device.remember(sealed) }
        // A failure to write the keybag does not make the unlock fail.
        try? raiseCost(of: opened, in: sealed, credential)
        guard let found, found.bytes != sealed.bytes else { return try opened.bundle.classKeys(of: sealed.file) }
        // Of a copy from the middle of a rotation, some files have the previous keys.
        try check(opened.bundle, of: found)
        return try opened.bundle.classKeys(of: found.file)
    }

    /// The same by a passcode: 1 to 1024 bytes.
    public func unlock(passcode: borrowing Secret) throws(Failure) -> ClassKeys {
        try unlock(Credential(.passcode, reading: passcode))
    }

    /// The same by a recovery key: 32 bytes.
    public func unlock(recoveryKey: borrowing Secret) throws(Failure) -> ClassKeys {
        try unlock(Credential(recoveryKey: recoveryKey))
    }

    /// The identifier of the slot that the credential opens.
    /// - Throws: as `unlock`.
    public func slot(openedBy credential: borrowing Credential) throws(Failure) -> UInt32 {
        let (sealed, onlyPortable) = inForce()
        if onlyPortable { try requirePortable(credential.kind) }
        return try openSlot(of: sealed, credential).identifier
    }

    /// The keybag that says what unlocks. If the store is only read, and this machine has seen a newer keybag with the
    /// same keys, it is that one: a passcode that was changed since the backup unlocks nothing.
    ///
    /// If the newer one has other keys, it opens no file of the backup: then only a credential counts that needs no
    /// device key, since that opens a copy of the older keybag on every machine.
    private func inForce() -> (keybag: SealedKeybag, onlyPortable: Bool) {
        let present = sealed.withLock { $0 }
        guard isReadOnly, case .older(let seen, _) = device.age(of: present, counted: counted) else {
            return (present, false)
        }
        guard let newest = seen?.keybag, newest.file.publicKey == present.file.publicKey else { return (present, true) }
        sealed.withLock { $0 = newest }
        isOpenToAll.store(newest.file.hasNoPasscode, ordering: .relaxed)
        return (newest, false)
    }

    private func requirePortable(_ kind: SecretKind) throws(Failure) {
        guard kind.isPortable else { throw .outdatedCredential(kind: kind) }
    }

    struct OpenedSlot: ~Copyable {
        let bundle: Bundle
        /// Its position in the keybag.
        let index: Int
        let identifier: UInt32
    }

    /// The slot that the credential opens, after all checks of an unlock. A passcode is counted, and may have to wait;
    /// the last allowed wrong one destroys the keys.
    func openSlot(
        of sealed: SealedKeybag, _ credential: borrowing Credential
    ) throws(Failure) -> OpenedSlot {
        let opened = try openCountedSlot(of: sealed, credential)
        try learnProof(of: opened.bundle)
        return opened
    }

    private func openCountedSlot(
        of sealed: SealedKeybag, _ credential: borrowing Credential
    ) throws(Failure) -> OpenedSlot {
        guard let guesses = device.guesses else { return try findSlot(of: sealed, credential) }
        defer {
            let now = guesses.left(of: sealed.file.settings.eraseAfter)
            left.withLock { $0 = now }
        }
        guard credential.kind == .passcode else {
            let opened = try findSlot(of: sealed, credential)
            // A failure to reset the count does not make the unlock fail.
            try? guesses.forget()
            return opened
        }
        // Not counted: without the chip no passcode can be right.
        guard device.isGuarded || !sealed.file.allPasscodesNeedChip else { throw .passcodesNeedTPM }
        return try guesses.counted(
            upTo: sealed.file.settings.eraseAfter, mayBeLast: credential.mayBeLast, isGuarded: device.isGuarded,
            erase: { destroyAfterGuesses(deviceKeyPath: guesses.deviceKeyPath).failure.map { "\($0)" } }
        ) { (fingerprint) throws(Failure) in
            try findSlot(of: sealed, credential, &fingerprint)
        }
    }

    /// - Parameter fingerprint: is set to that of a passcode that opens nothing.
    private func findSlot(
        of sealed: SealedKeybag, _ credential: borrowing Credential, _ fingerprint: inout UInt16
    ) throws(Failure) -> OpenedSlot {
        for (index, slot) in sealed.file.slots.enumerated() {
            guard let head = slot.head, let bundle = try slot.open(credential, device, sealed.file.volume, &fingerprint)
            else {
                continue
            }
            try check(bundle, of: sealed)
            return OpenedSlot(bundle: bundle, index: index, identifier: head.identifier)
        }
        throw .wrong(credential.kind)
    }

    func findSlot(
        of sealed: SealedKeybag, _ credential: borrowing Credential
    ) throws(Failure) -> OpenedSlot {
        var fingerprint: UInt16 = 0
        return try findSlot(of: sealed, credential, &fingerprint)
    }

    func check(_ bundle: borrowing Bundle, of sealed: SealedKeybag) throws(Failure) {
        try sealed.verify(bundle)
        try sealed.verify(bundle, against: sealed.openDeviceSlot(device))
    }
}

extension SealedKeybag {
    /// The bundle, by a credential that needs no device key. The caller still has to check it.
    func openWithoutDevice(_ credential: borrowing Credential) throws(Failure) -> Bundle {
        for slot in file.slots {
            if let bundle = try slot.openWithoutDevice(credential, file.volume) { return bundle }
        }
        throw .wrong(credential.kind)
    }
}

extension Bundle {
    /// Nil if the key is the wrong one, which the wrap's integrity check shows.
    static func unwrap(_ wrapped: [UInt8], under key: borrowing Secret) throws(Failure) -> Bundle? {
        do throws(CryptoError) {
            return Bundle(try KeyWrap.unwrap(wrapped, under: key))
        } catch {
            guard error == .notAuthentic else { throw .crypto(error) }
            return nil
        }
    }
}
