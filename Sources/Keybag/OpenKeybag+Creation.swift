public import Crypto
public import Failure
public import Format
public import Store

extension OpenKeybag {
    /// Makes the keybag of a new vault for this device key: one slot for a passcode or for no passcode, optionally one
    /// for a recovery key, and any number of escrow slots.
    ///
    /// - Parameters:
    ///   - first: a passcode, or no passcode.
    ///   - recoveryKey: 32 random bytes. The caller has shown it to the user before: a vault must not come into being
    ///     with a recovery key that the user never saw.
    ///   - escrow: X25519 public keys.
    ///   - cost: at least `Argon2Cost.minimum`.
    ///   - isSynchronised: a program copies the vault's folder between machines.
    /// - Throws: `alreadyAVault` if there is a keybag; then nothing has changed.
    public static func create(
        in store: any Store, deviceKey: consuming DeviceKey, first: borrowing Credential,
        recoveryKey: borrowing Secret, escrow: [[UInt8]] = [], cost: Argon2Cost, settings: KeybagSettings,
        isSynchronised: Bool = false, allowingWeak: Bool = false
    ) throws(Failure) -> OpenKeybag {
        let device = deviceKey
        try first.requireStrength(allowingWeak: allowingWeak || device.hardware != nil)
        let recoveryKey = try Credential(recoveryKey: recoveryKey)
        guard cost.isEnough else { throw .cost(cost) }
        let storage = KeybagStorage(store: store)
        guard try !storage.exists else { throw .alreadyAVault }

        let bundle = try crypto(try Bundle.generated())
        var file = KeybagFile(
            volume: device.volume, settings: settings,
            publicKey: try crypto(try X25519.publicKey(of: bundle.privateKeyB())),
            deviceSlot: try crypto(try DeviceSlotKeys.wrap(bundle, device)), slots: [])
        if isSynchronised { file.features.incompatible |= KeybagFile.synchronisedFeature }
        file.slots.append(try bundle.slot(SlotHead(new: 1), first, cost: cost, device, .empty))
        file.slots.append(try bundle.slot(SlotHead(new: 2), recoveryKey, cost: cost, device, .empty))
        for publicKey in escrow {
            file.slots.append(
                try bundle.escrowSlot(SlotHead(new: file.nextSlotIdentifier), for: publicKey, device.volume, .empty))
        }
        let sealed = try SealedKeybag(sealing: file, bundle, device)
        try storage.create(sealed)
        device.remember(sealed)
        device.count(sealed)
        let made = try OpenKeybag(storage: storage, device: device, sealed: sealed)
        try made.learnProof(of: bundle)
        return made
    }

    /// The same with a passcode of 1 to 1024 bytes.
    public static func create(
        in store: any Store, deviceKey: consuming DeviceKey, passcode: borrowing Secret,
        recoveryKey: borrowing Secret, escrow: [[UInt8]] = [], cost: Argon2Cost, settings: KeybagSettings,
        allowingWeak: Bool = false
    ) throws(Failure) -> OpenKeybag {
        try create(
            in: store, deviceKey: deviceKey, first: Credential(.passcode, reading: passcode), recoveryKey: recoveryKey,
            escrow: escrow, cost: cost, settings: settings, allowingWeak: allowingWeak)
    }

    /// Opens a vault whose device key is lost, with a new device key and a new passcode.
    ///
    /// The slots that need the old device key are removed; the others stay. Only the keybag is written.
    /// - Parameter credential: one that needs no device key.
    /// - Parameter proof: the proof that `check` returned; the vault may have been exchanged since.
    /// - Throws: `wrong`, `tampered`, `damaged`, `otherProof`; then nothing has changed.
    public static func recover(
        in store: any Store, by credential: borrowing Credential, newDeviceKey: consuming DeviceKey,
        newPasscode: borrowing Secret, cost: Argon2Cost, allowingWeak: Bool = false, proof: VaultProof? = nil
    ) throws(Failure) -> OpenKeybag {
        precondition(credential.kind.isPortable)
        let device = newDeviceKey
        let newPasscode = try Credential(.passcode, reading: newPasscode)
        try newPasscode.requireStrength(allowingWeak: allowingWeak || device.hardware != nil)
        guard cost.isEnough else { throw .cost(cost) }
        let storage = KeybagStorage(store: store)
        let current = try storage.loadForRecovery(credential, readOnly: false, proof)
        guard current.file.volume == device.volume else { throw .deviceKeyMismatch }

        let bundle = try current.openWithoutDevice(credential)
        var file = current.file
        // The credential needs no device key, so its holder may use an older keybag. What was removed since stays so.
        if let newest = device.newest(of: bundle, file.publicKey), newest.file.generation > file.generation {
            file.slots = newest.file.slots
        }
        if try storage.hasBecomeSynchronised(since: file) { file.becomeSynchronised() }
        file.generation = max(file.generation, device.newestGeneration)
        try file.advance()
        let head = SlotHead(new: file.nextSlotIdentifier)
        file.rebind(to: try crypto(try DeviceSlotKeys.wrap(bundle, device)))
        try file.rebindPreviousKeys(bundle, device)
        file.slots.insert(try bundle.slot(head, newPasscode, cost: cost, device, .empty), at: 0)
        let recovered = try SealedKeybag(sealing: file, bundle, device)
        try storage.replace(current, by: recovered)
        device.remember(recovered)
        device.count(recovered)
        // The holder of a key was not guessing.
        try? device.guesses?.forget()
        let opened = try OpenKeybag(storage: storage, device: device, sealed: recovered)
        try opened.learnProof(of: bundle)
        return opened
    }

    /// Throws unless a credential that needs no device key opens the vault's keybag. Changes nothing, so the caller
    /// finds a mistake before it makes a new device key.
    ///
    /// - Returns: the proof by which the holder of an escrow key knows the vault. That the credential opens the vault
    ///   does not prove who made it: the public key is enough to make an escrow slot.
    @discardableResult public static func check(
        _ credential: borrowing Credential, in store: any Store
    ) throws(Failure) -> VaultProof {
        let keybag = try KeybagStorage(store: store).loadForRecovery(credential, readOnly: true, nil)
        return try keybag.openWithoutDevice(credential).proof(keybag.file.volume)
    }
}

extension KeybagStorage {
    /// The keybag that the credential opens, after all checks that need no device key.
    fileprivate func loadForRecovery(
        _ credential: borrowing Credential, readOnly: Bool, _ proof: VaultProof?
    ) throws(Failure) -> SealedKeybag {
        try load(readOnly: readOnly) { keybag throws(Failure) in
            let bundle = try keybag.openWithoutDevice(credential)
            try keybag.verify(bundle)
            guard let proof else { return }
            guard try bundle.proof(keybag.file.volume) == proof else { throw .otherProof }
        }
    }
}
