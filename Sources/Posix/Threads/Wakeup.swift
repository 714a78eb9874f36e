import CLinux
import Glibc

/// Wakes threads that wait in poll(2), read(2) or `wait`.
///
/// Any thread may call `signal`, also many times: the waiting thread sees one wakeup until it calls `clear`.
/// Thread-safe; no call but `wait` waits. One descriptor, close-on-exec and nonblocking.
///
/// Source: eventfd(2).
package final class Wakeup: Sendable {
    /// Readable from `signal` until `clear`.
    package let readable: Descriptor

    /// - Throws: EMFILE, ENFILE or ENOMEM, where no descriptor is left.
    package init() throws(Errno) {
        readable = Descriptor(owning: try call { lk_eventfd() })
    }

    package func signal() {
        // Fails with EAGAIN alone, at a count of 2^64 - 2: the descriptor is readable then too.
        var one: UInt64 = 1
        _ = unsafe write(readable.number, &one, MemoryLayout<UInt64>.size)
    }

    /// Before the waiting thread looks at what it was woken for, so that no later `signal` is lost.
    package func clear() {
        var count: UInt64 = 0
        _ = unsafe read(readable.number, &count, MemoryLayout<UInt64>.size)
    }

    /// Returns once `signal` was called, and clears it.
    package func wait() {
        // Poll fails for want of memory at most; then the caller looks for nothing, and waits again.
        _ = try? Poll.readable([readable])
        clear()
    }
}
