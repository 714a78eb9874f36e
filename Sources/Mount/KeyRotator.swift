import Failure
import Glibc
import Keybag
import Posix
import Synchronization
import Vault

/// The thread that gives a vault's files new keys while it is mounted and unlocked, until none has an old one.
///
/// It stops between two files when somebody locks, and goes on at the next unlock.
final class KeyRotator: Sendable {
    /// What begins and ends outside of the vault.
    struct Keys: Sendable {
        /// Whether there are old keys. Answers at once.
        let areOld: @Sendable () -> Bool
        /// Lets go of them for good; false while the vault is locked.
        let finish: @Sendable () throws(Failure) -> Bool
        let finished: @Sendable () -> Void
    }

    /// After a walk that has failed.
    private static let pause = Duration.seconds(600)

    private let rotation: KeyRotation
    private let flags: Flags
    private let log: @Sendable (MountEvent) -> Void
    private let isReadOnly: Bool
    private let wakeup: Wakeup
    private let state = Mutex(State())
    private let worker = Worker()

    private struct State {
        var keys: Keys?
        var isSignalled = false
        var step = ProtectedMount.Rotation.Step.waiting
        /// Why the last walk, or what comes behind it, has failed.
        var failure: String?
    }

    private final class Flags: Sendable {
        let isStopped = Atomic(false)
        /// Somebody has locked.
        let isPaused = Atomic(false)
    }

    init(_ fileSystem: VaultFileSystem) throws(Errno) {
        let flags = Flags()
        self.flags = flags
        log = fileSystem.log
        isReadOnly = fileSystem.vault.isReadOnly
        rotation = KeyRotation(of: fileSystem.vault, tree: fileSystem.tree) {
            flags.isStopped.load(ordering: .relaxed) || flags.isPaused.load(ordering: .relaxed)
        }
        wakeup = try Wakeup()
    }

    /// Before `start`.
    func use(_ keys: Keys) { state.withLock { $0.keys = keys } }

    /// How far it is; nil if there is nothing to do. Answers at once.
    var progress: ProtectedMount.Rotation? {
        let (keys, isSignalled, last, failure) = state.withLock { ($0.keys, $0.isSignalled, $0.step, $0.failure) }
        guard let keys, keys.areOld() else { return nil }
        var progress = rotation.progress
        progress.failure = progress.failure ?? failure
        let step = isSignalled && !isReadOnly && last == .waiting && rotation.hasKeys ? .renewing : last
        return ProtectedMount.Rotation(step: step, progress: progress)
    }

    // MARK: - Who it listens to

    /// Somebody has locked: no further file is begun.
    func pause() { flags.isPaused.store(true, ordering: .relaxed) }

    /// There is something to do perhaps, and the keys for it.
    func resume() {
        flags.isPaused.store(false, ordering: .relaxed)
        signal()
    }

    /// The same, but not while somebody locks.
    func resumeUnlessPaused() { signal() }

    private func signal() {
        state.withLock { $0.isSignalled = true }
        wakeup.signal()
    }

    /// No thread is needed for a vault that is only read.
    ///
    /// - Throws: why no thread can be made.
    func start() throws(Errno) {
        guard !isReadOnly, state.withLock({ $0.keys != nil }) else { return }
        try worker.start { [self] in run() }
    }

    /// Ends the thread; returns when it has ended.
    func stop() {
        flags.isStopped.store(true, ordering: .relaxed)
        signal()
        worker.join()
    }

    // MARK: - The thread

    private func run() {
        // Those who wait for an answer go first. On Linux this is for the calling thread alone.
        _ = setpriority(Int32(PRIO_PROCESS.rawValue), 0, 5)
        var patience: Duration? = nil
        while !flags.isStopped.load(ordering: .relaxed) {
            _ = try? Poll.readable([wakeup.readable], timeout: patience)
            wakeup.clear()
            let hasKeys = rotation.hasKeys
            state.withLock { state in
                state.isSignalled = false
                // The one who signalled is not to see what was the last time.
                if hasKeys { (state.step, state.failure) = (.renewing, nil) }
            }
            patience = work() ? nil : Self.pause
        }
    }

    /// False if it is to be tried again by and by.
    private func work() -> Bool {
        guard let keys = state.withLock({ $0.keys }) else { return true }
        defer { state.withLock { $0.step = .waiting } }
        while keys.areOld(), rotation.hasKeys, !mustStop {
            state.withLock { ($0.step, $0.failure) = (.renewing, nil) }
            switch rotation.walk() {
            case .interrupted: return true
            case .unproven: continue
            case .failed:
                let failure = rotation.progress.failure ?? ""
                log(.trouble("files still have old keys, of which nothing could be done with the first: \(failure)"))
                return false
            case .clean: return finish(keys)
            }
        }
        return true
    }

    private var mustStop: Bool { flags.isStopped.load(ordering: .relaxed) || flags.isPaused.load(ordering: .relaxed) }

    private func finish(_ keys: Keys) -> Bool {
        state.withLock { $0.step = .finishing }
        do {
            try rotation.makeDurable()
            guard try keys.finish() else { return true }
        } catch {
            log(.trouble("cannot let go of the old keys: \(error)"))
            let reason =
                if case .io(let errno, let doing)? = error as? Failure { "\(doing): \(errno)" } else { "\(error)" }
            state.withLock { $0.failure = reason }
            return false
        }
        rotation.end()
        keys.finished()
        return true
    }
}
