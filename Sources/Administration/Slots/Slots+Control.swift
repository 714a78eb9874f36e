public import Control
public import Crypto
public import Failure
public import Format
public import Keybag

// The keybag's slots and credentials, and the types of the control socket for them.

extension Credential {
    /// A credential that a client has passed.
    public init(_ opener: Opener, reading secret: borrowing Secret) throws(Failure) {
        try self.init(opener.kind, reading: secret, mayBeLast: opener.mayBeLast)
    }
}

extension Slot {
    /// The description of a slot, without its secrets.
    public init(_ slot: KeybagSlot) {
        self.init(
            id: Int(slot.head?.identifier ?? 0), kind: slot.credentialKind?.rawValue ?? "unknown",
            created: Int(clamping: slot.head?.created ?? 0), name: slot.label.text,
            isPortable: slot.credentialKind?.isPortable ?? false)
    }
}

extension NewSlot {
    public init(_ new: borrowing NewSecret) throws(Failure) {
        switch new.secret {
        case .some(let secret) where new.securityKey != nil:
            guard let entry = new.securityKey.flatMap(SecurityKeyEntry.init) else { throw .wrong(.securityKey) }
            try self.init(securityKey: entry, secret: secret)
        case .some(let secret):
            self.init(try Credential(new.kind, reading: secret), allowingWeak: new.allowsWeak)
        case .none:
            guard let key = [UInt8](hexadecimal: new.publicKey) else { throw .notAPublicKey }
            self.init(escrow: key)
        }
    }
}

extension SecurityKeyEntry {
    /// Nil for malformed fields.
    public init?(_ key: NewSecurityKey) {
        guard let identifier = [UInt8](hexadecimal: key.credential), let salt = [UInt8](hexadecimal: key.salt) else {
            return nil
        }
        var demands: SecurityKeySlot.Demands = []
        if key.withPIN { demands.insert(.verification) }
        if key.withTouch { demands.insert(.presence) }
        self.init(demands: demands, identifier: identifier, salt: salt)
    }
}
