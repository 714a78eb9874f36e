import Format
import Keybag
import Posix
import Store
import Synchronization
import Writeback

/// The encrypted tree in a backing folder, opened with the keys that are in memory.
///
/// It has no state of single files: open files are `File` objects, at most one for each inode, and directories are
/// `Directory` objects. The caller keeps both. Thread-safe: the store and the keys are, and the caller orders the
/// operations on one directory's names (the kernel holds the directory's lock for each of them).
public final class Vault: Sendable {
    package let store: any Store
    package let keys: VolumeKeys
    package let ring: KeyRing
    public let traits: StoreTraits
    let scratches = ScratchPool()
    let files = FileTable()
    let fileKeys = KeyCount()
    let renames = ConcurrentRenames()
    /// How many file keys are in memory. Takes no lock.
    public var fileKeysInMemory: Int { fileKeys.count.load(ordering: .relaxed) }
    /// Held shared while the path of a file is put into the journal, exclusively while a folder gets another name. Lock
    /// order: docs/ARCHITECTURE.md.
    let paths = ReadWriteLock()
    /// Held while files are checkpointed. Lock order: docs/ARCHITECTURE.md.
    let checkpointing = Mutex<Void>(())
    /// Opened with the root. Lock order: docs/ARCHITECTURE.md.
    let journal = ContendedMutex<Journal?>(nil)
    /// The sessions that ended in a crash: an entry that was last changed in one of them and is empty was never synced.
    /// Lock order: docs/ARCHITECTURE.md.
    package let windows = Mutex<[JournalHead.Window]>([])
    /// What the journal of a read-only vault says. Lock order: docs/ARCHITECTURE.md.
    let overlays = Mutex(Overlays())
    let sidecars = StaleSidecars()
    let attributeFolder = AttributeFolder()
    let tombstones = LeftTombstones()
    /// Backing inodes of files whose summaries were found to be false. Lock order: docs/ARCHITECTURE.md.
    let distrusted = Mutex<Set<UInt64>>([])
    /// Grows with each header that is written to a backing file.
    let headerWrites = Atomic<UInt64>(0)
    /// For flushes of the whole store.
    let flushesOfAll = FlushGuard()
    /// The name of the folder of long symlink targets is durable.
    let hasFlushedTargets = Atomic(false)
    /// The errors of flushes of single folders, by the folders' inodes. Lock order: docs/ARCHITECTURE.md.
    let folderFailures = Mutex<[UInt64: Errno]>([:])
    let flushedHeaders = FlushedHeaders()
    /// In a structure: if a mutex holds a bare closure, each access wraps it once more, until a call of it takes all of
    /// the stack.
    private struct CheckpointObserver: Sendable {
        let note: @Sendable (FileStatus, FileHeader) -> Void
    }

    /// Lock order: docs/ARCHITECTURE.md.
    private let checkpointObserver = Mutex<CheckpointObserver?>(nil)
    /// Whether another process held the vault before and may still have its journal open.
    let tookOver: Bool
    package let journalSize: JournalSize
    /// Wakes the checkpointer, if there is one.
    let lowSpace = Mutex<Wakeup?>(nil)
    private let dirtyLimit = Atomic<Int>(1024)
    /// How many files may be dirty: each keeps a descriptor open.
    public var mostDirtyFiles: Int {
        get { dirtyLimit.load(ordering: .relaxed) }
        set { dirtyLimit.store(max(64, newValue), ordering: .relaxed) }
    }
    public let isReadOnly: Bool
    /// The weakest class that a new entry gets, whatever its folder says.
    let minimumClass: ProtectionClass
    /// The daemon is root: it may open all files and change their owners.
    let isPrivileged: Bool
    /// Held exclusively while permissions are lent and while a mode is set, shared while a mode is read: a lent
    /// permission is not shown, and giving it back does not undo a change. Lock order: docs/ARCHITECTURE.md.
    let modes = ReadWriteLock()

    /// `ring` holds the class keys, which come and go during the vault's life.
    ///
    /// - Parameters:
    ///   - minimumClass: the weakest class that a new entry gets, whatever its folder says.
    ///   - tookOver: another process, perhaps on another machine, may still have the journal open.
    ///   - journalSize: with parts that are not smaller than those of `JournalSize.smallest`.
    public convenience init(
        store: any Store, keys: VolumeKeys, ring: KeyRing, traits: StoreTraits,
        minimumClass: ProtectionClass = .none, isReadOnly: Bool, tookOver: Bool = false,
        journalSize: JournalSize = .usual
    ) {
        precondition(journalSize.part >= JournalSize.smallest.part)
        self.init(
            store: store, keys: keys, ring: ring, traits: traits, minimumClass: minimumClass, isReadOnly: isReadOnly,
            tookOver: tookOver, isPrivileged: Process.isPrivileged, journalSize: journalSize)
    }

    init(
        store: any Store, keys: VolumeKeys, ring: KeyRing, traits: StoreTraits,
        minimumClass: ProtectionClass = .none, isReadOnly: Bool, tookOver: Bool = false, isPrivileged: Bool,
        journalSize: JournalSize = .usual
    ) {
        self.journalSize = journalSize
        self.store = store
        self.keys = keys
        self.ring = ring
        self.traits = traits
        self.isReadOnly = isReadOnly
        self.tookOver = tookOver
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
        // Files that were truncated or written to meanwhile may not have been checkpointed.
        if !isReadOnly { for file in files.dirty { try file.persistLength() } }
        try flushAll()
    }

    /// The longest name of an entry, in bytes of plaintext.
    public static let nameMax = 255
}

extension Vault {
    /// Calls `observer`, with the backing file's status, for each file whose header a checkpoint has written without a
    /// request of a program. It is called under locks that requests hold: it must not wait for any.
    public func observeCheckpoints(_ observer: @escaping @Sendable (FileStatus, FileHeader) -> Void) {
        checkpointObserver.withLock { $0 = CheckpointObserver(note: observer) }
    }

    func noteCheckpoint(_ status: FileStatus, _ header: FileHeader) {
        checkpointObserver.withLock { $0 }?.note(status, header)
    }
}

extension Vault {
    /// Installs class keys; false if a rotation has begun meanwhile and they are those of before.
    @discardableResult
    public func admit(_ keys: consuming ClassKeys) -> Bool { ring.install(keys) }

    /// Wipes class keys.
    public func evict(_ classes: [ProtectionClass]) { ring.wipe(classes) }
}
