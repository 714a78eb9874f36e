import Crypto
import Format
import Posix
import Store
import Synchronization
import Vault

/// A check of all that lies in a vault: that it is what was written there. Changes nothing.
///
/// The vault is nobody else's meanwhile. What cannot be verified for want of a class key is counted, not reported.
public final class Check: Sendable {
    public let progress = CheckProgress()

    let vault: Vault
    /// Blocks are read too, of the classes whose keys are at hand.
    let readsContents: Bool
    /// Directories are listed once more before, so that `progress` knows a fraction.
    let estimates: Bool
    /// `lk.keybag.old` stands in for a keybag that is damaged.
    let needsPreviousKeybag: Bool
    let queue: CheckQueue
    /// Directories that one thread keeps open on its way down, two descriptors each.
    let mostOpen: Int
    private let threads: Int
    private let found: @Sendable (Finding) -> Void
    private let cancelled = Atomic<Bool>(false)
    let isPartly = Atomic<Bool>(false)
    private let failure = Mutex<VaultError?>(nil)
    private let sightedTargets = Mutex<Set<Name>>([])
    private let crashedSessionWindows = Mutex<[JournalHead.Window]>([])
    /// Set before the walk, and only read by it.
    private let search: IdentifierSearch?

    /// - Parameters:
    ///   - needsPreviousKeybag: `lk.keybag.old` is no orphan: it stands in for a keybag that does not open.
    ///   - threads: how many work at it, the one that calls `run` among them.
    ///   - found: called with each finding as it comes, by any of the threads, by one at a time for one entry.
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
        readsContents = contents
        self.threads = max(threads, 1)
        estimates = estimatesProgress
        self.needsPreviousKeybag = needsPreviousKeybag
        queue = CheckQueue(capacity: 4 * threads)
        mostOpen = max(2, min(64, ProcessLimits.openFiles / (6 * self.threads) - 4))
        self.found = found
    }

    /// Checks everything, or what it comes to before `cancel`; returns when all threads have ended.
    ///
    /// - Throws: what stops the check itself: no memory for keys. What is wrong with the vault is a finding.
    public func run() throws(VaultError) {
        guard let root = openRoot() else { return }
        try run(from: root)
        checkTargets()
        checkNameless()
    }

    /// Checks a directory and all that is below it.
    func run(from folder: CheckedFolder) throws(VaultError) {
        _ = queue.offer(.folder(folder))
        runInParallel(threads) { self.work() }
        if let failure = failure.withLock({ $0 }) { throw failure }
    }

    /// Ends the check soon. Safe from any thread.
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

    /// Adds a finding, also one that somebody else has made.
    public func report(_ finding: Finding) {
        progress.count(finding)
        found(finding)
    }

    // MARK: What the workers ask and tell

    /// Sessions that ended in a crash.
    var crashedSessions: [JournalHead.Window] { crashedSessionWindows.withLock { $0 } }

    func noteCrashedSessions(_ windows: [JournalHead.Window]) { crashedSessionWindows.withLock { $0 += windows } }

    /// Something was not walked through: links in it may name what no other link names.
    func noteUnseen() { isPartly.store(true, ordering: .relaxed) }

    func sight(_ file: FileIdentifier) { search?.sight(file) }

    func sight(_ directory: DirectoryIdentifier) { search?.sight(directory) }

    func sight(_ target: Name) { _ = sightedTargets.withLock { $0.insert(target) } }

    func isSighted(_ target: Name) -> Bool { sightedTargets.withLock { $0.contains(target) } }
}
