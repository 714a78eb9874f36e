import Glibc

/// Waiting for several descriptors at once.
///
/// Source: poll(2).
public enum Poll {
    /// Waits until one of the descriptors is readable, closed by its peer or broken; which ones, as indices.
    ///
    /// None after the timeout; nil waits without end.
    ///
    /// - Parameter changing: waited for as well, each until it reports an exceptional condition (POLLPRI), as a table of
    ///   mounts does that has changed. Their indices follow those of the others.
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

    /// Rounded up, so as not to wake before the deadline; -1 for none.
    private static func milliseconds(until deadline: Duration?) -> Int32 {
        guard let deadline else { return -1 }
        let (seconds, attoseconds) = (deadline - BootClock.now).components
        let milliseconds = seconds * 1_000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
        return Int32(clamping: max(milliseconds, 0))
    }
}
