public import Crypto
public import Format
import Posix

/// A file key as it lies in the file's header: the algorithm and its output, docs/FORMAT.md "Wrap algorithms".
public struct FileKeyWrap: Hashable, Sendable {
    /// For classes A, C and D: key wrap under a key derived from the class key. 40 bytes.
    public static let symmetric: UInt8 = 1
    /// For class B: an ephemeral X25519 public key and the key wrap. 72 bytes.
    public static let keyAgreement: UInt8 = 2

    public let algorithm: UInt8
    public let bytes: [UInt8]

    public init(algorithm: UInt8, bytes: [UInt8]) {
        self.algorithm = algorithm
        self.bytes = bytes
    }
}

public enum KeyRingError: Error, Hashable, Sendable {
    /// The class key is not at hand: to a program, ENOKEY.
    case keyUnavailable
    /// Not wrapped by this vault's key for this file and class: to a program, EIO.
    case notAuthentic
    case crypto(CryptoError)

    init(_ error: CryptoError) {
        self = error == .notAuthentic ? .notAuthentic : .crypto(error)
    }
}

/// The class keys that are at hand, and what is done with them.
///
/// Any number of threads at once. `wipe` waits for those that are using a key; after it no copy of the key is left in
/// the ring. The lock in here is a leaf: nothing else is locked while it is held.
public final class KeyRing: Sendable {
    private struct Keys: ~Copyable {
        var complete: Secret?
        var completeUnlessOpenPrivate: X25519.PrivateKey?
        var completeUntilFirstUserAuthentication: Secret?
        var none: Secret?
    }

    public let volume: VolumeIdentifier
    /// Of class B. With it files can be created while their class is locked.
    private let publicKey: [UInt8]?
    private let lock = ReadWriteLock()
    /// Read with `lock` shared, changed with it held alone.
    private nonisolated(unsafe) var keys = Keys()

    /// A ring without class keys.
    /// - Parameter publicKey: of class B, 32 bytes.
    public init(volume: VolumeIdentifier, publicKey: [UInt8]? = nil) {
        self.volume = volume
        self.publicKey = publicKey
    }

    // MARK: - What is at hand

    /// Whether existing files of the class can be opened.
    public func has(_ protectionClass: ProtectionClass) -> Bool {
        lock.withShared {
            switch protectionClass {
            case .complete: unsafe keys.complete != nil
            case .completeUnlessOpen: unsafe keys.completeUnlessOpenPrivate != nil
            case .completeUntilFirstUserAuthentication: unsafe keys.completeUntilFirstUserAuthentication != nil
            case .none: unsafe keys.none != nil
            }
        }
    }

    /// Whether files of the class can be created.
    public func canCreate(_ protectionClass: ProtectionClass) -> Bool {
        protectionClass == .completeUnlessOpen && publicKey != nil || has(protectionClass)
    }

    /// The classes whose keys are in memory, the strictest first.
    public var available: [ProtectionClass] {
        ProtectionClass.allCases.filter(has)
    }

    /// Takes the keys of all classes in, over those that are there.
    public func install(_ classKeys: consuming ClassKeys) {
        let new = Keys(
            complete: classKeys.complete, completeUnlessOpenPrivate: classKeys.completeUnlessOpenPrivate,
            completeUntilFirstUserAuthentication: classKeys.completeUntilFirstUserAuthentication, none: classKeys.none)
        lock.lockExclusive()
        defer { lock.unlockExclusive() }
        unsafe keys = new
    }

    /// Takes the key of class D in, which the device key alone yields.
    public func install(classKeyD: consuming Secret) {
        lock.lockExclusive()
        defer { lock.unlockExclusive() }
        unsafe keys.none = consume classKeyD
    }

    /// Overwrites and forgets the keys of these classes. Class B keeps its public key.
    public func wipe(_ classes: some Sequence<ProtectionClass>) {
        lock.lockExclusive()
        defer { lock.unlockExclusive() }
        for protectionClass in classes {
            switch protectionClass {
            case .complete: unsafe keys.complete = nil
            case .completeUnlessOpen: unsafe keys.completeUnlessOpenPrivate = nil
            case .completeUntilFirstUserAuthentication: unsafe keys.completeUntilFirstUserAuthentication = nil
            case .none: unsafe keys.none = nil
            }
        }
    }

    // MARK: - File keys

    /// Wraps a file's key of 32 bytes for its class.
    public func wrap(
        _ fileKey: borrowing Secret, file: FileIdentifier, class protectionClass: ProtectionClass
    ) throws(KeyRingError) -> FileKeyWrap {
        if protectionClass == .completeUnlessOpen { return try wrapForB(fileKey, file: file) }
        let wrappingKey = try wrappingKey(file, protectionClass)
        do {
            return FileKeyWrap(
                algorithm: FileKeyWrap.symmetric, bytes: try KeyWrap.wrap(fileKey, under: wrappingKey))
        } catch { throw KeyRingError(error) }
    }

    /// The key of a file of this class.
    public func unwrap(
        _ wrap: FileKeyWrap, file: FileIdentifier, class protectionClass: ProtectionClass
    ) throws(KeyRingError) -> Secret {
        let wrappingKey: Secret
        let wrapped: [UInt8]
        switch (protectionClass, wrap.algorithm, wrap.bytes.count) {
        case (.completeUnlessOpen, FileKeyWrap.keyAgreement, 72):
            wrapped = Array(wrap.bytes[32...])
            wrappingKey = try agreedKey(file, ephemeral: Array(wrap.bytes[..<32]))
        case (.complete, FileKeyWrap.symmetric, 40), (.completeUntilFirstUserAuthentication, FileKeyWrap.symmetric, 40),
            (.none, FileKeyWrap.symmetric, 40):
            wrapped = wrap.bytes
            wrappingKey = try self.wrappingKey(file, protectionClass)
        default: throw .notAuthentic
        }
        do { return try KeyWrap.unwrap(wrapped, under: wrappingKey) } catch { throw KeyRingError(error) }
    }

    /// Under which the key of one file of class A, C or D is wrapped.
    private func wrappingKey(
        _ file: FileIdentifier, _ protectionClass: ProtectionClass
    ) throws(KeyRingError) -> Secret {
        let info = Label.fileKey + file.bytes + [protectionClass.rawValue]
        return try lock.withShared { () throws(KeyRingError) in
            switch protectionClass {
            case .complete: try unsafe derive(keys.complete, info)
            case .completeUntilFirstUserAuthentication:
                try unsafe derive(keys.completeUntilFirstUserAuthentication, info)
            case .none: try unsafe derive(keys.none, info)
            case .completeUnlessOpen: throw .keyUnavailable
            }
        }
    }

    private func derive(_ classKey: borrowing Secret?, _ info: [UInt8]) throws(KeyRingError) -> Secret {
        switch classKey {
        case .some(let key):
            do throws(CryptoError) {
                return try Secret.derived(from: key, salt: volume.bytes, info: info)
            } catch { throw KeyRingError(error) }
        case .none: throw .keyUnavailable
        }
    }

    // MARK: - Class B: one-pass Diffie-Hellman, NIST SP 800-56A section 6.2.2.2

    private func wrapForB(_ fileKey: borrowing Secret, file: FileIdentifier) throws(KeyRingError) -> FileKeyWrap {
        guard let publicKey else { throw .keyUnavailable }
        do throws(CryptoError) {
            let ephemeral = try X25519.generate()
            let shared = try X25519.agree(ephemeral.privateKey, publicKey)
            let wrappingKey = try keyForB(shared, file, ephemeral: ephemeral.publicKey, publicKey)
            return FileKeyWrap(
                algorithm: FileKeyWrap.keyAgreement,
                bytes: ephemeral.publicKey + (try KeyWrap.wrap(fileKey, under: wrappingKey)))
        } catch { throw KeyRingError(error) }
    }

    private func agreedKey(_ file: FileIdentifier, ephemeral: [UInt8]) throws(KeyRingError) -> Secret {
        guard let publicKey else { throw .keyUnavailable }
        return try lock.withShared { () throws(KeyRingError) in
            switch unsafe keys.completeUnlessOpenPrivate {
            case .some(let privateKey):
                do throws(CryptoError) {
                    let shared = try privateKey.agree(ephemeral)
                    return try keyForB(shared, file, ephemeral: ephemeral, publicKey)
                } catch { throw KeyRingError(error) }
            case .none: throw .keyUnavailable
            }
        }
    }

    private func keyForB(
        _ shared: borrowing Secret, _ file: FileIdentifier, ephemeral: [UInt8], _ publicKey: [UInt8]
    ) throws(CryptoError) -> Secret {
        try Secret.derived(
            from: shared, salt: volume.bytes, info: Label.fileKeyB + ephemeral + publicKey + file.bytes)
    }
}
