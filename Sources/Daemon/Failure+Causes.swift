import Failure
import Mount
import Posix

// Errors of the modules below, translated into `Failure` where they enter the daemon.

extension Failure {
    /// Runs `body`, in which only the start of threads can fail.
    static func makingThreads<Result: ~Copyable>(_ body: () throws(Errno) -> Result) throws(Failure) -> Result {
        do { return try body() } catch { throw .noThread(error) }
    }

    /// Runs `body`, and names its purpose in the failure.
    static func when<Result: ~Copyable>(
        _ doing: @autoclosure () -> Printable, _ body: () throws(Errno) -> Result
    ) throws(Failure) -> Result {
        do { return try body() } catch { throw .io(error, doing: doing()) }
    }

    init(_ error: ProtectedMountError) {
        switch error {
        case .vault(.damaged(let reason)): self = .damaged(reason: reason)
        case .vault(.unsupported(let reason)): self = .unsupported(reason: reason)
        case .vault(.unseen(let reason)), .vault(.stale(let reason)): self = .failed(reason: reason)
        case .vault(.locked): self = .rootLocked
        case .vault(.system(let errno)): self = .io(errno, doing: "read the vault's root")
        case .mount(let error):
            // fusermount3 writes its reason to standard error, and libfuse reports none.
            let reason: Printable = error.errno.map { "\($0)" } ?? "fusermount3 has refused it"
            self = .mountPoint(reason: error.message.isEmpty ? reason : error.message)
        }
    }
}
