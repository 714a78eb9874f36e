public import Posix

/// Why the bus did not do what was asked.
public enum BusError: Error, Hashable, Sendable, CustomStringConvertible {
    /// libsystemd.so.0 is not there.
    case noLibrary
    /// There is no bus at the address, or the connection was lost, or no reply came in time.
    case connection(Errno)
    /// The peer answered with this D-Bus error.
    case refused(name: String, Errno)

    public var description: String {
        switch self {
        case .noLibrary: "libsystemd.so.0 is not installed"
        case .connection(let errno): "\(errno)"
        case .refused(let name, _): name
        }
    }
}

/// Turns sd-bus's results, where a negative errno is a failure.
@discardableResult
func check(_ result: Int32) throws(BusError) -> Int32 {
    guard result < 0 else { return result }
    throw .connection(Errno(rawValue: -result))
}
