import Format
import Posix
import Synchronization

// The parts of a vault that belong together. Each lock in them is in docs/ARCHITECTURE.md, "The lock order".

/// How a vault is used, which does not change while it is open.
package struct VaultOptions: Sendable {
    let traits: StoreTraits
    let isReadOnly: Bool
    /// The weakest class that a new entry gets, whatever its folder says.
    let minimumClass: ProtectionClass
    /// The daemon is root: it may open all files and change their owners.
    let isPrivileged: Bool
    /// Whether another process held the vault before and may still have its journal open.
    let tookOver: Bool
    package let journalSize: JournalSize
    /// This machine, if several change the vault in turns.
    package let machine: MachineTag?
    /// Whether other machines work in the same folder, and not in copies of it.
    let replaysOthers: Bool
    /// Whether other machines work in the same folder at the same time, and each of them under leases.
    package let isShared: Bool
}

/// What keeps names and permissions from changing while a request relies on them.
final class NameOrder: Sendable {
    let renames = ConcurrentRenames()
    let seenTimes = SeenTimes()
    /// Held shared while the path of a file is put into the journal, exclusively while a folder gets another name. Lock
    /// order: docs/ARCHITECTURE.md.
    let paths = ReadWriteLock()
    /// Held exclusively while permissions are lent and while a mode is set, shared while a mode is read: a lent
    /// permission is not shown, and giving it back does not undo a change. Lock order: docs/ARCHITECTURE.md.
    let modes = ReadWriteLock()
}

/// The memory that files share.
final class SharedMemory: Sendable {
    let scratches = ScratchPool()
    let fileKeys = KeyCount()
}

/// What is known of flushes of the store.
final class StoreFlushes: Sendable {
    /// For flushes of the whole store.
    let ofAll = FlushGuard()
    let headers = FlushedHeaders()
    /// Grows with each header that is written to a backing file.
    let headerWrites = Atomic<UInt64>(0)
    /// The name of the folder of long symlink targets is durable.
    let hasFlushedTargets = Atomic(false)
    /// The errors of flushes of single folders, by the folders' inodes. Lock order: docs/ARCHITECTURE.md.
    let folderFailures = Mutex<[UInt64: Errno]>([:])
}

/// When files are checkpointed, and who hears of it.
final class CheckpointControl: Sendable {
    /// Held while files are checkpointed. Lock order: docs/ARCHITECTURE.md.
    let checkpointing = Mutex<Void>(())
    /// Wakes the checkpointer, if there is one.
    let lowSpace = Mutex<Wakeup?>(nil)
    private let dirtyLimit = Atomic<Int>(1024)
    /// How many files may be dirty: each keeps a descriptor open.
    var mostDirtyFiles: Int {
        get { dirtyLimit.load(ordering: .relaxed) }
        set { dirtyLimit.store(max(64, newValue), ordering: .relaxed) }
    }

    /// In a structure: if a mutex holds a bare closure, each access wraps it once more, until a call of it takes all of
    /// the stack.
    private struct Observer: Sendable {
        let note: @Sendable (FileStatus, FileHeader) -> Void
    }

    /// Lock order: docs/ARCHITECTURE.md.
    private let checkpointObserver = Mutex<Observer?>(nil)

    func observe(_ note: @escaping @Sendable (FileStatus, FileHeader) -> Void) {
        checkpointObserver.withLock { $0 = Observer(note: note) }
    }

    func note(_ status: FileStatus, _ header: FileHeader) {
        checkpointObserver.withLock { $0 }?.note(status, header)
    }
}

/// What crashes, copies and interrupted operations have left in the store.
package final class Leftovers: Sendable {
    /// The sessions that ended in a crash: an entry that was last changed in one of them and is empty was never synced.
    /// Lock order: docs/ARCHITECTURE.md.
    package let windows = Mutex<[JournalHead.Window]>([])
    /// What the journal of a read-only vault says. Lock order: docs/ARCHITECTURE.md.
    let overlays = Mutex(Overlays())
    let sidecars = StaleSidecars()
    let tombstones = LeftTombstones()
    /// Backing inodes of files whose summaries were found to be false. Lock order: docs/ARCHITECTURE.md.
    let distrusted = Mutex<Set<UInt64>>([])
}
