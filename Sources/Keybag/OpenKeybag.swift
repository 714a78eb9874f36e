public import Crypto
public import Failure
public import Format
public import Store
import Synchronization

/// The keybag of a vault whose device key is at hand: what a mount needs before anyone has given a passcode, and the
/// way to the rest.
///
/// Any number of threads at once; changes wait for each other. Whoever opens a vault to change it holds `lk.lock`.
public final class OpenKeybag: Sendable {
    public let keys: VolumeKeys
    /// Holds the key of class D, and B's public key. What `unlock` returns is the caller's to install.
    public let ring: KeyRing

    let device: DeviceKey
    let storage: KeybagStorage
    private let isReadOnly: Bool
    let sealed: Mutex<SealedKeybag>
    /// Apart from `sealed`, which is held while the disk is waited for.
    let isOpenToAll: Atomic<Bool>
    /// Changed under `sealed`: nothing is to be put in the place of what was destroyed.
    let isDestroyed = Atomic(false)
    /// The same.
    let hasPreviousKeys: Atomic<Bool>
    private let left: Mutex<Guesses?>
    private let knownProof = Mutex<VaultProof?>(nil)

    public var volume: VolumeIdentifier { keys.volume }
    public var settings: KeybagSettings { file.settings }
    /// What lies in the keybag in clear, as of now.
    public var file: KeybagFile { sealed.withLock { $0.file } }

    /// Whether a chip holds the device key, and counts wrong passcodes.
    public var isGuarded: Bool { device.isGuarded }

    /// Whether the device key alone opens the vault. Answers at once.
    public var hasNoPasscode: Bool { isOpenToAll.load(ordering: .relaxed) }

    /// How many wrong passcodes the vault takes, as of the last passcode that was tried here; nil where there is no limit. Answers
    /// at once.
    public var guessesLeft: Guesses? { left.withLock { $0 } }

    /// What the holder of an escrow key knows the vault by; nil before anything has opened it here. Answers at once.
    public var proof: VaultProof? { knownProof.withLock { $0 } }

    func learnProof(of bundle: borrowing Bundle) throws(Failure) {
        learn(try bundle.proof(volume))
    }

    func learn(_ proof: VaultProof) { knownProof.withLock { $0 = proof } }

    /// Whether `lk.keybag` is another than the one that was opened: that one was `lk.keybag.old` then, and has not been
    /// put back.
    public var isPrevious: Bool { (try? storage.read(KeybagStorage.current).bytes) != sealed.withLock { $0.bytes } }

    /// What a keybag says of itself, with nothing proved: enough to find the device key by.
    public static func inspect(_ store: any Store) throws(Failure) -> KeybagFile {
        try KeybagStorage(store: store).load(readOnly: true) { _ in }.file
    }

    /// Opens the keybag with its device key, the device MAC checked.
    ///
    /// If `lk.keybag` does not check and `lk.keybag.old` does, that one is used and put back.
    /// - Parameter readOnly: nothing in the store is changed.
    /// - Throws: `deviceKeyMismatch`, `tampered`, `damaged`, `notAVault`.
    public static func open(
        in store: any Store, deviceKey: consuming DeviceKey, readOnly: Bool = false
    ) throws(Failure) -> OpenKeybag {
        let storage = KeybagStorage(store: store)
        let device = deviceKey
        let sealed = try storage.load(readOnly: readOnly) { keybag throws(Failure) in
            guard readOnly || keybag.file.canWrite else { throw .foreignFeature }
            _ = try keybag.openDeviceSlot(device)
        }
        return try OpenKeybag(storage: storage, device: device, sealed: sealed, isReadOnly: readOnly)
    }

    init(
        storage: KeybagStorage, device: consuming DeviceKey, sealed: SealedKeybag, isReadOnly: Bool = false
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
        self.device = device
        self.sealed = Mutex(sealed)
        isOpenToAll = Atomic(sealed.file.hasNoPasscode)
        hasPreviousKeys = Atomic(sealed.file.previousKeys != nil)
    }

    /// `io` with EROFS where nothing in the store may be changed.
    func requireWritable() throws(Failure) {
        if isReadOnly { throw .io(.EROFS, doing: "replacing \(KeybagStorage.current)") }
    }

    // MARK: - Unlocking

    /// The class keys. With a passcode it takes as long as its Argon2 cost does, and makes that what it has to be by now.
    /// - Throws: `wrong` for a credential that opens nothing; `lastGuess` for a passcode that must not be the last; `tampered` if the keybag is not as a key's holder left it.
    public func unlock(_ credential: borrowing Credential) throws(Failure) -> ClassKeys {
        let sealed = sealed.withLock { $0 }
        let opened = try openSlot(of: sealed, credential)
        // Whoever cannot write has unlocked all the same.
        try? raiseCost(of: opened, in: sealed, credential)
        return try opened.bundle.classKeys(of: sealed.file)
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
        let sealed = sealed.withLock { $0 }
        return try openSlot(of: sealed, credential).identifier
    }

    struct OpenedSlot: ~Copyable {
        let bundle: Bundle
        /// Where in the keybag.
        let index: Int
        let identifier: UInt32
    }

    /// The slot that the credential opens, all checks of an unlock made. A passcode is counted, and may have to wait; the last
    /// wrong one that the vault takes destroys its keys.
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
            // Whoever cannot write there has opened it all the same.
            try? guesses.forget()
            return opened
        }
        // Not counted: no passcode could be right.
        guard device.isGuarded || !sealed.file.allPasscodesNeedChip else { throw .passcodesNeedTPM }
        return try guesses.counted(
            upTo: sealed.file.settings.eraseAfter, mayBeLast: credential.mayBeLast, isGuarded: device.isGuarded,
            erase: { destroy(deviceKeyPath: guesses.deviceKeyPath, keepingCount: true).failure.map { "\($0)" } }
        ) { (fingerprint) throws(Failure) in
            try findSlot(of: sealed, credential, &fingerprint)
        }
    }

    /// - Parameter fingerprint: of a passcode that opens nothing.
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

    private func check(_ bundle: borrowing Bundle, of sealed: SealedKeybag) throws(Failure) {
        try sealed.verify(bundle)
        try sealed.verify(bundle, against: sealed.openDeviceSlot(device))
    }
}

extension SealedKeybag {
    /// The bundle by a credential that needs no device key, its checks still to be made.
    func openWithoutDevice(_ credential: borrowing Credential) throws(Failure) -> Bundle {
        for slot in file.slots {
            if let bundle = try slot.openWithoutDevice(credential, file.volume) { return bundle }
        }
        throw .wrong(credential.kind)
    }
}

extension Bundle {
    /// Nil if the key is another one: the wrap itself tells.
    static func unwrap(_ wrapped: [UInt8], under key: borrowing Secret) throws(Failure) -> Bundle? {
        do throws(CryptoError) {
            return Bundle(try KeyWrap.unwrap(wrapped, under: key))
        } catch {
            guard error == .notAuthentic else { throw .crypto(error) }
            return nil
        }
    }
}
