import Failure
import Glibc
import Keybag
import Posix
import Synchronization
import Vault

/// The thread that gives a vault's files new keys while it is mounted and unlocked, until no file has an old key.
///
/// At a lock it stops after the file in hand; the next unlock resumes it.
final class KeyRotator: Sendable {
    /// What begins and ends a rotation, outside of the vault.
    struct Keys: Sendable {
        /// Whether old keys exist. Does not block.
        let areOld: @Sendable () -> Bool
        /// Deletes the old keys for good; false while the vault is locked.
        let finish: @Sendable () throws(Failure) -> Bool
        let finished: @Sendable () -> Void
    }

    /// The wait after a failed walk.
    private static let pause = Duration.seconds(600)

    private let rotation: KeyRotation
    private let flags: Flags
    private let log: @Sendable (MountEvent) -> Void
    private let isReadOnly: Bool
    private let wakeup: Wakeup
    private let state = Mutex(State())
    private let worker = Worker()
    /// Held during a walk and what follows it; taken before any lock of the vault's.
    private let walking = Mutex(())

    private struct State {
        var keys: Keys?
        var isSignalled = false
        var step = ProtectedMount.Rotation.Step.waiting
        /// Why the last walk, or the step after it, failed.
        var failure: String?
    }

    private final class Flags: Sendable {
        let isStopped = Atomic(false)
        /// A lock has begun, and no unlock has followed yet.
        let isPaused = Atomic(false)
        /// The mount was remounted read-only.
        let isHeld = Atomic(false)

        var mustStop: Bool {
            isStopped.load(ordering: .relaxed) || isPaused.load(ordering: .relaxed) || isHeld.load(ordering: .relaxed)
        }
    }

    init(_ fileSystem: VaultFileSystem) throws(Errno) {
        let flags = Flags()
        self.flags = flags
        log = fileSystem.log
        isReadOnly = fileSystem.vault.isReadOnly
        rotation = KeyRotation(of: fileSystem.vault, tree: fileSystem.tree) { flags.mustStop }
        wakeup = try Wakeup()
    }

    /// Call it before `start`.
    func use(_ keys: Keys) { state.withLock { $0.keys = keys } }

    /// The progress of the rotation; nil if no file has an old key. Does not block.
    var progress: ProtectedMount.Rotation? {
        let (keys, isSignalled, last, failure) = state.withLock { ($0.keys, $0.isSignalled, $0.step, $0.failure) }
        guard let keys, keys.areOld() else { return nil }
        var progress = rotation.progress
        progress.failure = progress.failure ?? failure
        let step = isSignalled && !isReadOnly && last == .waiting && rotation.hasKeys ? .renewing : last
        return ProtectedMount.Rotation(step: step, progress: progress)
    }

    // MARK: - Signals

    /// A lock begins: the thread begins no further file.
    func pause() { flags.isPaused.store(true, ordering: .relaxed) }

    /// There may be work, and the keys for it are in memory.
    func resume() {
        flags.isPaused.store(false, ordering: .relaxed)
        signal()
    }

    /// As `resume`, but a lock that has begun keeps the thread paused.
    func resumeUnlessPaused() { signal() }

    /// Keeps the thread from changing files until `release`; returns when the file in hand is done.
    func hold() {
        flags.isHeld.store(true, ordering: .sequentiallyConsistent)
        walking.withLock { _ in }
    }

    func release() {
        flags.isHeld.store(false, ordering: .relaxed)
        signal()
    }

    private func signal() {
        state.withLock { $0.isSignalled = true }
        wakeup.signal()
    }

    /// Starts the thread, unless the vault is mounted read-only or `use` was not called.
    ///
    /// - Throws: why the thread cannot be created.
    func start() throws(Errno) {
        guard !isReadOnly, state.withLock({ $0.keys != nil }) else { return }
        try worker.start { [self] in run() }
    }

    /// Ends the thread and waits for it.
    func stop() {
        flags.isStopped.store(true, ordering: .relaxed)
        signal()
        worker.join()
    }

    // MARK: - The thread

    private func run() {
        // Requests take precedence over rotation. On Linux, setpriority(2) with 0 affects only the calling thread.
        _ = setpriority(Int32(PRIO_PROCESS.rawValue), 0, 5)
        var patience: Duration? = nil
        while !flags.isStopped.load(ordering: .relaxed) {
            _ = try? Poll.readable([wakeup.readable], timeout: patience)
            wakeup.clear()
            let hasKeys = rotation.hasKeys
            state.withLock { state in
                state.isSignalled = false
                // A caller that signalled must not read the result of an earlier walk.
                if hasKeys { (state.step, state.failure) = (.renewing, nil) }
            }
            patience = walking.withLock { _ in work() } ? nil : Self.pause
        }
    }

    /// False if it must be tried again after a pause.
    private func work() -> Bool {
        guard let keys = state.withLock({ $0.keys }) else { return true }
        defer { state.withLock { $0.step = .waiting } }
        while keys.areOld(), rotation.hasKeys, !mustStop {
            state.withLock { ($0.step, $0.failure) = (.renewing, nil) }
            switch rotation.walk() {
            case .interrupted: return true
            case .unproven: continue
            case .failed:
                log(
                    .trouble(
                        "files still have old keys; the first could not be given a new one",
                        first: rotation.progress.failure))
                return false
            case .clean: return finish(keys)
            }
        }
        return true
    }

    private var mustStop: Bool { flags.mustStop }

    private func finish(_ keys: Keys) -> Bool {
        state.withLock { $0.step = .finishing }
        do {
            try rotation.makeDurable()
            guard try keys.finish() else { return true }
        } catch {
            log(.trouble("cannot remove the old keys: \(error)"))
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
