import Crypto
import Format
import Posix
import Store
import Synchronization
import Vault

/// A check that everything in a vault is what was written there. Changes nothing.
///
/// No other process may have the vault open. What cannot be verified because a class key is missing is counted, not
/// reported.
public final class Check: Sendable {
    public let progress = CheckProgress()

    let vault: Vault
    /// Whether it verifies blocks too, of the classes whose keys are in the ring.
    let readsContents: Bool
    /// Whether each directory is listed twice, first to count its entries, so that `progress` has a fraction.
    let estimates: Bool
    /// `lk.keybag.old` replaces a damaged keybag, so it is not an orphan.
    let needsPreviousKeybag: Bool
    let queue: CheckQueue
    let unclaimed = UnclaimedSidecars()
    /// How many directories a thread keeps open on its path; each has two descriptors.
    let mostOpen: Int
    /// What this machine remembers of the files; nil if they are not compared with that.
    let remembered: RememberedFiles?
    private let threads: Int
    private let found: @Sendable (Finding) -> Void
    private let cancelled = Atomic<Bool>(false)
    let isPartly = Atomic<Bool>(false)
    private let failure = Mutex<VaultError?>(nil)
    private let sightedTargets = Mutex<Set<Name>>([])
    private let crashedSessionWindows = Mutex<[JournalHead.Window]>([])
    /// Set before the walk and constant during it.
    private let search: IdentifierSearch?

    /// - Parameters:
    ///   - needsPreviousKeybag: `lk.keybag.old` is not an orphan: it replaces a keybag that does not open.
    ///   - threads: how many threads work, with the one that calls `run`.
    ///   - found: called with each finding at once, from any of the threads; one thread at a time reports on an entry.
    public convenience init(
        of vault: Vault, contents: Bool, threads: Int, estimatesProgress: Bool = false,
        needsPreviousKeybag: Bool = false, found: @escaping @Sendable (Finding) -> Void
    ) {
        self.init(
            of: vault, contents: contents, threads: threads, estimatesProgress: estimatesProgress,
            needsPreviousKeybag: needsPreviousKeybag, search: nil, found: found)
    }

    init(
        of vault: Vault, contents: Bool, threads: Int, estimatesProgress: Bool, needsPreviousKeybag: Bool = false,
        search: IdentifierSearch?, found: @escaping @Sendable (Finding) -> Void
    ) {
        self.vault = vault
        self.search = search
        remembered = vault.freshness.map { RememberedFiles($0.marks.table) }
        readsContents = contents
        self.threads = max(threads, 1)
        estimates = estimatesProgress
        self.needsPreviousKeybag = needsPreviousKeybag
        queue = CheckQueue(capacity: 4 * threads)
        mostOpen = max(2, min(64, ProcessLimits.openFiles / (6 * self.threads) - 4))
        self.found = found
    }

    /// Checks everything, or what it reaches before `cancel`. Returns when all threads have ended.
    ///
    /// - Throws: what stops the check itself, such as a lack of memory for keys. Damage to the vault is a finding.
    public func run() throws(VaultError) {
        guard let root = openRoot() else { return }
        listSidecars()
        unclaimed.claim(root.directory.identifier)
        try run(from: root)
        checkTargets()
        checkSidecars()
        checkNameless()
        reportMissing()
    }

    /// Checks a directory and everything below it.
    func run(from folder: CheckedFolder) throws(VaultError) {
        _ = queue.offer(.folder(folder))
        runInParallel(threads) { self.work() }
        if let failure = failure.withLock({ $0 }) { throw failure }
    }

    /// Ends the check soon. Thread-safe.
    public func cancel() { cancelled.store(true, ordering: .relaxed) }

    public var isCancelled: Bool { cancelled.load(ordering: .relaxed) }

    private func work() {
        let worker: CheckWorker
        do throws(CryptoError) { worker = try CheckWorker(self) } catch {
            failure.withLock { $0 = VaultError(error, damaged: "") }
            cancel()
            return
        }
        queue.work { worker.run($0) }
    }

    /// Adds a finding of the check or of its caller.
    public func report(_ finding: Finding) {
        progress.count(finding)
        found(finding)
    }

    // MARK: Shared by the workers

    /// The time windows of sessions that ended in a crash.
    var crashedSessions: [JournalHead.Window] { crashedSessionWindows.withLock { $0 } }

    func noteCrashedSessions(_ windows: [JournalHead.Window]) { crashedSessionWindows.withLock { $0 += windows } }

    /// Notes that the walk has missed something. Links in it may name long targets that no other link names.
    func noteUnseen() { isPartly.store(true, ordering: .relaxed) }

    func sight(_ file: FileIdentifier) {
        unclaimed.claim(file)
        search?.sight(file)
    }

    func sight(_ directory: DirectoryIdentifier) {
        unclaimed.claim(directory)
        search?.sight(directory)
    }

    /// Whether the walk has reached everything that may own a long target or attributes.
    var hasSeenAll: Bool {
        !isCancelled && progress.damaged == 0 && progress.notes == remembered?.older ?? 0
            && !isPartly.load(ordering: .relaxed)
    }

    func sight(_ target: Name) { _ = sightedTargets.withLock { $0.insert(target) } }

    func isSighted(_ target: Name) -> Bool { sightedTargets.withLock { $0.contains(target) } }
}
