internal import CFIDO2
public import Crypto

// hmac-secret: a key computes HMAC-SHA-256 of a salt under a secret of each credential. It has one secret for use with
// the PIN and another for use without. Traffic with the key is encrypted under a key agreed with it.
//
// Source: CTAP 2.1, sections 6.1, 6.2 and 12.5.

/// What a security key needs to derive a secret again. It contains no secret.
public struct SecurityKeyCredential: Hashable, Sendable {
    public static let saltByteCount = 32
    public static let identifierRange = 1...1024

    /// The key's name of the credential.
    public let identifier: [UInt8]
    public let salt: [UInt8]
    /// Whether the key needs its PIN.
    public let withPIN: Bool
    /// Whether the key needs a touch.
    public let withTouch: Bool

    public init(identifier: [UInt8], salt: [UInt8], withPIN: Bool, withTouch: Bool = true) {
        precondition(Self.identifierRange ~= identifier.count && salt.count == Self.saltByteCount)
        self.identifier = identifier
        self.salt = salt
        self.withPIN = withPIN
        self.withTouch = withTouch
    }
}

extension SecurityKey {
    /// The relying party of the credentials.
    static let party = "io.latchkey"

    /// Makes a credential, which the key itself does not store, and a salt for it. Waits for a touch.
    /// - Parameter pin: the key's, if it has one.
    /// - Throws: `pinRequired`, `wrongPIN`, `pinPaused`, `pinBlocked`, `malformedPIN`, `notTouched`, `denied`, `unfit`,
    ///   `noDevice`, `other`.
    public func makeCredential(pin: borrowing SecurityKeyPIN) throws(FIDO2Error) -> SecurityKeyCredential {
        var identifier = [UInt8](repeating: 0, count: Int(LK_FIDO2_CREDENTIAL_MAX))
        var count = 0
        let result = unsafe pin.withText { unsafe lk_fido2_make(connection, Self.party, $0, &identifier, &count) }
        try checkPIN(result)
        return SecurityKeyCredential(
            identifier: Array(identifier.prefix(count)), salt: Random.bytes(SecurityKeyCredential.saltByteCount),
            withPIN: pin.isGiven)
    }

    /// Whether the key knows the credential; nil if it does not say without a PIN. Needs no touch.
    public func knows(_ credential: SecurityKeyCredential) throws(FIDO2Error) -> Bool? {
        try knows(credential, pin: SecurityKeyPIN())
    }

    /// As above with the PIN, for a key that does not answer without it.
    /// - Throws: as `makeCredential`.
    public func knows(
        _ credential: SecurityKeyCredential, pin: borrowing SecurityKeyPIN
    ) throws(FIDO2Error) -> Bool? {
        let result = unsafe pin.withText { pin in
            unsafe lk_fido2_find(
                connection, Self.party, credential.identifier, credential.identifier.count, pin)
        }
        do throws(FIDO2Error) {
            try checkPIN(result)
            return true
        } catch .unknownCredential {
            return false
        } catch .pinRequired {
            return nil
        }
    }

    /// The secret: 32 bytes. Waits for a touch, unless the credential needs none.
    /// - Parameter pin: the key's PIN if the credential needs it, and otherwise none.
    /// - Throws: as `makeCredential`, and `unknownCredential`.
    public func secret(
        of credential: SecurityKeyCredential, pin: borrowing SecurityKeyPIN
    ) throws(FIDO2Error) -> Secret {
        guard pin.isGiven == credential.withPIN else { throw .pinRequired }
        var secret: Secret
        do { secret = try Secret(count: Int(LK_FIDO2_SECRET_SIZE)) } catch { throw .crypto(error) }
        let result = secret.withMutableBytes { bytes in
            unsafe bytes.withUnsafeMutableBytes { bytes in
                unsafe pin.withText { pin in
                    unsafe lk_fido2_derive(
                        connection, Self.party, credential.identifier, credential.identifier.count, credential.salt,
                        pin,
                        credential.withTouch ? 1 : 0, bytes.baseAddress)
                }
            }
        }
        try checkPIN(result)
        return secret
    }

    private func checkPIN(_ result: lk_fido2_result) throws(FIDO2Error) {
        do throws(FIDO2Error) { try check(result) } catch .wrongPIN {
            throw .wrongPIN(triesLeft: try? tries())
        }
    }
}
