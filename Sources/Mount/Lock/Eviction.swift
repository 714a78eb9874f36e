import Format
import Fuse
import Glibc
import Posix
import Store
import Vault

/// The result of an eviction.
public struct EvictionReport: Hashable, Sendable {
    public var duration: Duration
    /// The number of inodes whose pages were dropped.
    public var inodes: Int
    /// The number of passes over the inodes.
    public var passes: Int
}

/// Evicts class A, class B except for its open files and, in a deep lock, class C: first the kernel's pages, then the
/// keys.
///
/// Each step has a measured reason: `docs/EVICTION.md`. Runs on a thread that serves no requests.
struct Eviction {
    let fileSystem: VaultFileSystem
    let session: Session
    let progress: EvictionProgress
    let depth: LockDepth
    /// The vault's store if that may hang: an eviction does not wait for it as long as it takes.
    let store: BoundedStore?
    /// Whether changes of the vault that wait for its claim give that up soon.
    let hurry: @Sendable (Bool) -> Void

    /// Passes continue at least this often, then until one finds no dirty page, with an upper bound: later pages are
    /// refused. A mount that freezes makes more passes: in the pauses between them, the daemon serves reads that had
    /// passed the point where they could wait before their file's attributes were dropped.
    private var leastPasses: Int { fileSystem.parked.whenLocked.isFreeze ? 10 : 2 }
    private static let mostPasses = 20
    /// Less on a store that may hang: while the eviction needs no request that waits, it must end before calls are
    /// given up, those for class D too.
    private var flushPatience: Duration { .seconds(store == nil ? 2 : 1) }

    func run() -> EvictionReport {
        let start = ContinuousClock.now
        defer { progress.step = nil }
        // From here no request holds a key, a lock or a page for longer than a hanging store is waited for.
        let before = store?.givenUpCount ?? 0
        store?.begin(.lock)
        hurry(true)
        let (wiped, inodes, passes) = dropPagesAndKeys()
        hurry(false)
        store?.finish(.lock)
        logGivenUp((store?.givenUpCount ?? 0) - before)
        persistLengths(of: wiped)
        return EvictionReport(duration: ContinuousClock.now - start, inodes: inodes, passes: passes)
    }

    private func logGivenUp(_ count: Int) {
        guard count > 0 else { return }
        fileSystem.log(
            .trouble(
                "the vault's folder does not answer: \(count) calls were given up, so that the keys could go; what is "
                    + "not written is told by an error of write(2) or fsync(2)"))
    }

    /// Returns the files whose keys were wiped, the number of inodes whose pages were dropped, and the number of passes
    /// over them.
    private func dropPagesAndKeys() -> (wiped: [(Node, File)], inodes: Int, passes: Int) {
        let gates = fileSystem.gates
        progress.step = .wiping
        // From here only dirty pages of mappings are admitted: programs were promised that their stores are written.
        gates.shut(to: .evicting, depth.classes)
        if fileSystem.parked.whenLocked.isFreeze { dropAttributes() }
        // In bulk, because page by page, inside the invalidation, writeback is slow.
        progress.step = .flushing
        flushDirtyPages()
        var inodes = 0
        var passes = 0
        // The result of an invalidation proves nothing: a page may have been dirtied or read after it. Only a pass that
        // finds no dirty page does.
        while passes < Self.mostPasses {
            let pagesBefore = fileSystem.late.pageCount
            inodes = max(inodes, dropPages())
            passes += 1
            if passes >= leastPasses && fileSystem.late.pageCount == pagesBefore { break }
            usleep(2000)
        }
        progress.step = .wiping
        // When this returns, every admitted request has been answered and no new one is admitted.
        gates.shut(to: .closed, depth.classes)
        // Class keys first: after that no file key can be unwrapped again.
        fileSystem.vault.evict(depth.classes)
        let wiped = wipeFileKeys()
        // A page may have been read between its invalidation and the closing of the gate.
        inodes = max(inodes, dropPages())
        return (wiped, inodes, passes + 1)
    }

    /// Makes the kernel write back the dirty pages of all mappings, with a bounded wait. The invalidation writes the
    /// others.
    private func flushDirtyPages() {
        do {
            let done = try Wakeup()
            fileSystem.late.flush(writeDirtyPages) { done.signal() }
            _ = try Poll.readable([done.readable], timeout: flushPatience)
        } catch {
            fileSystem.log(.trouble("cannot flush mapped files in a thread of their own: \(error)"))
            writeDirtyPages()
        }
    }

    private func writeDirtyPages() {
        guard let path = session.mountPoint, let device = session.deviceNumber else { return }
        do {
            let root = try Descriptor.open(path: path, O_RDONLY | O_DIRECTORY)
            // If the mount is hidden under another one, or was unmounted lazily, the path leads elsewhere; then the
            // invalidation writes page by page. Not fstat(2), which would ask the disk.
            guard try KnownInode(root).device == device else { return }
            try root.synchronizeFileSystem()
        } catch {
            fileSystem.log(.trouble("cannot flush mapped files before taking the keys out: \(error)"))
        }
    }

    /// Makes the kernel ask for the attributes before each read, so that read(2) can be made to wait. Does not block.
    private func dropAttributes() {
        for node in closing(fileSystem.nodes.withPages) {
            do { try session.notifier.invalidate(node.id, offset: -1) } catch {
                fileSystem.log(.trouble("cannot drop attributes of inode \(node.backing.inode): \(error)"))
            }
        }
    }

    /// Drops the kernel's pages of all files that are to be locked; returns how many files may have had pages.
    ///
    /// A file without open handles has no pages afterwards until it is opened again: it cannot be opened now, and only
    /// an open file can be read or mapped. So later passes visit only the open ones.
    ///
    /// Does not wait for a node's state: a request that holds one while it waits for the disk must not keep the pages
    /// of all other files in memory.
    private func dropPages() -> Int {
        let nodes = closing(fileSystem.nodes.withPages)
        for (done, node) in nodes.enumerated() {
            progress.step = .invalidating(left: nodes.count - done)
            // Before the invalidation: a file that is closed during or after it may have been written to meanwhile.
            let isIdle = !node.flags.load(ordering: .sequentiallyConsistent).hasHandles
            do {
                try session.notifier.invalidate(node.id)
            } catch {
                fileSystem.log(.trouble("cannot drop cached pages of inode \(node.backing.inode): \(error)"))
                continue
            }
            // If a request holds the node's state, the file counts as one that may have pages.
            guard isIdle else { continue }
            _ = fileSystem.nodes.updateIfAvailable(node) { state in
                if state.file?.handles ?? 0 == 0 { state.mayHavePages = false }
            }
        }
        return nodes.count
    }

    /// Wipes the file keys, and returns their files. A file that is being closed has no key any more.
    private func wipeFileKeys() -> [(Node, File)] {
        var files: [(Node, File)] = []
        var busy: [Node] = []
        for node in closing(fileSystem.nodes.open) where !node.flags.load(ordering: .sequentiallyConsistent).isClosing {
            if let file = node.state.withLockIfAvailable({ $0.file?.file }) {
                if let file { files.append((node, file)) }
            } else {
                busy.append(node)
            }
        }
        // At once, even if requests hold files' or nodes' locks while they wait for the disk. Then the files whose
        // nodes were busy, and the keys that requests have copied.
        for (_, file) in files { file.close() }
        for node in busy {
            guard let file = node.state.withLock({ $0.file?.file }) else { continue }
            file.close()
            files.append((node, file))
        }
        for (_, file) in files { file.dropKey() }
        return files
    }

    /// Has the accepted lengths written into the headers, which takes no key.
    private func persistLengths(of files: [(Node, File)]) {
        // On another thread: it waits for the disk, and the lock must not.
        fileSystem.late.run { [fileSystem, files] in
            for (node, file) in files {
                do throws(VaultError) {
                    try file.persistLength()
                } catch {
                    // Given up by the next lock. The file is dirty, so a checkpoint writes its header.
                    guard error != .system(.notAnswered) else { continue }
                    fileSystem.log(.lost(path: fileSystem.path(of: node), reason: "\(error)"))
                }
            }
        }
    }

    /// The files of class A, those of class B without an open handle and, in a deep lock, those of class C.
    private func closing(_ nodes: [Node]) -> [Node] {
        nodes.filter { node in
            guard node.isFile else { return false }
            let flags = node.flags.load(ordering: .sequentiallyConsistent)
            return switch flags.protectionClass {
            case .complete: true
            case .completeUnlessOpen: !flags.hasHandles
            case .completeUntilFirstUserAuthentication: depth == .deep
            case .none?, nil: false
            }
        }
    }
}
