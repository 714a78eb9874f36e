import Glibc

/// Waits for several descriptors at once.
///
/// Source: poll(2).
public enum Poll {
    /// Waits until some of the descriptors are readable, closed by their peers or broken; returns their indices.
    ///
    /// After the timeout returns none; nil waits without limit.
    ///
    /// - Parameter changing: also waited for, each until it reports an exceptional condition (POLLPRI), as
    ///   /proc/self/mountinfo does after a change of the mounts. Their indices follow those of `descriptors`.
    public static func readable(
        _ descriptors: [Descriptor], changing: [Descriptor] = [], timeout: Duration? = nil
    ) throws(Errno) -> [Int] {
        let deadline = timeout.map { BootClock.now + $0 }
        var entries = descriptors.map { pollfd(fd: $0.number, events: Int16(POLLIN), revents: 0) }
        entries += changing.map { pollfd(fd: $0.number, events: Int16(POLLPRI), revents: 0) }
        defer { withExtendedLifetime((descriptors, changing)) {} }
        while true {
            let result = unsafe Glibc.poll(&entries, UInt(entries.count), milliseconds(until: deadline))
            if result == -1 {
                let error = Errno.current
                guard error == .EINTR else { throw error }
                continue
            }
            return entries.indices.filter { entries[$0].revents != 0 }
        }
    }

    /// Rounded up, so as not to wake before the deadline; -1 for no deadline.
    private static func milliseconds(until deadline: Duration?) -> Int32 {
        guard let deadline else { return -1 }
        let (seconds, attoseconds) = (deadline - BootClock.now).components
        let milliseconds = seconds * 1_000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
        return Int32(clamping: max(milliseconds, 0))
    }
}
