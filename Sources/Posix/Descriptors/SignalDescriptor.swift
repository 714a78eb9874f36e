import CLinux
import Glibc

/// Signals as a descriptor to wait for, instead of handlers.
///
/// Source: signalfd(2).
public final class SignalDescriptor: Sendable {
    /// Readable while a signal is pending.
    public let descriptor: Descriptor

    /// Blocks the signals in the calling thread and in all threads it starts later.
    ///
    /// Call it before the program has other threads: a thread that has not blocked a signal takes its default action.
    /// Executed programs inherit the mask.
    public init(blocking signals: [Int32]) throws(Errno) {
        var set = SignalDescriptor.set(of: signals)
        let result = unsafe pthread_sigmask(SIG_BLOCK, &set, nil)
        guard result == 0 else { throw Errno(rawValue: result) }
        descriptor = Descriptor(owning: try call { unsafe lk_signalfd(&set) })
    }

    /// Waits for one of the signals and takes it.
    public func next() throws(Errno) -> Int32 {
        try call { lk_signalfd_read(descriptor.number) }
    }

    /// The same, and whether a process has sent it: not the kernel, as for a key of the terminal or the end of a child.
    public func nextWithOrigin() throws(Errno) -> (signal: Int32, isSent: Bool) {
        var isSent: Int32 = 0
        let signal = try call { unsafe lk_signalfd_read_origin(descriptor.number, &isSent) }
        return (signal, isSent != 0)
    }

    /// Blocks signals in the calling thread alone, for threads that must not receive them.
    public static func block(_ signals: [Int32]) throws(Errno) {
        var set = set(of: signals)
        let result = unsafe pthread_sigmask(SIG_BLOCK, &set, nil)
        guard result == 0 else { throw Errno(rawValue: result) }
    }

    private static func set(of signals: [Int32]) -> sigset_t {
        var set = sigset_t()
        unsafe sigemptyset(&set)
        for signal in signals {
            let result = unsafe sigaddset(&set, signal)
            precondition(result == 0, "not a signal")
        }
        return set
    }
}
