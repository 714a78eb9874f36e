public import Crypto
public import Format
import Posix
import Synchronization

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

/// The class keys that are at hand, and what is done with them: those that hold now, and while files are being given
/// new ones, those of before.
///
/// Any number of threads at once. `wipe` waits for those that are using a key; after it no copy of the key is left in
/// the ring. The lock in here is a leaf: nothing else is locked while it is held.
public final class KeyRing: Sendable {
    public let volume: VolumeIdentifier
    let lock = ReadWriteLock()
    /// Read with `lock` shared, changed with it held alone, as all below.
    nonisolated(unsafe) var keys: KeySet
    /// Of a rotation that is not finished: files are read with these too, and none is written.
    nonisolated(unsafe) var previous = KeySet()
    /// What the keybag is authenticated with when that is finished; comes and goes with class A's key.
    nonisolated(unsafe) var unlockMACKey: Secret?
    /// Grows when the keys become previous ones: whoever has wrapped a key before has done so for those.
    let rotations = Atomic<UInt64>(0)

    /// A ring without class keys.
    /// - Parameter publicKey: of class B, 32 bytes.
    public init(volume: VolumeIdentifier, publicKey: [UInt8]? = nil) {
        self.volume = volume
        unsafe keys = KeySet(publicKey: publicKey)
    }

    // MARK: - What is at hand

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

    /// Takes the keys of all classes in, over those that are there.
    ///
    /// False, and nothing is done, for keys of before a rotation that has begun since they were asked for.
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

    /// Takes the key of class D in, which the device key alone yields.
    public func install(classKeyD: consuming Secret) {
        lock.lockExclusive()
        defer { lock.unlockExclusive() }
        unsafe keys.none = consume classKeyD
    }

    /// Overwrites and forgets the keys of these classes, those of before too. Class B keeps its public key.
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

    /// Wraps a file's key of 32 bytes for its class.
    public func wrap(
        _ fileKey: borrowing Secret, file: FileIdentifier, class protectionClass: ProtectionClass
    ) throws(KeyRingError) -> FileKeyWrap {
        try lock.withShared { () throws(KeyRingError) in
            try unsafe keys.wrap(fileKey, file, protectionClass, volume)
        }
    }

    /// The key of a file of this class.
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
