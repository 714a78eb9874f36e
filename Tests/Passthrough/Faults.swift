import Posix
import Synchronization

/// Requests that are answered with an error, as often as a test has said.
final class Faults: Sendable {
    /// The request.
    enum Call: String {
        case lookup, open, read, readdir, readlink, create, write, mkdir, symlink, rename, unlink, rmdir, fsync
    }

    private struct Fault {
        let error: Errno
        var count: Int
        /// The request is carried out before it is answered with the error.
        let isDone: Bool
    }

    private let faults = Mutex<[Call: Fault]>([:])

    func fail(_ call: Call, with error: Errno, times count: Int, isDone: Bool) {
        faults.withLock { $0[call] = Fault(error: error, count: count, isDone: isDone) }
    }

    /// How many errors of a request are still to come.
    func left(of call: Call) -> Int { faults.withLock { $0[call]?.count ?? 0 } }

    /// Runs `body`, unless the request is to fail.
    func answering<Result>(_ call: Call, _ body: () throws(Errno) -> Result) throws(Errno) -> Result {
        let due = faults.withLock { faults -> Fault? in
            guard let fault = faults[call], fault.count > 0 else { return nil }
            faults[call]!.count -= 1
            return fault
        }
        guard let due else { return try body() }
        if due.isDone { _ = try body() }
        throw due.error
    }
}
