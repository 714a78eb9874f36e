import Failure
import Mount
import Posix

// What the modules beneath throw, turned into a failure at the daemon's border.

extension Failure {
    /// Runs `body`, which makes threads and nothing else that can fail.
    static func makingThreads<Result: ~Copyable>(_ body: () throws(Errno) -> Result) throws(Failure) -> Result {
        do { return try body() } catch { throw .noThread(error) }
    }

    /// Runs `body`, and says what it was for when it fails.
    static func when<Result: ~Copyable>(
        _ doing: @autoclosure () -> String, _ body: () throws(Errno) -> Result
    ) throws(Failure) -> Result {
        do { return try body() } catch { throw .io(error, doing: doing()) }
    }

    init(_ error: ProtectedMountError) {
        switch error {
        case .vault(.damaged(let reason)): self = .damaged(reason: reason)
        case .vault(.unsupported(let reason)): self = .unsupported(reason: reason)
        case .vault(.locked): self = .rootLocked
        case .vault(.system(let errno)): self = .io(errno, doing: "read the vault's root")
        case .mount(let error):
            // fusermount3 says what is wrong on standard error, and libfuse nothing.
            let reason = error.errno.map { "\($0)" } ?? "fusermount3 has refused it"
            self = .mountPoint(reason: error.message.isEmpty ? reason : error.message)
        }
    }
}
