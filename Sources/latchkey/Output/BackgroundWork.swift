import Posix
import Synchronization

/// Runs long work on a thread of its own, and reports its end.
final class BackgroundWork<Failure: Error>: Sendable {
    /// Readable when the work has ended.
    let ended: Descriptor
    private let result = Mutex<Failure?>(nil)

    var error: Failure? { result.withLock { $0 } }

    init(_ work: @escaping @Sendable () throws(Failure) -> Void) throws(Errno) {
        let pipe = try Pipe()
        ended = pipe.readEnd
        // The thread closes it at its end, which makes `ended` readable.
        let writeEnd = Mutex<Descriptor?>(pipe.writeEnd)
        try startThread { [self] in
            do throws(Failure) { try work() } catch { result.withLock { $0 = error } }
            writeEnd.withLock { $0 = nil }
        }
    }
}
