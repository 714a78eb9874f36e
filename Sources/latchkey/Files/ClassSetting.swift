import Administration
import Crypto
import Failure
import Format
import Policy
import Posix
import Synchronization

/// Sets the class of files, one after another, and shows how far it is; a signal ends it after the file that it is at.
final class ClassSetting: Sendable {
    private struct State {
        /// Files and folders that were come to.
        var count = 0
        var failures = Failures()
        /// Where it is.
        var path: [UInt8] = []
    }

    private let protectionClass: ProtectionClass
    private let isRecursive: Bool
    private let rekey: Bool
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

    var summary: String {
        let state = state.withLock { $0 }
        return "\(protectionClass.name): \(state.count - state.failures.count) of \(state.count) set"
    }

    /// Returns when all that could be done is done; a signal ends the process.
    func run(on paths: [String], in mounts: MountTable) throws(CommandError) {
        do throws(Errno) {
            let signals = try SignalDescriptor(blocking: Interruption.signals)
            let work = try BackgroundWork<Never> { [self] in
                ClassWalk(protectionClass, recursive: isRecursive, rekeys: rekey, self).run(on: paths, in: mounts)
            }
            // Short work shows nothing.
            var patience = Duration.seconds(1)
            var signal: Int32?
            while true {
                let ready = try Poll.readable([work.ended, signals.descriptor], timeout: patience)
                if ready.contains(0) { break }
                if ready.contains(1) {
                    let next = try signals.next()
                    // Asked twice: a file may be frozen until the next unlock.
                    if signal != nil { Interruption.die(of: next) }
                    signal = next
                    isInterrupted.store(true, ordering: .relaxed)
                }
                patience = .milliseconds(200)
                screen.show(progress)
            }
            screen.write {}
            // Too late to stop anything: all is done.
            guard let signal, isStopped else { return }
            let next = remembers.load(ordering: .relaxed) ? "goes on from there" : "begins anew"
            Standard.error("latchkey: stopped; \(summary) so far. The same command \(next).")
            Interruption.die(of: signal)
        } catch { throw CommandError(.failed, "cannot set classes: \(error)") }
    }

    /// Whether something was left undone for a signal.
    private let stopped = Atomic(false)
    private var isStopped: Bool { stopped.load(ordering: .sequentiallyConsistent) }

    /// Whether the next run will know which files have got new keys.
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

    /// The kernel does not tell a policy that forbids the class from a caller who may not set it; this machine's policy
    /// does.
    private func refusal(_ failure: Failure, _ path: [UInt8]) -> CommandError? {
        guard case .classRefused = failure else { return nil }
        let policy = try? PolicyInForce.load(besides: nil, X25519.publicKey)
        return policy?.violation(setting: protectionClass).map { violation in
            CommandError(.failed, "cannot set the class of \(path): \(violation)", try: "latchkey policy check")
        }
    }
}
