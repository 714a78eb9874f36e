public import Crypto
public import Format
import Posix
import Synchronization

/// A wrapped file key as the file's header holds it: algorithm and output. docs/FORMAT.md, "Wrap algorithms".
public struct FileKeyWrap: Hashable, Sendable {
    /// Classes A, C and D: key wrap under a key derived from the class key. 40 bytes.
    public static let symmetric: UInt8 = 1
    /// Class B: an ephemeral X25519 public key, then the key wrap. 72 bytes.
    public static let keyAgreement: UInt8 = 2

    public let algorithm: UInt8
    public let bytes: [UInt8]

    public init(algorithm: UInt8, bytes: [UInt8]) {
        self.algorithm = algorithm
        self.bytes = bytes
    }
}

public enum KeyRingError: Error, Hashable, Sendable {
    /// The class key is not in memory; a program gets ENOKEY.
    case keyUnavailable
    /// The wrap was not made with this vault's key for this file and class; a program gets EIO.
    case notAuthentic
    case crypto(CryptoError)

    init(_ error: CryptoError) {
        self = error == .notAuthentic ? .notAuthentic : .crypto(error)
    }
}

/// The class keys in memory, and the operations with them: the current ones and, during a rotation, the previous ones.
///
/// Safe for any number of threads. `wipe` waits for threads that use a key; after it the ring holds no copy of the
/// key.
public final class KeyRing: Sendable {
    public let volume: VolumeIdentifier
    /// Shared while a key is used, exclusive while keys are installed or wiped. Lock order: docs/ARCHITECTURE.md.
    let lock = ReadWriteLock()
    /// Read under `lock` shared, changed under `lock` exclusive; the same holds for the fields below.
    nonisolated(unsafe) var keys: KeySet
    /// The previous keys, during a rotation. Files are read with them too, and none is wrapped for them.
    nonisolated(unsafe) var previous = KeySet()
    /// The key that authenticates the keybag when the rotation is finished; installed and wiped with class A's key.
    nonisolated(unsafe) var unlockMACKey: Secret?
    /// Grows when the current keys become the previous ones: a wrap made at a smaller count is for previous keys.
    let rotations = Atomic<UInt64>(0)

    /// A ring without class keys.
    /// - Parameter publicKey: of class B, 32 bytes.
    public init(volume: VolumeIdentifier, publicKey: [UInt8]? = nil) {
        self.volume = volume
        unsafe keys = KeySet(publicKey: publicKey)
    }

    // MARK: - Keys in memory

    /// Whether existing files of the class can be opened.
    public func has(_ protectionClass: ProtectionClass) -> Bool {
        lock.withShared { unsafe keys.has(protectionClass) }
    }

    /// Whether files of the class can be created.
    public func canCreate(_ protectionClass: ProtectionClass) -> Bool {
        lock.withShared {
            unsafe protectionClass == .completeUnlessOpen && keys.publicKey != nil || keys.has(protectionClass)
        }
    }

    /// The classes whose keys are in memory, the strictest first.
    public var available: [ProtectionClass] {
        ProtectionClass.allCases.filter(has)
    }

    /// Installs the keys of all classes, over those that are there.
    ///
    /// Returns false and does nothing if a rotation has begun since the keys were read: they are the previous ones.
    @discardableResult
    public func install(_ classKeys: consuming ClassKeys) -> Bool {
        var taken = classKeys.taken()
        lock.lockExclusive()
        defer { lock.unlockExclusive() }
        let own = unsafe keys.publicKey
        if let publicKey = taken.set.publicKey, let own, own != publicKey { return false }
        unsafe swap(&keys, &taken.set)
        unsafe keys.publicKey = own
        if var rotation = taken.rotation.take() {
            unsafe swap(&previous, &rotation.previous)
            unsafe unlockMACKey = .some(rotation.unlockMACKey)
        }
        return true
    }

    /// Installs the key of class D, which the device key alone yields.
    public func install(classKeyD: consuming Secret) {
        lock.lockExclusive()
        defer { lock.unlockExclusive() }
        unsafe keys.none = consume classKeyD
    }

    /// Overwrites and forgets the keys of these classes, the previous ones too. Class B keeps its public key.
    public func wipe(_ classes: some Sequence<ProtectionClass>) {
        lock.lockExclusive()
        defer { lock.unlockExclusive() }
        for protectionClass in classes {
            unsafe keys.wipe(protectionClass)
            unsafe previous.wipe(protectionClass)
            if protectionClass == .complete { unsafe unlockMACKey = nil }
        }
    }

    // MARK: - File keys

    /// Wraps a file key of 32 bytes for the file's class.
    public func wrap(
        _ fileKey: borrowing Secret, file: FileIdentifier, class protectionClass: ProtectionClass
    ) throws(KeyRingError) -> FileKeyWrap {
        try lock.withShared { () throws(KeyRingError) in
            try unsafe keys.wrap(fileKey, file, protectionClass, volume)
        }
    }

    /// Unwraps the key of a file of this class.
    public func unwrap(
        _ wrap: FileKeyWrap, file: FileIdentifier, class protectionClass: ProtectionClass
    ) throws(KeyRingError) -> Secret {
        try lock.withShared { () throws(KeyRingError) in
            do throws(KeyRingError) { return try unsafe keys.unwrap(wrap, file, protectionClass, volume) } catch {
                guard error == .notAuthentic, unsafe previous.has(protectionClass) else { throw error }
                return try unsafe previous.unwrap(wrap, file, protectionClass, volume)
            }
        }
    }
}
