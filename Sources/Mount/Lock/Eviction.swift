import Format
import Fuse
import Glibc
import Posix
import Vault

/// What taking the keys out of memory took.
public struct EvictionReport: Hashable, Sendable {
    public var duration: Duration
    /// Inodes whose pages were dropped.
    public var inodes: Int
    /// How often they were gone over.
    public var passes: Int
}

/// Takes class A, and class B but for its open files, out of memory: the kernel's pages first, then the keys.
///
/// Each step is there for a reason that was measured: `docs/EVICTION.md`. Runs on a thread that serves no requests.
struct Eviction {
    let fileSystem: VaultFileSystem
    let session: Session
    let progress: EvictionProgress

    /// So many passes at least, and then until one draws no dirty page, but not for ever: what comes later is refused.
    /// More where reads may not fail: in the pauses between them those are served that were past the place where they
    /// could wait when their file's attributes were dropped.
    private var leastPasses: Int { fileSystem.parked.whenLocked.isFreeze ? 10 : 2 }
    private static let mostPasses = 20
    private static let flushPatience = Duration.seconds(2)
    private static let classes: [ProtectionClass] = [.complete, .completeUnlessOpen]

    func run() -> EvictionReport {
        let start = ContinuousClock.now
        defer { progress.step = nil }
        let gates = fileSystem.gates
        progress.step = .wiping
        // From here nothing is let in but dirty pages of mappings, which programs were promised to have written.
        gates.shut(to: .evicting, Self.classes)
        if fileSystem.parked.whenLocked.isFreeze { dropAttributes() }
        // In bulk: page by page, inside the invalidation, they are slow.
        progress.step = .flushing
        flushDirtyPages()
        var inodes = 0
        var passes = 0
        // The result of an invalidation proves nothing: a page may have been dirtied behind it, or read. A pass that
        // draws none does.
        while passes < Self.mostPasses {
            let pagesBefore = fileSystem.late.pageCount
            inodes = max(inodes, dropPages())
            passes += 1
            if passes >= leastPasses && fileSystem.late.pageCount == pagesBefore { break }
            usleep(2000)
        }
        progress.step = .wiping
        // Whoever was let in has replied when this returns, and nobody is let in any more.
        gates.shut(to: .closed, Self.classes)
        // The class keys before the file keys: no file key can be unwrapped again behind this.
        fileSystem.vault.evict(Self.classes)
        wipeFileKeys()
        // A page that was read between its invalidation and the closing of the gate.
        inodes = max(inodes, dropPages())
        return EvictionReport(duration: ContinuousClock.now - start, inodes: inodes, passes: passes + 1)
    }

    /// Has the kernel write back the dirty pages of all mappings, and waits for that a while: what is not written then,
    /// the invalidation has written.
    private func flushDirtyPages() {
        do {
            let done = try Wakeup()
            fileSystem.late.flush(writeDirtyPages) { done.signal() }
            _ = try Poll.readable([done.readable], timeout: Self.flushPatience)
        } catch {
            fileSystem.log(.trouble("cannot flush mapped files apart: \(error)"))
            writeDirtyPages()
        }
    }

    private func writeDirtyPages() {
        guard let path = session.mountPoint, let device = session.deviceNumber else { return }
        do {
            let root = try Descriptor.open(path: path, O_RDONLY | O_DIRECTORY)
            // Mounted over, or unmounted lazily: then the path leads elsewhere, and the invalidation does it page by
            // page. Not by fstat(2), which would have the disk asked.
            guard try KnownInode(root).device == device else { return }
            try root.synchronizeFileSystem()
        } catch {
            fileSystem.log(.trouble("cannot flush mapped files before taking the keys out: \(error)"))
        }
    }

    /// From here the kernel asks for them before it reads, and so read(2) can be made to wait. Waits for nobody.
    private func dropAttributes() {
        for node in strict(fileSystem.nodes.withPages) {
            do { try session.notifier.invalidate(node.id, offset: -1) } catch {
                fileSystem.log(.trouble("cannot drop attributes of inode \(node.backing.inode): \(error)"))
            }
        }
    }

    /// Drops the kernel's pages of all files that are to be locked; returns how many files had any.
    ///
    /// Those that nobody has open are known to have none then, until they are opened again: nobody can open them now,
    /// and who reads or maps has them open. So only the others are gone over again.
    ///
    /// Asks no node for its state: whoever waits for the disk with one must not keep the pages of all others.
    private func dropPages() -> Int {
        let nodes = strict(fileSystem.nodes.withPages)
        for (done, node) in nodes.enumerated() {
            progress.step = .invalidating(left: nodes.count - done)
            // Before: what is closed behind the invalidation may have been written to between the two.
            let isIdle = !node.flags.load(ordering: .sequentiallyConsistent).hasHandles
            do {
                try session.notifier.invalidate(node.id)
            } catch {
                fileSystem.log(.trouble("cannot drop cached pages of inode \(node.backing.inode): \(error)"))
                continue
            }
            // Of one that somebody is about to close it is not known.
            guard isIdle else { continue }
            _ = fileSystem.nodes.updateIfAvailable(node) { state in
                if state.file?.handles ?? 0 == 0 { state.mayHavePages = false }
            }
        }
        return nodes.count
    }

    /// Wipes the file keys, and then has what was accepted written into the headers, which takes no key.
    ///
    /// What somebody is about to close has no key any more.
    private func wipeFileKeys() {
        var files: [(Node, File)] = []
        var busy: [Node] = []
        for node in strict(fileSystem.nodes.open) where !node.flags.load(ordering: .sequentiallyConsistent).isClosing {
            if let file = node.state.withLockIfAvailable({ $0.file?.file }) {
                if let file { files.append((node, file)) }
            } else {
                busy.append(node)
            }
        }
        // At once, though somebody may be waiting for the disk with a file's or a node's lock; then those whose nodes
        // are held, and those that have a copy in hand.
        for (_, file) in files { file.close() }
        for node in busy {
            guard let file = node.state.withLock({ $0.file?.file }) else { continue }
            file.close()
            files.append((node, file))
        }
        for (_, file) in files { file.dropKey() }
        // Not now: it waits for the disk, and the lock is done without.
        fileSystem.late.run { [fileSystem, files] in
            for (node, file) in files {
                do {
                    try file.persistLength()
                } catch {
                    fileSystem.log(.lost(path: fileSystem.path(of: node), reason: "\(error)"))
                }
            }
        }
    }

    /// The files of class A, and those of class B that nobody has open.
    private func strict(_ nodes: [Node]) -> [Node] {
        nodes.filter { node in
            guard node.isFile else { return false }
            let flags = node.flags.load(ordering: .sequentiallyConsistent)
            return switch flags.protectionClass {
            case .complete: true
            case .completeUnlessOpen: !flags.hasHandles
            default: false
            }
        }
    }
}
