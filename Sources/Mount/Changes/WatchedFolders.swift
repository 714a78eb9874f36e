import Posix
import Synchronization
import Vault

/// The folders of a vault that other programs cannot change without our notice, so that the kernel may keep what it was
/// told of their entries.
///
/// Thread-safe. A folder is watched as long as its inode exists, also while the kernel does not know it.
final class WatchedFolders: Sendable {
    /// As many as an unprivileged user may have where the kernel does not allow more. Each keeps an inode in the
    /// kernel's memory, about 1 KiB.
    static let most = 8_192
    /// While changes are being told for longer than this, nothing is kept: the kernel may wait for a program.
    private static let patience = Duration.seconds(1)

    /// Nil where folders are not watched.
    let watch: FolderWatch?
    /// Of the vault's root. Another file system may be mounted in its folder.
    private let device: UInt32
    /// A leaf: no other lock is taken under it. Lock order: docs/ARCHITECTURE.md.
    private let folders = Mutex<[FolderWatch.FolderID: BackingInode]>([:])
    /// The user may have no more watches.
    private let isFull = Atomic(false)
    private let isServed = Atomic(false)
    private let isAllowed = Atomic(false)
    private let turn = Atomic(0)
    /// Since when changes are being told, in ns of the boot clock; 0 if none are.
    private let tellingSince = Atomic<Int64>(0)
    /// What went to a folder that is not watched, and may be kept as if it were. A leaf, too.
    private let strays = Mutex<[Stray]>([])
    /// Signalled when there are strays; nil where folders are not watched.
    let strayed: Wakeup?

    struct Stray {
        let location: Location
        let node: Node
    }

    init(_ watch: FolderWatch?, device: UInt32) throws(Errno) {
        self.watch = watch
        self.device = device
        strayed = watch == nil ? nil : try Wakeup()
    }

    /// Watches a folder that was just opened, which may be watched already; returns whether it is. Call it before the
    /// first entry is read.
    func add(_ directory: Directory, _ inode: BackingInode) -> Bool {
        guard let watch, inode.device == device else { return false }
        // Under the lock: an event must find its folder.
        return folders.withLock { folders in
            do throws(Errno) {
                let id = try FolderWatch.identify(directory.descriptor)
                if folders[id] == nil, isFull.load(ordering: .relaxed) || folders.count >= Self.most { return false }
                try watch.add(directory.descriptor)
                folders[id] = inode
                return true
            } catch {
                if error == .ENOSPC { isFull.store(true, ordering: .relaxed) }
                return false
            }
        }
    }

    /// A node was moved by a request. The kernel keeps its name as it was told in the folder before.
    func moved(_ node: Node, to location: Location) {
        // Without a thread that takes them, there would be ever more.
        guard let strayed, isServed.load(ordering: .acquiring), !location.parent.state.withLock({ $0.isWatched }) else {
            return
        }
        strays.withLock { $0.append(Stray(location: location, node: node)) }
        strayed.signal()
    }

    func takeStrays() -> [Stray] {
        strayed?.clear()
        return strays.withLock { strays in
            defer { strays = [] }
            return strays
        }
    }

    func inode(of folder: FolderWatch.FolderID) -> BackingInode? { folders.withLock { $0[folder] } }

    /// The folder is gone, and another one may be watched.
    func remove(_ folder: FolderWatch.FolderID) {
        let isKnown = folders.withLock { $0.removeValue(forKey: folder) != nil }
        if isKnown { isFull.store(false, ordering: .relaxed) }
    }

    /// What a reader keeps: how many times changes have been told by then. Nil while they are not told in time.
    var moment: Int? {
        guard isServed.load(ordering: .acquiring), canExpire else { return nil }
        let since = tellingSince.load(ordering: .relaxed)
        if since != 0, BootClock.now - .nanoseconds(since) > Self.patience { return nil }
        return turn.load(ordering: .acquiring)
    }

    /// Whether nothing was told since a moment.
    func isUnchanged(since moment: Int?) -> Bool { moment != nil && moment == self.moment }

    /// Runs `body`, which tells the kernel of changes.
    func tell(_ body: () -> Void) {
        turn.add(1, ordering: .acquiringAndReleasing)
        let (seconds, attoseconds) = BootClock.now.components
        tellingSince.store(max(1, seconds * 1_000_000_000 + attoseconds / 1_000_000_000), ordering: .relaxed)
        body()
        tellingSince.store(0, ordering: .relaxed)
    }

    /// Whether the kernel can be told of changed names.
    var canExpire: Bool { isAllowed.load(ordering: .relaxed) }
    func allow(_ isAllowed: Bool) { self.isAllowed.store(isAllowed, ordering: .relaxed) }

    /// Whether there is a thread that tells the kernel.
    func serve(_ isServed: Bool) { self.isServed.store(isServed, ordering: .releasing) }
}
