import Crypto
import Failure
import Format

/// The class keys of one generation that are in memory, and the operations with each.
struct KeySet: ~Copyable, Sendable {
    /// The public key of class B, 32 bytes. With it files can be created while their class is locked.
    var publicKey: [UInt8]?
    var complete: Secret?
    var completeUnlessOpenPrivate: X25519.PrivateKey?
    var completeUntilFirstUserAuthentication: Secret?
    var none: Secret?

    init(publicKey: [UInt8]? = nil) { self.publicKey = publicKey }

    init(
        complete: consuming Secret?, completeUnlessOpenPrivate: X25519.PrivateKey?,
        completeUntilFirstUserAuthentication: consuming Secret?, none: consuming Secret?, publicKey: [UInt8]?
    ) {
        self.publicKey = publicKey
        self.complete = consume complete
        self.completeUnlessOpenPrivate = completeUnlessOpenPrivate
        self.completeUntilFirstUserAuthentication = consume completeUntilFirstUserAuthentication
        self.none = consume none
    }

    /// - Parameter classKeys: 128 bytes, as in a bundle.
    init(_ classKeys: borrowing Secret) throws(Failure) {
        do throws(CryptoError) {
            let privateKey = try X25519.PrivateKey(classKeys.slice(32..<64))
            publicKey = try privateKey.publicKey()
            complete = try classKeys.slice(0..<32)
            completeUnlessOpenPrivate = privateKey
            completeUntilFirstUserAuthentication = try classKeys.slice(64..<96)
            none = try classKeys.slice(96..<128)
        } catch { throw .crypto(error) }
    }

    func has(_ protectionClass: ProtectionClass) -> Bool {
        switch protectionClass {
        case .complete: complete != nil
        case .completeUnlessOpen: completeUnlessOpenPrivate != nil
        case .completeUntilFirstUserAuthentication: completeUntilFirstUserAuthentication != nil
        case .none: none != nil
        }
    }

    mutating func wipe(_ protectionClass: ProtectionClass) {
        switch protectionClass {
        case .complete: complete = nil
        case .completeUnlessOpen: completeUnlessOpenPrivate = nil
        case .completeUntilFirstUserAuthentication: completeUntilFirstUserAuthentication = nil
        case .none: none = nil
        }
    }

    // MARK: - File keys

    func wrap(
        _ fileKey: borrowing Secret, _ file: FileIdentifier, _ protectionClass: ProtectionClass,
        _ volume: VolumeIdentifier
    ) throws(KeyRingError) -> FileKeyWrap {
        if protectionClass == .completeUnlessOpen { return try wrapForB(fileKey, file, volume) }
        let wrappingKey = try wrappingKey(file, protectionClass, volume)
        do {
            return FileKeyWrap(
                algorithm: FileKeyWrap.symmetric, bytes: try KeyWrap.wrap(fileKey, under: wrappingKey))
        } catch { throw KeyRingError(error) }
    }

    func unwrap(
        _ wrap: FileKeyWrap, _ file: FileIdentifier, _ protectionClass: ProtectionClass, _ volume: VolumeIdentifier
    ) throws(KeyRingError) -> Secret {
        let wrappingKey: Secret
        let wrapped: [UInt8]
        switch (protectionClass, wrap.algorithm, wrap.bytes.count) {
        case (.completeUnlessOpen, FileKeyWrap.keyAgreement, 72):
            wrapped = Array(wrap.bytes[32...])
            wrappingKey = try agreedKey(file, ephemeral: Array(wrap.bytes[..<32]), volume)
        case (.complete, FileKeyWrap.symmetric, 40), (.completeUntilFirstUserAuthentication, FileKeyWrap.symmetric, 40),
            (.none, FileKeyWrap.symmetric, 40):
            wrapped = wrap.bytes
            wrappingKey = try self.wrappingKey(file, protectionClass, volume)
        default: throw .notAuthentic
        }
        do { return try KeyWrap.unwrap(wrapped, under: wrappingKey) } catch { throw KeyRingError(error) }
    }

    /// The key that wraps the file key of one file of class A, C or D.
    private func wrappingKey(
        _ file: FileIdentifier, _ protectionClass: ProtectionClass, _ volume: VolumeIdentifier
    ) throws(KeyRingError) -> Secret {
        let info = Label.fileKey + file.bytes + [protectionClass.rawValue]
        switch protectionClass {
        case .complete: return try Self.derive(complete, info, volume)
        case .completeUntilFirstUserAuthentication:
            return try Self.derive(completeUntilFirstUserAuthentication, info, volume)
        case .none: return try Self.derive(none, info, volume)
        case .completeUnlessOpen: throw .keyUnavailable
        }
    }

    private static func derive(
        _ classKey: borrowing Secret?, _ info: [UInt8], _ volume: VolumeIdentifier
    ) throws(KeyRingError) -> Secret {
        switch classKey {
        case .some(let key):
            do throws(CryptoError) {
                return try Secret.derived(from: key, salt: volume.bytes, info: info)
            } catch { throw KeyRingError(error) }
        case .none: throw .keyUnavailable
        }
    }

    // MARK: - Class B: one-pass Diffie-Hellman, NIST SP 800-56A section 6.2.2.2

    private func wrapForB(
        _ fileKey: borrowing Secret, _ file: FileIdentifier, _ volume: VolumeIdentifier
    ) throws(KeyRingError) -> FileKeyWrap {
        guard let publicKey else { throw .keyUnavailable }
        do throws(CryptoError) {
            let ephemeral = try X25519.generate()
            let shared = try X25519.agree(ephemeral.privateKey, publicKey)
            let wrappingKey = try Self.keyForB(shared, file, ephemeral: ephemeral.publicKey, publicKey, volume)
            return FileKeyWrap(
                algorithm: FileKeyWrap.keyAgreement,
                bytes: ephemeral.publicKey + (try KeyWrap.wrap(fileKey, under: wrappingKey)))
        } catch { throw KeyRingError(error) }
    }

    private func agreedKey(
        _ file: FileIdentifier, ephemeral: [UInt8], _ volume: VolumeIdentifier
    ) throws(KeyRingError) -> Secret {
        guard let publicKey, let privateKey = completeUnlessOpenPrivate else { throw .keyUnavailable }
        do throws(CryptoError) {
            let shared = try privateKey.agree(ephemeral)
            return try Self.keyForB(shared, file, ephemeral: ephemeral, publicKey, volume)
        } catch { throw KeyRingError(error) }
    }

    private static func keyForB(
        _ shared: borrowing Secret, _ file: FileIdentifier, ephemeral: [UInt8], _ publicKey: [UInt8],
        _ volume: VolumeIdentifier
    ) throws(CryptoError) -> Secret {
        try Secret.derived(
            from: shared, salt: volume.bytes, info: Label.fileKeyB + ephemeral + publicKey + file.bytes)
    }
}
