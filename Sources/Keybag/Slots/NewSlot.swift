public import Crypto
import Failure
import Format
import Glibc

/// A slot to be added to a keybag.
public struct NewSlot: ~Copyable, Sendable {
    enum Way: ~Copyable, Sendable {
        case credential(Credential)
        case escrow(publicKey: [UInt8])
    }

    let way: Way
    /// Cost of a passcode; nil for the highest cost among the vault's passcodes.
    let cost: Argon2Cost?
    let allowsWeak: Bool
    /// Of a security key; nil for other kinds.
    let securityKey: SecurityKeyEntry?

    /// A slot that `credential` will open.
    ///
    /// - Parameters:
    ///   - cost: of a passcode; nil for the highest cost among the vault's passcodes.
    ///   - allowingWeak: accepts a weak passcode.
    public init(_ credential: consuming Credential, cost: Argon2Cost? = nil, allowingWeak: Bool = false) {
        way = .credential(credential)
        self.cost = cost
        allowsWeak = allowingWeak
        securityKey = nil
    }

    init(_ credential: consuming Credential, securityKey: SecurityKeyEntry) {
        way = .credential(credential)
        cost = nil
        allowsWeak = false
        self.securityKey = securityKey
    }

    var isPasscode: Bool {
        switch way {
        case .credential(let credential): credential.kind == .passcode
        case .escrow: false
        }
    }

    /// A slot that the private key to this X25519 public key of 32 bytes will open.
    public init(escrow publicKey: [UInt8]) {
        way = .escrow(publicKey: publicKey)
        cost = nil
        allowsWeak = false
        securityKey = nil
    }
}

extension Bundle {
    /// Wraps the bundle for a new slot.
    /// - Parameter cost: of a passcode.
    func slot(
        _ head: SlotHead, _ new: borrowing NewSlot, cost: Argon2Cost, _ device: borrowing DeviceKey,
        _ label: SlotLabel
    ) throws(Failure) -> KeybagSlot {
        switch new.way {
        case .escrow(let publicKey): return try escrowSlot(head, for: publicKey, device.volume, label)
        case .credential(let credential):
            if let entry = new.securityKey {
                return .securityKey(try SecurityKeySlot.wrap(self, entry, credential.secret, device, head, label))
            }
            try credential.requireStrength(allowingWeak: new.allowsWeak || device.hardware != nil)
            return try slot(head, credential, cost: new.cost ?? cost, device, label)
        }
    }

    /// The same for the holder of a private key.
    func escrowSlot(
        _ head: SlotHead, for publicKey: [UInt8], _ volume: VolumeIdentifier, _ label: SlotLabel
    ) throws(Failure) -> KeybagSlot {
        guard publicKey.count == EscrowKey.byteCount else { throw .notAPublicKey }
        do throws(CryptoError) {
            return .escrow(try EscrowSlot.wrap(self, for: publicKey, volume, head, label))
        } catch .notAuthentic { throw .notAPublicKey } catch { throw .crypto(error) }
    }

    /// The same for a credential.
    func slot(
        _ head: SlotHead, _ credential: borrowing Credential, cost: Argon2Cost, _ device: borrowing DeviceKey,
        _ label: SlotLabel
    ) throws(Failure) -> KeybagSlot {
        let salt = Random.bytes(KeybagSlot.saltByteCount)
        switch credential.kind {
        case .passcode:
            guard cost.isEnough else { throw .cost(cost) }
            let key = try crypto(try device.passcodeKey(credential.secret, salt: salt, cost: cost))
            let sealed: [UInt8]?
            let wrappedBundle: [UInt8]
            if let hardware = device.hardware {
                let part = try crypto(try Secret(random: 32))
                sealed = try hardware.seal(part, authorization: crypto(try device.authorization(key)))
                wrappedBundle = try wrapped(under: crypto(try device.guardedKey(key, part)))
            } else {
                sealed = nil
                wrappedBundle = try wrapped(under: key)
            }
            return .passcode(
                PasscodeSlot(
                    head, memoryKiB: cost.memoryKiB, passes: cost.passes, lanes: cost.lanes, salt: salt, sealed: sealed,
                    wrappedBundle: wrappedBundle, label: label))
        case .recoveryKey:
            let key = try crypto(try KeySlot.recoveryKey(credential.secret, salt: salt, device.volume))
            return .recovery(KeySlot(head, salt: salt, wrappedBundle: try wrapped(under: key), label: label))
        case .keyFile:
            let key = try crypto(try device.keyFileKey(credential.secret, salt: salt))
            return .keyFile(KeySlot(head, salt: salt, wrappedBundle: try wrapped(under: key), label: label))
        case .noPasscode:
            let key = try crypto(try device.openSlotKey(salt: salt))
            return .open(KeySlot(head, salt: salt, wrappedBundle: try wrapped(under: key), label: label))
        // A security key's slot also needs its entry, which the secret does not contain.
        case .securityKey: throw .wrong(.securityKey)
        // The public key is enough to make the slot.
        case .escrowKey:
            let publicKey = try crypto(try X25519.publicKey(of: credential.secret))
            return try escrowSlot(head, for: publicKey, device.volume, label)
        }
    }

    func wrapped(under key: borrowing Secret) throws(Failure) -> [UInt8] {
        try crypto(try KeyWrap.wrap(bytes, under: key))
    }
}

extension SlotHead {
    /// The head of a slot that is made now.
    init(new identifier: UInt32) {
        self.init(identifier: identifier, created: UInt64(max(time(nil), 0)))
    }
}
