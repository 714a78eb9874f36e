import Format
import Freshness
import Keybag
import Posix
import Store
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
    package let options: VaultOptions
    let memory = SharedMemory()
    let files = FileTable()
    let order = NameOrder()
    /// Opened with the root. Lock order: docs/ARCHITECTURE.md.
    let journal = ContendedMutex<Journal?>(nil)
    let attributeFolder = AttributeFolder()
    let flushes = StoreFlushes()
    let checkpoints = CheckpointControl()
    package let left = Leftovers()
    /// Nil if this machine does not remember how new files were.
    public let freshness: FreshnessWatch?

    public var traits: StoreTraits { options.traits }
    public var isReadOnly: Bool { options.isReadOnly }
    /// How many file keys are in memory. Takes no lock.
    public var fileKeysInMemory: Int { memory.fileKeys.count.load(ordering: .relaxed) }
    /// How many files may be dirty: each keeps a descriptor open.
    public var mostDirtyFiles: Int {
        get { checkpoints.mostDirtyFiles }
        set { checkpoints.mostDirtyFiles = newValue }
    }

    /// `ring` holds the class keys, which come and go during the vault's life.
    ///
    /// - Parameters:
    ///   - minimumClass: the weakest class that a new entry gets, whatever its folder says.
    ///   - tookOver: another process, perhaps on another machine, may still have the journal open.
    ///   - journalSize: with parts that are not smaller than those of `JournalSize.smallest`.
    ///   - freshness: what this machine remembers of the files.
    ///   - machine: this machine, if the vault is synchronised.
    ///   - sharesStore: other machines work in the same folder, and not in copies of it.
    ///   - isShared: they do so at the same time, under leases. `machine` is this one.
    public convenience init(
        store: any Store, keys: VolumeKeys, ring: KeyRing, traits: StoreTraits,
        minimumClass: ProtectionClass = .none, isReadOnly: Bool, tookOver: Bool = false,
        journalSize: JournalSize = .usual, freshness: FreshnessWatch? = nil, machine: MachineTag? = nil,
        sharesStore: Bool = false, isShared: Bool = false
    ) {
        precondition(journalSize.part >= JournalSize.smallest.part)
        precondition(!isShared || machine != nil, "a machine that shares a vault has a number")
        self.init(
            store: store, keys: keys, ring: ring, traits: traits, minimumClass: minimumClass, isReadOnly: isReadOnly,
            tookOver: tookOver, isPrivileged: Process.isPrivileged, journalSize: journalSize, freshness: freshness,
            machine: machine, sharesStore: sharesStore, isShared: isShared)
    }

    init(
        store: any Store, keys: VolumeKeys, ring: KeyRing, traits: StoreTraits,
        minimumClass: ProtectionClass = .none, isReadOnly: Bool, tookOver: Bool = false, isPrivileged: Bool,
        journalSize: JournalSize = .usual, freshness: FreshnessWatch? = nil, machine: MachineTag? = nil,
        sharesStore: Bool = false, isShared: Bool = false
    ) {
        self.store = store
        self.keys = keys
        self.ring = ring
        options = VaultOptions(
            traits: traits, isReadOnly: isReadOnly, minimumClass: minimumClass, isPrivileged: isPrivileged,
            tookOver: tookOver, journalSize: journalSize, machine: machine,
            replaysOthers: sharesStore && !isShared, isShared: isShared)
        self.freshness = freshness
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
        checkpoints.observe(observer)
    }

    func noteCheckpoint(_ status: FileStatus, _ header: FileHeader) {
        checkpoints.note(status, header)
    }
}

extension Vault {
    /// Installs class keys; false if a rotation has begun meanwhile and they are those of before.
    @discardableResult
    public func admit(_ keys: consuming ClassKeys) -> Bool { ring.install(keys) }

    /// Wipes class keys.
    public func evict(_ classes: [ProtectionClass]) { ring.wipe(classes) }
}
