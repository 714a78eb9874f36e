import Crypto
import Failure
public import Format
import Posix

// New class keys, while some files are still wrapped for the previous ones.

extension KeyRing {
    /// Whether all keys that are needed to rewrap files are in memory.
    public var canRenew: Bool {
        lock.withShared {
            guard unsafe unlockMACKey != nil else { return false }
            return ProtectionClass.allCases.allSatisfy { unsafe keys.has($0) && previous.has($0) }
        }
    }

    /// Whether the previous key of any class is in memory.
    var isRotating: Bool {
        lock.withShared { ProtectionClass.allCases.contains { unsafe previous.has($0) } }
    }

    /// How many rotations have begun: it grows when the current keys become the previous ones.
    public var generation: UInt64 { rotations.load(ordering: .sequentiallyConsistent) }

    /// Rewraps, for the current keys, what is wrapped for the previous ones; nil if it is wrapped for the current ones.
    ///
    /// The file key is in memory until this returns, and `wipe` waits for that.
    public func renewed(
        _ wrap: FileKeyWrap, file: FileIdentifier, class protectionClass: ProtectionClass
    ) throws(KeyRingError) -> FileKeyWrap? {
        try lock.withShared { () throws(KeyRingError) -> FileKeyWrap? in
            do throws(KeyRingError) {
                _ = try unsafe keys.unwrap(wrap, file, protectionClass, volume)
                return nil
            } catch {
                guard error == .notAuthentic, unsafe previous.has(protectionClass) else { throw error }
                let key = try unsafe previous.unwrap(wrap, file, protectionClass, volume)
                return try unsafe keys.wrap(key, file, protectionClass, volume)
            }
        }
    }

    /// Makes the current keys the previous ones, and installs the new ones. A locked class stays locked: its new key is
    /// not installed.
    func rotate(to new: consuming ClassKeys) {
        var taken = new.taken()
        lock.lockExclusive()
        defer { lock.unlockExclusive() }
        for protectionClass in ProtectionClass.allCases where unsafe !keys.has(protectionClass) {
            taken.set.wipe(protectionClass)
        }
        unsafe swap(&keys, &taken.set)
        unsafe swap(&previous, &taken.set)
        unsafe unlockMACKey = nil
        let isUnlocked = unsafe keys.has(.complete)
        if isUnlocked, let rotation = taken.rotation.take() {
            unsafe unlockMACKey = .some(rotation.unlockMACKey)
        }
        rotations.add(1, ordering: .sequentiallyConsistent)
    }

    /// Installs the previous key of class D, which the device key alone yields.
    func install(previousClassKeyD classKeyD: consuming Secret?) {
        lock.lockExclusive()
        defer { lock.unlockExclusive() }
        unsafe previous.none = consume classKeyD
    }

    /// Wipes the previous keys, once no file is wrapped for them.
    func endRotation() {
        lock.lockExclusive()
        defer { lock.unlockExclusive() }
        unsafe previous = KeySet()
        unsafe unlockMACKey = nil
    }

    /// Lends the key that authenticates the keybag; returns nil if it is not in memory.
    func withUnlockMACKey<Result>(
        _ body: (borrowing Secret) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        try lock.withShared { () throws(Failure) -> Result? in
            switch unsafe unlockMACKey {
            case .some(let key): return try body(key)
            case .none: return nil
            }
        }
    }
}
