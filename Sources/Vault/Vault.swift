import Format
import Keybag
import Posix
import Store

/// The encrypted tree in a backing folder: what lies there, opened with the keys that are at hand.
///
/// It holds no state of single files; those that are open are `File` objects, of which there is at most one for each
/// inode, and directories `Directory` objects. Both are the caller's to keep. Thread-safe: the store is, the keys are,
/// and operations on one directory's names are ordered by the caller (the kernel holds the directory's lock for each
/// of them).
public final class Vault: Sendable {
    let store: any Store
    let keys: VolumeKeys
    let ring: KeyRing
    let traits: StoreTraits
    let scratches = ScratchPool()
    public let isReadOnly: Bool
    /// The daemon is root: it may open everything and give files away.
    let isPrivileged: Bool
    /// Held exclusively while permissions are lent and while a mode is set, shared while one is told: what is lent is
    /// neither seen nor given back over a change.
    let modes = ReadWriteLock()

    /// `ring` holds the class keys, which come and go during the vault's life.
    public convenience init(
        store: any Store, keys: VolumeKeys, ring: KeyRing, traits: StoreTraits, isReadOnly: Bool
    ) {
        self.init(
            store: store, keys: keys, ring: ring, traits: traits, isReadOnly: isReadOnly,
            isPrivileged: Process.isPrivileged)
    }

    init(
        store: any Store, keys: VolumeKeys, ring: KeyRing, traits: StoreTraits, isReadOnly: Bool, isPrivileged: Bool
    ) {
        self.store = store
        self.keys = keys
        self.ring = ring
        self.traits = traits
        self.isReadOnly = isReadOnly
        self.isPrivileged = isPrivileged
    }

    public var volume: VolumeIdentifier { keys.volume }

    /// Whether existing files of a class can be opened now.
    public func canOpen(_ protectionClass: ProtectionClass) -> Bool { ring.has(protectionClass) }

    public func statistics() throws(VaultError) -> FileSystemStatistics {
        try backing { () throws(Errno) in try store.statistics() }
    }

    /// Makes all that was written durable, as far as the backing store's file system is told of it.
    public func synchronize() throws(VaultError) {
        try backing { () throws(Errno) in try store.synchronizeAll() }
    }

    /// The longest name of an entry, in bytes of plaintext.
    public static let nameMax = 255
}

extension Vault {
    /// Takes class keys in.
    public func admit(_ keys: consuming ClassKeys) { ring.install(keys) }

    /// Wipes class keys.
    public func evict(_ classes: [ProtectionClass]) { ring.wipe(classes) }
}
