public import Crypto
public import Format
import Glibc
public import Store

/// A new vault's keybag, and the one moment at which its recovery key exists.
public struct CreatedKeybag: ~Copyable {
    public let keybag: OpenKeybag
    /// 32 bytes, for `RecoveryKeyText`.
    public let recoveryKey: Secret

    public consuming func takeRecoveryKey() -> Secret { recoveryKey }
}

extension OpenKeybag {
    /// Makes the keybag of a new vault, with a passcode slot and a recovery slot. The vault is that of the device key.
    /// - Parameter passcode: 1 to 1024 bytes.
    /// - Parameter cost: at least `Argon2Cost.minimum`.
    /// - Throws: `alreadyAVault` if there is a keybag; then nothing has changed.
    public static func create(
        in store: any Store, deviceKey: consuming DeviceKey, passcode: borrowing Secret, cost: Argon2Cost,
        settings: KeybagSettings
    ) throws(KeybagError) -> CreatedKeybag {
        let device = deviceKey
        try requirePasscode(passcode)
        guard cost.isEnough else { throw .cost(cost) }
        let storage = KeybagStorage(store: store)
        guard try !storage.exists else { throw .alreadyAVault }

        let bundle = try crypto(try Bundle.generated())
        let recoveryKey = try crypto(try Secret(random: RecoveryKeyText.keyByteCount))
        let file = KeybagFile(
            volume: device.volume, settings: settings,
            publicKey: try crypto(try X25519.publicKey(of: bundle.privateKeyB())),
            deviceSlot: try crypto(try DeviceSlotKeys.wrap(bundle, device)),
            slots: [
                .passcode(try bundle.passcodeSlot(1, passcode, cost, device)),
                .recovery(try bundle.recoverySlot(2, recoveryKey, device.volume)),
            ])
        let sealed = try SealedKeybag(sealing: file, bundle, device)
        try storage.create(sealed)
        return CreatedKeybag(
            keybag: try OpenKeybag(storage: storage, device: device, sealed: sealed), recoveryKey: recoveryKey)
    }

    /// Gives the slot that `old` opens a new passcode. No file is touched, and the class keys stay as they are.
    /// - Parameter cost: nil for that of the old one.
    /// - Throws: `wrongPasscode` and the rest of `unlock`; `io` in a store that is only read. Then nothing has changed.
    public func changePasscode(
        from old: borrowing Secret, to new: borrowing Secret, cost: Argon2Cost? = nil
    ) throws(KeybagError) {
        try requireWritable()
        try requirePasscode(new)
        if let cost, !cost.isEnough { throw .cost(cost) }
        let current = sealed.withLock { $0 }
        let opened = try openSlot(of: current, passcode: old)
        guard case .passcode(let slot) = current.file.slots[opened.index] else { throw .wrongPasscode }
        var file = current.file
        file.generation += 1
        file.slots[opened.index] = .passcode(
            try opened.bundle.passcodeSlot(slot.identifier, new, cost ?? slot.cost, device, slot.label))
        let changed = try SealedKeybag(sealing: file, opened.bundle, device)
        try sealed.withLock { sealed throws(KeybagError) in
            // Argon2 ran without the lock; another change may have come first.
            guard sealed.bytes == current.bytes else { throw .wrongPasscode }
            try storage.replace(sealed, by: changed)
            sealed = changed
        }
    }

    /// Opens a vault whose device key is gone: by the recovery key, with a new device key and a new passcode.
    ///
    /// The passcode slots go, for they need the old device key; the recovery key stays. No file is touched.
    /// - Throws: `wrongRecoveryKey`, `tampered`, `damaged`; then nothing has changed.
    public static func recover(
        in store: any Store, recoveryKey: borrowing Secret, newDeviceKey: consuming DeviceKey,
        newPasscode: borrowing Secret, cost: Argon2Cost
    ) throws(KeybagError) -> OpenKeybag {
        let device = newDeviceKey
        try requirePasscode(newPasscode)
        guard cost.isEnough else { throw .cost(cost) }
        let storage = KeybagStorage(store: store)
        let current = try storage.loadForRecovery(recoveryKey, readOnly: false)
        guard current.file.volume == device.volume else { throw .deviceKeyMismatch }

        let bundle = try current.openRecoverySlot(recoveryKey)
        var file = current.file
        file.generation += 1
        file.deviceSlot = try crypto(try DeviceSlotKeys.wrap(bundle, device))
        let identifier = file.nextSlotIdentifier
        file.slots.removeAll { slot in
            if case .passcode = slot { true } else { false }
        }
        file.slots.insert(.passcode(try bundle.passcodeSlot(identifier, newPasscode, cost, device)), at: 0)
        let recovered = try SealedKeybag(sealing: file, bundle, device)
        try storage.replace(current, by: recovered)
        return try OpenKeybag(storage: storage, device: device, sealed: recovered)
    }

    /// Whether `recoveryKey` opens the vault's keybag. Nothing is changed, so that a mistake is found before a new
    /// device key is made.
    public static func check(recoveryKey: borrowing Secret, in store: any Store) throws(KeybagError) {
        _ = try KeybagStorage(store: store).loadForRecovery(recoveryKey, readOnly: true)
    }
}

extension KeybagStorage {
    /// The keybag that the recovery key opens, with all that can be checked without a device key.
    fileprivate func loadForRecovery(
        _ recoveryKey: borrowing Secret, readOnly: Bool
    ) throws(KeybagError) -> SealedKeybag {
        try load(readOnly: readOnly) { keybag throws(KeybagError) in
            try keybag.verify(keybag.openRecoverySlot(recoveryKey))
        }
    }
}

extension Bundle {
    fileprivate func passcodeSlot(
        _ identifier: UInt32, _ passcode: borrowing Secret, _ cost: Argon2Cost, _ device: borrowing DeviceKey,
        _ label: SlotLabel = .empty
    ) throws(KeybagError) -> PasscodeSlot {
        let salt = Random.bytes(KeybagSlot.saltByteCount)
        let key = try crypto(try device.passcodeKey(passcode, salt: salt, cost: cost))
        return PasscodeSlot(
            identifier: identifier, created: now(), memoryKiB: cost.memoryKiB, passes: cost.passes, lanes: cost.lanes,
            salt: salt, wrappedBundle: try crypto(try KeyWrap.wrap(bytes, under: key)), label: label)
    }

    fileprivate func recoverySlot(
        _ identifier: UInt32, _ recoveryKey: borrowing Secret, _ volume: VolumeIdentifier
    ) throws(KeybagError) -> RecoverySlot {
        let salt = Random.bytes(KeybagSlot.saltByteCount)
        let key = try crypto(try RecoverySlot.key(recoveryKey, salt: salt, volume))
        return RecoverySlot(
            identifier: identifier, created: now(), salt: salt,
            wrappedBundle: try crypto(try KeyWrap.wrap(bytes, under: key)), label: .empty)
    }
}

extension KeybagFile {
    fileprivate var nextSlotIdentifier: UInt32 {
        slots.reduce(0) { largest, slot in
            switch slot {
            case .passcode(let slot): max(largest, slot.identifier)
            case .recovery(let slot): max(largest, slot.identifier)
            case .other: largest
            }
        } &+ 1
    }
}

/// Seconds since 1970.
private func now() -> UInt64 { UInt64(max(time(nil), 0)) }
