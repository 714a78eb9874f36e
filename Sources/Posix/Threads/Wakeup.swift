import CLinux
import Glibc

/// Wakes threads that wait in poll(2), read(2) or `wait`.
///
/// Any thread may call `signal`, also many times: the waiting thread sees one wakeup until it calls `clear`.
/// Thread-safe; only `wait` blocks. Takes one descriptor, close-on-exec and nonblocking.
///
/// Source: eventfd(2).
package final class Wakeup: Sendable {
    /// Readable from `signal` until `clear`.
    package let readable: Descriptor

    /// - Throws: EMFILE, ENFILE or ENOMEM if no descriptor is available.
    package init() throws(Errno) {
        readable = Descriptor(owning: try call { lk_eventfd() })
    }

    package func signal() {
        // Fails only with EAGAIN, at a count of 2^64 - 2; then the descriptor is readable too.
        var one: UInt64 = 1
        _ = unsafe write(readable.number, &one, MemoryLayout<UInt64>.size)
    }

    /// The waiting thread calls it before it looks for work, so that no later `signal` is lost.
    ///
    /// - Returns: whether there was a `signal` since the last call.
    @discardableResult
    package func clear() -> Bool {
        var count: UInt64 = 0
        return unsafe read(readable.number, &count, MemoryLayout<UInt64>.size) > 0
    }

    /// Waits for `signal`, and clears it. Never returns without one: a caller that evicts or unmounts does not look
    /// whether it should.
    package func wait() {
        // Poll fails for lack of memory, and under RLIMIT_NOFILE 0.
        while !clear() { if (try? Poll.readable([readable])) == nil { usleep(10_000) } }
    }
}
