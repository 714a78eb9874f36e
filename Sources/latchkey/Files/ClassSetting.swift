import Administration
import Crypto
import Failure
import Format
import Policy
import Posix
import Synchronization

/// Sets the class of files one after another, and shows the progress; a signal ends it after the present file.
final class ClassSetting: Sendable {
    private struct State {
        /// Number of files and folders visited.
        var count = 0
        var failures = Failures()
        /// The present file.
        var path: [UInt8] = []
    }

    private let protectionClass: ProtectionClass
    private let isRecursive: Bool
    private let rekey: Bool
    /// A leaf: no other lock is taken under it. Lock order: docs/ARCHITECTURE.md.
    private let state = Mutex(State())
    private let isInterrupted = Atomic(false)
    private let screen = Screen()

    init(_ protectionClass: ProtectionClass, recursive: Bool, rekey: Bool) {
        self.protectionClass = protectionClass
        isRecursive = recursive
        self.rekey = rekey
    }

    var count: Int { state.withLock { $0.count } }
    var failures: Failures { state.withLock { $0.failures } }

    /// The outcome, for scripts.
    struct Result: Encodable {
        let `class`: String
        let count, set, failed: Int
    }

    var result: Result {
        let (count, failed) = state.withLock { ($0.count, $0.failures.count) }
        return Result(class: protectionClass.name, count: count, set: count - failed, failed: failed)
    }

    var summary: String {
        let state = state.withLock { $0 }
        return "\(protectionClass.name): \(state.count - state.failures.count) of \(state.count) set"
    }

    /// Returns when everything possible is done; a signal ends the process.
    func run(on paths: [Path], in mounts: MountTable) throws(CommandError) {
        do throws(Errno) {
            let signals = try SignalDescriptor(blocking: Interruption.signals)
            let work = try BackgroundWork<Never> { [self] in
                ClassWalk(protectionClass, recursive: isRecursive, rekeys: rekey, self).run(on: paths, in: mounts)
            }
            // No progress for short work.
            var patience = Duration.seconds(1)
            var signal: Int32?
            while true {
                let ready = try Poll.readable([work.ended, signals.descriptor], timeout: patience)
                if ready.contains(0) { break }
                if ready.contains(1) {
                    let next = try signals.next()
                    // A second signal ends the process at once: a read may be frozen until the next unlock.
                    if signal != nil { Interruption.die(of: next) }
                    signal = next
                    isInterrupted.store(true, ordering: .relaxed)
                }
                patience = .milliseconds(200)
                screen.show(progress)
            }
            screen.write {}
            // If nothing was stopped, the signal came after the end of the work.
            guard let signal, isStopped else { return }
            let next = remembers.load(ordering: .relaxed) ? "goes on from there" : "begins anew"
            Standard.error("latchkey: stopped; \(summary) so far. The same command \(next).")
            Interruption.die(of: signal)
        } catch { throw CommandError(.failed, "cannot set classes: \(error)") }
    }

    /// Whether a signal stopped the work before its end.
    private let stopped = Atomic(false)
    private var isStopped: Bool { stopped.load(ordering: .sequentiallyConsistent) }

    /// Whether the next run will know which files have new keys.
    private let remembers = Atomic(true)

    private var progress: Printable {
        let state = state.withLock { $0 }
        let failed = state.failures.count == 0 ? "" : ", \(Amount.count(state.failures.count)) failed"
        let done = "\(Amount.count(state.count - state.failures.count)) set\(failed): "
        let path = "\(state.path)" as Printable
        let room = max(79 - done.count, 0)
        return "\(done)\(path.count > room ? Printable(verbatim: "…" + path.text.suffix(max(room - 1, 0))) : path)"
    }
}

extension ClassSetting: ClassWalk.Watcher {
    func stops() -> Bool {
        guard isInterrupted.load(ordering: .relaxed) else { return false }
        stopped.store(true, ordering: .sequentiallyConsistent)
        return true
    }

    func visits(_ path: [UInt8]) {
        state.withLock { state in
            state.count += 1
            state.path = path
        }
    }

    func fails(_ failure: Failure, at path: [UInt8]) {
        if case .interrupted = failure { return state.withLock { $0.count -= 1 } }
        let error = refusal(failure, path) ?? CommandError(failure, about: .file(path, protectionClass))
        screen.write { state.withLock { $0.failures.add(error) } }
    }

    func forgets() { remembers.store(false, ordering: .relaxed) }

    /// The kernel returns the same error for a class that the policy forbids and for a caller who may not set it. This
    /// machine's policy shows which one it is.
    private func refusal(_ failure: Failure, _ path: [UInt8]) -> CommandError? {
        guard case .classRefused = failure else { return nil }
        let policy = try? PolicyInForce.load(besides: nil, X25519.publicKey)
        return policy?.violation(setting: protectionClass).map { violation in
            CommandError(.failed, "cannot set the class of \(path): \(violation)", try: "latchkey policy check")
        }
    }
}
