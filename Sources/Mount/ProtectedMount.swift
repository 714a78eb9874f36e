import Format
import Fuse
import Keybag
import Posix
import Synchronization
import Vault

/// A vault mounted at a folder: serves the kernel's requests, and takes the keys of the strict classes out when it is
/// told to.
///
/// Thread-safe. One eviction at a time; keys are not admitted while one runs: the caller sees to that. `admit`,
/// `setDeadline`, and what tells of keys, open files and the eviction, wait for no request and no disk.
public final class ProtectedMount: Sendable {
    private let fileSystem: VaultFileSystem
    private let session: Session
    private let progress = EvictionProgress()
    private let checkpointer: Checkpointer
    let rotator: KeyRotator

    /// Mounts. Each of `options` is one of `mount -o`; who uses the mount waits until `start` is called.
    ///
    /// - Parameters:
    ///   - descriptorLimit: how many descriptors the process may have open.
    ///   - forbidden: why a file or folder may not be given a class, for the log; nil if it may.
    public init(
        vault: Vault, at path: String, options: [String], descriptorLimit: Int, whenLocked: WhenLocked,
        forbidden: @escaping @Sendable (ProtectionClass) -> String? = { _ in nil },
        log: @escaping @Sendable (MountEvent) -> Void
    ) throws(ProtectedMountError) {
        let notifier = Mutex<Notifier?>(nil)
        let shared = Shared(notifier)
        let enforcesLists = options.contains("default_permissions")
        do throws(VaultError) {
            fileSystem = try VaultFileSystem(
                vault: vault, descriptorLimit: descriptorLimit, keepsAccessTimes: !options.contains("noatime"),
                enforcesLists: enforcesLists, whenLocked: whenLocked, forbidden: forbidden,
                notifier: { shared.notifier.withLock { $0 } },
                log: log)
        } catch { throw .vault(error) }
        do throws(Errno) {
            rotator = try KeyRotator(fileSystem)
            checkpointer = try Checkpointer(vault) { error in
                log(.trouble("cannot bring the vault's files up to date: \(error)"))
            }
        } catch { throw .vault(.system(error)) }
        session = Session(
            fileSystem: fileSystem,
            configuration: Configuration(
                privileges: .clearedByFileSystem, accessControlLists: enforcesLists ? .enforcedByKernel : .none,
                cachedContents: whenLocked.isFreeze ? .checkedBeforeReads : .kept))
        shared.notifier.withLock { $0 = session.notifier }
        do throws(MountError) {
            try session.mount(at: path, options: options)
        } catch { throw .mount(error) }
    }

    private final class Shared: Sendable {
        let notifier: Mutex<Notifier?>
        init(_ notifier: consuming Mutex<Notifier?>) { self.notifier = notifier }
    }

    /// Whether anybody has used the mount since this was last asked.
    public func takeUse() -> Bool { session.takeUse() }

    /// Makes all threads that the mount will ever need, and serves requests from then on: a lock makes none, for there
    /// may be none to be had then.
    ///
    /// - Parameter threads: that serve requests; fewer if there are no more to be had, and one at least.
    /// - Throws: why a thread cannot be made. Then none is left, and nothing was served.
    public func start(threads: Int = 12) throws(Errno) {
        do throws(Errno) {
            try fileSystem.parked.start()
            try fileSystem.late.start()
            try checkpointer.start()
            try rotator.start()
            try session.start(threads: threads)
        } catch {
            end()
            throw error
        }
    }

    /// Returns when the file system is unmounted and its last user has gone. After `start`.
    public func run() throws(Errno) {
        defer { end() }
        try session.wait()
    }

    private func end() {
        rotator.stop()
        fileSystem.parked.stop()
        fileSystem.late.stop()
        checkpointer.stop()
        do throws(VaultError) { try fileSystem.vault.close() } catch {
            // Nothing is lost: the next mount reads it from the journal.
            fileSystem.log(.trouble("cannot bring the vault's files up to date at the end: \(error)"))
        }
    }

    /// Takes the keys of class A, and of class B's closed files, out of memory; returns when they are gone.
    public func evict() -> EvictionReport {
        Eviction(fileSystem: fileSystem, session: session, progress: progress).run()
    }

    /// From this time of the boot clock on contents of class A, and of class B's closed files, are refused, whenever
    /// `evict` is called; nil takes that back.
    public func setDeadline(_ deadline: Duration?) {
        fileSystem.gates.close(at: deadline)
        if deadline == nil { rotator.resume() } else { rotator.pause() }
        // Who came behind a deadline that was taken back.
        if deadline == nil { fileSystem.parked.admit() }
    }

    /// Takes the class keys in and opens all classes; no deadline is set then. False, and nothing is done, for keys of
    /// before a rotation that has begun meanwhile.
    @discardableResult
    public func admit(_ keys: consuming ClassKeys) -> Bool {
        guard fileSystem.vault.admit(keys) else { return false }
        fileSystem.gates.close(at: nil)
        fileSystem.gates.open(ProtectionClass.allCases)
        fileSystem.parked.admit()
        rotator.resume()
        return true
    }

    /// The classes whose existing files can be opened now.
    public var classKeys: [ProtectionClass] {
        ProtectionClass.allCases.filter { fileSystem.vault.canOpen($0) }
    }

    /// How many files of each class are open.
    public var openFiles: [ProtectionClass: Int] { fileSystem.nodes.openFiles }

    /// How many file keys are in memory.
    public var fileKeysInMemory: Int { fileSystem.vault.fileKeysInMemory }

    /// How many requests wait for the next unlock.
    public var waitingRequests: Int { fileSystem.parked.waiting }

    /// Nil while no eviction runs.
    public var evictionProgress: EvictionStep? { progress.step }

    /// The classes of files that are open, by their inode numbers in the mount; nil for what is no open file.
    public func classes(ofInodes inodes: [UInt64]) -> [ProtectionClass?] {
        fileSystem.nodes.classes(ofInodes: inodes)
    }

    /// What protects the file behind a descriptor of this mount, which may have been opened with O_PATH.
    ///
    /// - Throws: `ENOENT` for a file that is not of this mount, or has no name any more.
    public func explain(_ file: Descriptor) throws(VaultError) -> ProtectionFacts {
        let status: FileStatus
        do { status = try file.status() } catch { throw .system(error) }
        guard status.device == session.deviceNumber else { throw .system(.ENOENT) }
        return try fileSystem.facts(of: status)
    }

    /// `st_dev` of the files in the mount.
    public var deviceNumber: UInt64 { session.deviceNumber ?? 0 }

    /// Makes durable what was written.
    public func synchronize() throws(VaultError) {
        for node in fileSystem.nodes.open {
            guard let file = node.state.withLock({ $0.file?.file }) else { continue }
            try file.persistLength()
        }
        try fileSystem.vault.synchronize()
    }

    /// Ends all requests, under way or to come, with an error.
    public func disconnect() throws(Errno) { try session.abort() }

    /// Unmounts, `EBUSY` while somebody uses it; lazily it disappears at once, and `run` returns when the last user
    /// has gone. Nobody waits for an unlock then.
    public func unmount(lazily: Bool) throws(Errno) {
        if try session.unmount(lazily: lazily) { fileSystem.parked.close() }
    }
}

/// Why a vault could not be mounted.
public enum ProtectedMountError: Error {
    /// Its root cannot be read.
    case vault(VaultError)
    /// mount(2) or fusermount3 refused.
    case mount(MountError)
}
