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

    /// Two passes at least, and then until one draws no dirty page, but not for ever: what comes later is refused.
    private static let leastPasses = 2
    private static let mostPasses = 20
    private static let classes: [ProtectionClass] = [.complete, .completeUnlessOpen]

    func run() -> EvictionReport {
        let start = ContinuousClock.now
        let gates = fileSystem.gates
        // From here nothing is let in but dirty pages of mappings, which programs were promised to have written.
        for protectionClass in Self.classes { gates.set(.evicting, for: protectionClass) }
        // In bulk: page by page, inside the invalidation, they are slow.
        flushDirtyPages()
        var inodes = 0
        var passes = 0
        // The result of an invalidation proves nothing: a page may have been dirtied behind it. A pass that draws none
        // does.
        while passes < Self.mostPasses {
            let pagesBefore = fileSystem.late.pageCount
            inodes = max(inodes, dropPages())
            passes += 1
            if passes >= Self.leastPasses && fileSystem.late.pageCount == pagesBefore { break }
            usleep(2000)
        }
        // Whoever was let in has replied when this returns, and nobody is let in any more.
        for protectionClass in Self.classes { gates.set(.closed, for: protectionClass) }
        // The class keys before the file keys: no file key can be unwrapped again behind this.
        fileSystem.vault.evict(Self.classes)
        wipeFileKeys()
        // A page that was read between its invalidation and the closing of the gate.
        inodes = max(inodes, dropPages(forgetting: true))
        return EvictionReport(duration: ContinuousClock.now - start, inodes: inodes, passes: passes + 1)
    }

    /// Has the kernel write back the dirty pages of all mappings.
    private func flushDirtyPages() {
        guard let path = session.mountPoint, let device = session.deviceNumber else { return }
        do {
            let root = try Descriptor.open(path: path, O_RDONLY | O_DIRECTORY)
            // Mounted over, or unmounted lazily: then the path leads elsewhere, and the invalidation does it page by
            // page.
            guard try root.status().device == device else { return }
            try root.synchronizeFileSystem()
        } catch {
            fileSystem.log(.trouble("cannot flush mapped files before taking the keys out: \(error)"))
        }
    }

    /// Drops the kernel's pages of all files that are to be locked; returns how many files had any. With `forgetting`,
    /// those that nobody has open are known to have none until they are opened again.
    private func dropPages(forgetting: Bool = false) -> Int {
        var count = 0
        for node in strict(fileSystem.nodes.all) where node.state.withLock({ $0.mayHavePages }) {
            do {
                try session.notifier.invalidate(node.id)
            } catch {
                fileSystem.log(.trouble("cannot drop cached pages of inode \(node.backing.inode): \(error)"))
            }
            count += 1
            if forgetting {
                node.state.withLock { state in
                    if state.file?.handles ?? 0 == 0 { state.mayHavePages = false }
                }
            }
        }
        return count
    }

    /// Wipes the file keys, and then writes into the headers what was accepted: that may have to wait for the disk, and
    /// takes no key.
    private func wipeFileKeys() {
        let files = strict(fileSystem.nodes.open).compactMap { node in
            node.state.withLock { $0.file?.file }.map { (node, $0) }
        }
        // At once, though somebody may be waiting for the disk with a file's lock; then those that have a copy in hand.
        for (_, file) in files { file.close() }
        for (_, file) in files { file.dropKey() }
        for (node, file) in files {
            do {
                try file.persistLength()
            } catch {
                fileSystem.log(.lost(path: fileSystem.path(of: node), reason: "\(error)"))
            }
        }
    }

    /// The files of class A, and those of class B that nobody has open.
    private func strict(_ nodes: [Node]) -> [Node] {
        nodes.filter { node in
            guard node.isFile else { return false }
            return node.state.withLock { state in
                switch state.protectionClass {
                case .complete: true
                case .completeUnlessOpen: (state.file?.handles ?? 0) == 0
                default: false
                }
            }
        }
    }
}
