import Format
import Keybag
import Posix
import Store
import Synchronization

/// The encrypted tree in a backing folder: what lies there, opened with the keys that are at hand.
///
/// It holds no state of single files; those that are open are `File` objects, of which there is at most one for each
/// inode, and directories `Directory` objects. Both are the caller's to keep. Thread-safe: the store is, the keys are,
/// and operations on one directory's names are ordered by the caller (the kernel holds the directory's lock for each
/// of them).
public final class Vault: Sendable {
    package let store: any Store
    package let keys: VolumeKeys
    package let ring: KeyRing
    package let traits: StoreTraits
    let scratches = ScratchPool()
    let files = FileTable()
    let fileKeys = KeyCount()
    let renames = ConcurrentRenames()
    /// How many file keys are in memory. Waits for nobody.
    public var fileKeysInMemory: Int { fileKeys.count.load(ordering: .relaxed) }
    /// Held shared while the path of a file is put into the journal, and exclusively while a folder gets another name.
    let paths = ReadWriteLock()
    /// Held by whoever checkpoints files.
    let checkpointing = Mutex<Void>(())
    /// Opened with the root.
    let journal = Mutex<Journal?>(nil)
    /// Sessions that ended in a crash: what is empty since then was never synced.
    package let windows = Mutex<[JournalHead.Window]>([])
    /// Of a vault that is only read: what its journal says.
    let overlays = Mutex(Overlays())
    let sidecars = StaleSidecars()
    /// Backing inodes of files whose summaries were found not to be true.
    let distrusted = Mutex<Set<UInt64>>([])
    /// Grows with each header that is written to a backing file.
    let headerWrites = Atomic<UInt64>(0)
    /// Held during a flush of all files at once.
    let flushingAll = RecursiveLock()
    /// The name of the folder of long targets is durable.
    let hasFlushedTargets = Atomic(false)
    /// Why a flush of all has failed, if one has.
    let flushAllFailure = Mutex<Errno?>(nil)
    /// Why flushes of single folders have failed, by their inodes.
    let folderFailures = Mutex<[UInt64: Errno]>([:])
    /// In a structure: a closure that a mutex holds bare is wrapped once more by each look at it, until a call of it
    /// takes all of the stack.
    private struct CheckpointObserver: Sendable {
        let note: @Sendable (FileStatus, FileHeader) -> Void
    }

    private let checkpointObserver = Mutex<CheckpointObserver?>(nil)
    package let halfSize: UInt64
    /// Wakes the checkpointer, if there is one.
    let lowSpace = Mutex<Wakeup?>(nil)
    private let dirtyLimit = Atomic<Int>(1024)
    /// How many files may wait to be checkpointed: each keeps a descriptor open.
    public var mostDirtyFiles: Int {
        get { dirtyLimit.load(ordering: .relaxed) }
        set { dirtyLimit.store(max(64, newValue), ordering: .relaxed) }
    }
    public let isReadOnly: Bool
    /// What is made gets no weaker class, whatever its folder says.
    let minimumClass: ProtectionClass
    /// The daemon is root: it may open everything and give files away.
    let isPrivileged: Bool
    /// Held exclusively while permissions are lent and while a mode is set, shared while one is told: what is lent is
    /// neither seen nor given back over a change.
    let modes = ReadWriteLock()

    /// `ring` holds the class keys, which come and go during the vault's life.
    ///
    /// - Parameters:
    ///   - minimumClass: of what is made, whatever its folder says.
    ///   - halfSize: bytes of each half of the journal, a multiple of 4096, at least `smallestHalfSize`; nil for as
    ///     many as are usual.
    public convenience init(
        store: any Store, keys: VolumeKeys, ring: KeyRing, traits: StoreTraits,
        minimumClass: ProtectionClass = .none, isReadOnly: Bool, halfSize: UInt64? = nil
    ) {
        precondition(halfSize ?? Self.smallestHalfSize >= Self.smallestHalfSize)
        self.init(
            store: store, keys: keys, ring: ring, traits: traits, minimumClass: minimumClass, isReadOnly: isReadOnly,
            isPrivileged: Process.isPrivileged, halfSize: halfSize ?? Journal.usualHalfSize)
    }

    /// Bytes of a journal's half that holds all that one change can write at once.
    public static let smallestHalfSize: UInt64 = 1280 << 10

    init(
        store: any Store, keys: VolumeKeys, ring: KeyRing, traits: StoreTraits,
        minimumClass: ProtectionClass = .none, isReadOnly: Bool, isPrivileged: Bool,
        halfSize: UInt64 = Journal.usualHalfSize
    ) {
        self.halfSize = halfSize
        self.store = store
        self.keys = keys
        self.ring = ring
        self.traits = traits
        self.isReadOnly = isReadOnly
        self.minimumClass = minimumClass
        self.isPrivileged = isPrivileged
    }

    public var volume: VolumeIdentifier { keys.volume }

    /// Whether existing files of a class can be opened now.
    public func canOpen(_ protectionClass: ProtectionClass) -> Bool { ring.has(protectionClass) }

    public func statistics() throws(VaultError) -> FileSystemStatistics {
        try backing { () throws(Errno) in try store.statistics() }
    }

    /// Makes all that was written durable.
    public func synchronize() throws(VaultError) {
        try checkpoint()
        // Those that were truncated or written to meanwhile may have been left as they were.
        if !isReadOnly { for file in files.dirty { try file.persistLength() } }
        try flushAll()
    }

    /// The longest name of an entry, in bytes of plaintext.
    public static let nameMax = 255
}

extension Vault {
    /// Has `observer` told of each file whose header is written behind its users' backs, with the backing file's
    /// status. It is called under locks that requests hold: it must not wait for any.
    public func observeCheckpoints(_ observer: @escaping @Sendable (FileStatus, FileHeader) -> Void) {
        checkpointObserver.withLock { $0 = CheckpointObserver(note: observer) }
    }

    func noteCheckpoint(_ status: FileStatus, _ header: FileHeader) {
        checkpointObserver.withLock { $0 }?.note(status, header)
    }
}

extension Vault {
    /// Takes class keys in; false for those of before a rotation that has begun meanwhile.
    @discardableResult
    public func admit(_ keys: consuming ClassKeys) -> Bool { ring.install(keys) }

    /// Wipes class keys.
    public func evict(_ classes: [ProtectionClass]) { ring.wipe(classes) }
}
