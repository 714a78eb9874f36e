import Crypto
import Failure
import Format

// How each kind of slot releases the bundle: docs/FORMAT.md, "Slots".

extension KeybagSlot {
    /// The bundle; nil if the credential is of another kind, or does not open this slot.
    ///
    /// - Parameter fingerprint: is set to that of a passcode.
    func open(
        _ credential: borrowing Credential, _ device: borrowing DeviceKey, _ volume: VolumeIdentifier,
        _ fingerprint: inout UInt16
    ) throws(Failure) -> Bundle? {
        switch self {
        case .passcode(let slot) where credential.kind == .passcode:
            let key = try crypto(try device.passcodeKey(credential.secret, salt: slot.salt, cost: slot.cost))
            let tag = try crypto(try MessageAuthenticator(key: key.copy())).tag(of: Label.guess)
            fingerprint = UInt16(tag[0]) | UInt16(tag[1]) << 8
            guard let sealed = slot.sealed else { return try Bundle.unwrap(slot.wrappedBundle, under: key) }
            // Without its chip, no passcode opens this slot.
            guard let hardware = device.hardware,
                let part = try hardware.unseal(sealed, authorization: crypto(device.authorization(key)))
            else { return nil }
            return try Bundle.unwrap(slot.wrappedBundle, under: crypto(try device.guardedKey(key, part)))
        case .keyFile(let slot) where credential.kind == .keyFile:
            let key = try crypto(try device.keyFileKey(credential.secret, salt: slot.salt))
            return try Bundle.unwrap(slot.wrappedBundle, under: key)
        case .securityKey(let slot) where credential.kind == .securityKey:
            return try slot.open(credential.secret, device)
        case .open(let slot) where credential.kind == .noPasscode:
            let key = try crypto(try device.openSlotKey(salt: slot.salt))
            return try Bundle.unwrap(slot.wrappedBundle, under: key)
        default: return try openWithoutDevice(credential, volume)
        }
    }

    /// The same for slots that need no device key; nil for the others.
    func openWithoutDevice(
        _ credential: borrowing Credential, _ volume: VolumeIdentifier
    ) throws(Failure) -> Bundle? {
        switch self {
        case .recovery(let slot) where credential.kind == .recoveryKey:
            let key = try crypto(try KeySlot.recoveryKey(credential.secret, salt: slot.salt, volume))
            return try Bundle.unwrap(slot.wrappedBundle, under: key)
        case .escrow(let slot) where credential.kind == .escrowKey:
            return try slot.open(credential.secret, volume)
        default: return nil
        }
    }

    /// The kind of credential that opens it; nil for a kind that this program does not know.
    public var credentialKind: Credential.Kind? {
        switch self {
        case .passcode: .passcode
        case .recovery: .recoveryKey
        case .keyFile: .keyFile
        case .escrow: .escrowKey
        case .open: .noPasscode
        case .securityKey: .securityKey
        case .other: nil
        }
    }
}

extension PasscodeSlot {
    public var cost: Argon2Cost { Argon2Cost(memoryKiB: memoryKiB, passes: passes, lanes: lanes) }
}

extension KeySlot {
    /// The key that wraps the bundle of a recovery slot.
    static func recoveryKey(
        _ key: borrowing Secret, salt: [UInt8], _ volume: VolumeIdentifier
    ) throws(CryptoError) -> Secret {
        try .derived(from: key, salt: salt, info: Label.recovery + volume.bytes)
    }
}
