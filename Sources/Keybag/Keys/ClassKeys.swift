import Crypto

/// The keys of all four classes as an unlock yields them, to be installed in a `KeyRing`.
public struct ClassKeys: ~Copyable, Sendable {
    let complete: Secret
    let completeUnlessOpenPrivate: X25519.PrivateKey
    let completeUntilFirstUserAuthentication: Secret
    let none: Secret
    /// The public key of class B; nil if the caller does not check whose keys these are.
    let publicKey: [UInt8]?
    /// The keys that finish a rotation under way; nil if there is none.
    let rotation: RotationKeys?

    init(
        complete: consuming Secret, completeUnlessOpenPrivate: X25519.PrivateKey,
        completeUntilFirstUserAuthentication: consuming Secret, none: consuming Secret, publicKey: [UInt8]? = nil,
        rotation: consuming RotationKeys? = nil
    ) {
        self.complete = complete
        self.completeUnlessOpenPrivate = completeUnlessOpenPrivate
        self.completeUntilFirstUserAuthentication = completeUntilFirstUserAuthentication
        self.none = none
        self.publicKey = publicKey
        self.rotation = consume rotation
    }

    struct Taken: ~Copyable {
        var set: KeySet
        var rotation: RotationKeys?
    }

    /// The keys in the form in which a ring holds them.
    consuming func taken() -> Taken {
        Taken(
            set: KeySet(
                complete: complete, completeUnlessOpenPrivate: completeUnlessOpenPrivate,
                completeUntilFirstUserAuthentication: completeUntilFirstUserAuthentication, none: none,
                publicKey: publicKey),
            rotation: rotation)
    }
}

/// What every slot wraps: 192 bytes, six keys of 32.
struct Bundle: ~Copyable {
    static let byteCount = 192

    let bytes: Secret

    init(_ bytes: consuming Secret) {
        precondition(bytes.count == Self.byteCount)
        self.bytes = bytes
    }

    /// The keys of a new vault. An X25519 private key is 32 random bytes, like the other keys.
    static func generated() throws(CryptoError) -> Bundle {
        Bundle(try Secret(random: byteCount))
    }

    func privateKeyB() throws(CryptoError) -> Secret { try bytes.slice(32..<64) }
    func classKeyD() throws(CryptoError) -> Secret { try bytes.slice(96..<128) }
    func volumeKey() throws(CryptoError) -> Secret { try bytes.slice(128..<160) }
    func unlockMACKey() throws(CryptoError) -> Secret { try bytes.slice(160..<192) }

    /// The four class keys, concatenated: 128 bytes.
    func classKeyBytes() throws(CryptoError) -> Secret { try bytes.slice(0..<128) }

    func classKeys(
        publicKey: [UInt8]? = nil, rotation: consuming RotationKeys? = nil
    ) throws(CryptoError) -> ClassKeys {
        ClassKeys(
            complete: try bytes.slice(0..<32), completeUnlessOpenPrivate: try X25519.PrivateKey(privateKeyB()),
            completeUntilFirstUserAuthentication: try bytes.slice(64..<96), none: try classKeyD(),
            publicKey: publicKey, rotation: rotation)
    }
}
