import Format
public import Fuse
import Keybag
public import Posix
public import Store
import Synchronization
import Vault

/// A vault mounted at a folder: serves the kernel's requests, and evicts the keys of classes on demand.
///
/// Thread-safe, with two duties of the caller: it runs one eviction at a time, and calls `admit` only while none runs.
/// `admit`, the calls for deadlines and the properties for keys, open files and the eviction's progress wait for no
/// request and no disk.
public final class ProtectedMount: Sendable {
    private let fileSystem: VaultFileSystem
    private let session: Session
    private let progress = EvictionProgress()
    private let checkpointer: Checkpointer
    private let freshness: FreshnessKeeper?
    private let store: BoundedStore?
    private let hurry: @Sendable (Bool) -> Void
    let rotator: KeyRotator
    private let foreignChanges: ForeignChanges?
    /// Nil if no other machine works in the vault at the same time.
    private let sharing: VaultSharing?
    private let shared: SharedFileSystem?

    /// Mounts the vault. Each of `options` is one of `mount -o`; programs that use the mount block until `start` is
    /// called.
    ///
    /// - Parameters:
    ///   - store: the vault's store, if a lock may give up calls to it.
    ///   - sharing: this machine's share of the work, if other machines work in the vault at the same time. It has
    ///     joined them.
    ///   - tellsChanges: whether the kernel tells of the changes that other programs make in the vault's folder.
    ///   - source: what the mount table shows as the source, unless an option says that.
    ///   - transport: by which way requests come, if the kernel has it. With `freeze` from /dev/fuse: by io_uring, the
    ///     kernel loses a signal that comes just before the daemon receives a request, and the program could not be
    ///     killed until the unlock.
    ///   - descriptorLimit: how many descriptors the process may have open.
    ///   - hurry: makes changes of the vault that wait for its claim give that up soon, or no longer.
    ///   - forbidden: why a file or folder may not be given a class, for the log; nil if it may.
    public init(
        vault: Vault, store: BoundedStore? = nil, sharing: VaultSharing? = nil, tellsChanges: Bool = false,
        at path: Path, options: [String],
        source: Path? = nil,
        descriptorLimit: Int, whenLocked: WhenLocked, transport: Fuse.Configuration.Transport = .ring,
        hurry: @escaping @Sendable (Bool) -> Void = { _ in },
        forbidden: @escaping @Sendable (ProtectionClass) -> String? = { _ in nil },
        beforeMount: () -> Void = {},
        log: @escaping @Sendable (MountEvent) -> Void
    ) throws(ProtectedMountError) {
        self.store = store
        self.hurry = { [sharing] isOn in
            hurry(isOn)
            sharing?.hurry(isOn)
        }
        self.sharing = sharing
        let notifier = Mutex<Notifier?>(nil)
        let shared = Shared(notifier)
        let enforcesLists = options.contains("default_permissions")
        do throws(VaultError) {
            fileSystem = try VaultFileSystem(
                vault: vault, shared: sharing, descriptorLimit: descriptorLimit,
                // A mount that freezes lives on being asked for attributes.
                watch: tellsChanges && !whenLocked.isFreeze && sharing == nil ? try? FolderWatch() : nil,
                keepsAccessTimes: !options.contains("noatime"), enforcesLists: enforcesLists, whenLocked: whenLocked,
                forbidden: forbidden,
                notifier: { shared.notifier.withLock { $0 } },
                log: log)
        } catch { throw .vault(error) }
        do throws(Errno) {
            rotator = try KeyRotator(fileSystem)
            checkpointer = try Checkpointer(vault) { error in
                log(.trouble("cannot bring the vault's files up to date: \(error)"))
            }
            freshness = try FreshnessKeeper(vault) { [fileSystem] in
                fileSystem.tell($0, more: $1)
            } failed: { error in
                log(.trouble("cannot write down which versions of files were seen: \(error)"))
            }
        } catch { throw .vault(.system(error)) }
        fileSystem.tellOfVault()
        var configuration = Configuration(
            privileges: .clearedByFileSystem, accessControlLists: enforcesLists ? .enforcedByKernel : .none,
            cachedContents: whenLocked.isFreeze ? .checkedBeforeReads : .kept, isReadOnly: vault.isReadOnly)
        configuration.transport = whenLocked.isFreeze ? .device : transport
        self.shared = fileSystem.shared.map { [fileSystem] in SharedFileSystem(fileSystem, $0) }
        if self.shared != nil {
            // The attributes of all entries would need the leases of all.
            configuration.directoryEntries = .plain
            configuration.locks = .byFileSystem
            configuration.mapsDirectIO = true
            rotator.hold()
        }
        session = Session(fileSystem: self.shared ?? fileSystem, configuration: configuration)
        do { foreignChanges = try ForeignChanges(fileSystem, session.notifier) } catch {
            throw .vault(.system(error))
        }
        shared.notifier.withLock { $0 = session.notifier }
        beforeMount()
        do throws(MountError) {
            try session.mount(at: path, options: options, source: source)
        } catch { throw .mount(error) }
    }

    private final class Shared: Sendable {
        let notifier: Mutex<Notifier?>
        init(_ notifier: consuming Mutex<Notifier?>) { self.notifier = notifier }
    }

    /// Whether all machines have ended their work with a shared vault, this one too.
    public var isLastOfShared: Bool { sharing?.isLast ?? true }

    /// Whether open(2) and read(2) of locked files wait for the unlock.
    public var freezes: Bool { fileSystem.parked.whenLocked.isFreeze }

    /// By which way requests come. Waits for no request and no disk.
    public var transport: TransportUse { session.transport }

    /// Whether the mount was used since the last call.
    public func takeUse() -> Bool { session.takeUse() }

    /// Creates all threads that the mount needs, then serves requests. A lock creates none, because the system may be
    /// out of threads by then. By io_uring, more are added while many answers are owed, if there are some to be had.
    ///
    /// - Parameter threads: the threads that serve requests; fewer if the system has no more, and at least one.
    /// - Throws: why a thread cannot be created. Then no thread is left, and no request was served.
    public func start(threads: Int) throws(Errno) {
        do throws(Errno) {
            try fileSystem.parked.start()
            try fileSystem.late.start()
            try fileSystem.handles.start()
            try checkpointer.start()
            try freshness?.start()
            try rotator.start()
            try fileSystem.changedFolders?.start { [fileSystem] in fileSystem.renewCopies(of: $0) }
            try foreignChanges?.start()
            try shared?.locks.start()
            if let sharing, let nodes = fileSystem.shared {
                try sharing.start(nodes) { [fileSystem] error in
                    fileSystem.log(.trouble("cannot give up what another machine waits for: \(error)"))
                } lost: { [fileSystem] in
                    fileSystem.log(
                        .trouble("another machine has taken over: everything fails until the vault is mounted again"))
                }
            }
            try session.start(threads: threads)
            foreignChanges?.begin()
        } catch {
            end()
            throw error
        }
    }

    /// Returns when the file system is unmounted and its last user has gone. Call it after `start`.
    public func run() throws(Errno) {
        defer { end() }
        try session.wait()
    }

    private func end() {
        foreignChanges?.stop()
        rotator.stop()
        fileSystem.parked.stop()
        fileSystem.late.stop()
        fileSystem.handles.stop()
        fileSystem.changedFolders?.stop()
        checkpointer.stop()
        freshness?.stop()
        shared?.locks.stop()
        var isClean = true
        do throws(VaultError) {
            try sharing?.giveUpAll()
            try fileSystem.vault.close()
        } catch {
            isClean = false
            // Nothing is lost: the next mount, or another machine, recovers it from the journal.
            fileSystem.log(.trouble("cannot bring the vault's files up to date at the end: \(error)"))
        }
        sharing?.leave(isClean: isClean)
        freshness?.finish()
        // Before another daemon may serve the vault: a late write must not overwrite what that one writes.
        store?.awaitGivenUp()
    }

    /// Evicts the keys of class A, of closed files of class B and, in a deep lock, of class C; returns when they are
    /// gone from memory.
    public func evict(_ depth: LockDepth) -> EvictionReport {
        Eviction(fileSystem: fileSystem, session: session, progress: progress, depth: depth, store: store, hurry: hurry)
            .run()
    }

    /// From this time of the boot clock on, requests for contents that a lock of this depth closes fail, even if
    /// `evict` is called later. An earlier deadline stands.
    public func setDeadline(_ deadline: Duration, _ depth: LockDepth) {
        fileSystem.gates.close(at: deadline, depth)
        rotator.pause()
    }

    /// Moves the deadline of a lock of this depth, also to a later time. No eviction may have begun since `admit`, and
    /// the present deadline has not passed.
    public func moveDeadline(to deadline: Duration, _ depth: LockDepth) {
        fileSystem.gates.move(to: deadline, depth)
        rotator.pause()
    }

    /// Takes back all deadlines. No eviction may have begun since `admit`.
    public func cancelDeadlines() {
        fileSystem.gates.forgetDeadlines()
        rotator.resume()
        // Requests that came after a deadline that is now cancelled.
        fileSystem.parked.admit()
    }

    /// Takes in the class keys, opens all classes and cancels the deadline. Returns false and does nothing if the keys
    /// are older than a rotation that has begun since.
    @discardableResult
    public func admit(_ keys: consuming ClassKeys) -> Bool {
        guard fileSystem.vault.admit(keys) else { return false }
        fileSystem.gates.forgetDeadlines()
        fileSystem.gates.open(ProtectionClass.allCases)
        fileSystem.parked.admit()
        rotator.resume()
        return true
    }

    /// The classes whose existing files can be opened now.
    public var classKeys: [ProtectionClass] {
        ProtectionClass.allCases.filter { fileSystem.vault.canOpen($0) }
    }

    /// The number of open files of each class.
    public var openFiles: [ProtectionClass: Int] { fileSystem.nodes.openFiles }

    /// The number of file keys in memory.
    public var fileKeysInMemory: Int { fileSystem.vault.fileKeysInMemory }

    /// The number of requests that wait for the next unlock.
    public var waitingRequests: Int { fileSystem.parked.waiting }

    /// Answers the requests that wait for the next unlock with EINTR, and lets none wait until `allowWaiting`. Calls
    /// are counted. Does not wait.
    public func interruptWaiting() { fileSystem.parked.interrupt() }

    public func allowWaiting() { fileSystem.parked.allow() }

    /// Nil while no eviction runs.
    public var evictionProgress: EvictionStep? { progress.step }

    /// The classes of open files, by their inode numbers in the mount; nil if no open file has the number.
    public func classes(ofInodes inodes: [UInt64]) -> [ProtectionClass?] {
        fileSystem.nodes.classes(ofInodes: inodes)
    }

    /// What was refused since the mount because it is damaged; nil if nothing was. Waits for no disk.
    public var refusals: RefusalSummary? { fileSystem.refusals.summary }

    /// Nil if this machine remembers nothing of the vault's files. Waits for no disk.
    public var freshnessSummary: FreshnessSummary? {
        fileSystem.vault.freshness.map { FreshnessSummary($0, fileSystem.staleNotice.paths(of: $0)) }
    }

    /// Calls `notice` from now on when files were found that are older than what this machine has seen.
    public func noticeStale(_ notice: @escaping @Sendable () -> Void) {
        fileSystem.staleNotice.set(notice)
    }

    /// What is in the vault now is as it should be, whatever this machine has seen: one file behind a descriptor of
    /// this mount, or everything.
    public func accept(_ file: Descriptor?) throws(VaultError) {
        guard fileSystem.vault.freshness != nil else { throw .unsupported("this mount remembers no versions of files") }
        guard let file else {
            fileSystem.staleNotice.forget()
            return try fileSystem.acceptAll()
        }
        let status: FileStatus
        do { status = try file.status() } catch { throw .system(error) }
        guard status.device == session.deviceNumber else { throw .system(.ENOENT) }
        try fileSystem.accept(status)
        // A failure is told by the thread that saves now and then.
        try? fileSystem.vault.freshness?.marks.save()
    }

    /// What protects the file behind a descriptor of this mount, which may have been opened with O_PATH.
    ///
    /// - Parameter name: an entry that cannot be opened, of the folder behind the descriptor.
    /// - Throws: `ENOENT` if the file is not of this mount, or no longer has a name.
    public func explain(_ file: Descriptor, _ name: Name? = nil) throws(VaultError) -> ProtectionFacts {
        let status: FileStatus
        do { status = try file.status() } catch { throw .system(error) }
        guard status.device == session.deviceNumber else { throw .system(.ENOENT) }
        if let name { return try fileSystem.facts(of: name, inFolder: status) }
        return try fileSystem.facts(of: status)
    }

    /// `st_dev` of the files in the mount.
    public var deviceNumber: UInt64 { session.deviceNumber ?? 0 }

    /// Makes all completed writes durable.
    public func synchronize() throws(VaultError) {
        for node in fileSystem.nodes.open {
            guard let file = node.state.withLock({ $0.file?.file }) else { continue }
            try file.persistLength()
        }
        try fileSystem.vault.synchronize()
    }

    /// Whether programs can change nothing: the mount is read-only, or `remounted` has made it so.
    public var isReadOnly: Bool { fileSystem.vault.isReadOnly || fileSystem.isStill.load(ordering: .acquiring) }

    /// Follows a remount. With `readOnly` it returns when all that was written is in its place in the vault's folder,
    /// in which nothing changes after that; else, changes begin again.
    ///
    /// - Parameter readOnly: what the kernel does now.
    public func remounted(readOnly: Bool) throws(VaultError) {
        // No program changes anything any more.
        if readOnly { fileSystem.renewCopies() }
        fileSystem.keepsStill.store(readOnly, ordering: .relaxed)
        guard readOnly else {
            fileSystem.isStill.store(false, ordering: .releasing)
            // No file gets new keys while other machines work with the vault.
            return sharing == nil ? rotator.release() : ()
        }
        rotator.hold()
        try synchronize()
        fileSystem.isStill.store(true, ordering: .releasing)
    }

    /// From now on waits for a store that may hang for some seconds only: the process is about to end.
    public func hurryToEnd() {
        store?.begin(.end)
        hurry(true)
    }

    /// Fails all requests, present and future.
    public func disconnect() throws(Errno) {
        try session.abort()
        sharing?.interrupt()
    }

    /// Unmounts; fails with `EBUSY` while the mount is in use. A lazy unmount detaches at once, `run` returns when the
    /// last user has gone, and requests that wait for an unlock are refused.
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
