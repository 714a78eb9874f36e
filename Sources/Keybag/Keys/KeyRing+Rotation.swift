import Crypto
import Failure
public import Format
import Posix

// New class keys while files are wrapped for the old ones.

extension KeyRing {
    /// Whether all is at hand that it takes to give files the new keys.
    public var canRenew: Bool {
        lock.withShared {
            guard unsafe unlockMACKey != nil else { return false }
            return ProtectionClass.allCases.allSatisfy { unsafe keys.has($0) && previous.has($0) }
        }
    }

    /// Whether there are previous keys of any class.
    var isRotating: Bool {
        lock.withShared { ProtectionClass.allCases.contains { unsafe previous.has($0) } }
    }

    /// How often the keys have become previous ones.
    public var generation: UInt64 { rotations.load(ordering: .sequentiallyConsistent) }

    /// The wrap for the keys of now of what is wrapped for the previous ones; nil for what is wrapped for those of now.
    ///
    /// The file's key is in memory for as long as this takes, and `wipe` waits for it.
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

    /// Makes the keys of now the previous ones, and takes new ones in for the classes whose keys are at hand: what is
    /// locked stays so.
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

    /// Takes the previous key of class D in, which the device key alone yields.
    func install(previousClassKeyD classKeyD: consuming Secret?) {
        lock.lockExclusive()
        defer { lock.unlockExclusive() }
        unsafe previous.none = consume classKeyD
    }

    /// No file is wrapped for the previous keys any more.
    func endRotation() {
        lock.lockExclusive()
        defer { lock.unlockExclusive() }
        unsafe previous = KeySet()
        unsafe unlockMACKey = nil
    }

    /// Lends what authenticates the keybag; nil while that is not at hand.
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
