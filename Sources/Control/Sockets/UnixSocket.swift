import CLinux
import Failure
import Glibc
import Posix

// A socket's path goes through a descriptor of its folder, because sockaddr_un holds no more than 107 bytes.

/// A non-blocking connection to a listening socket; `timedOut` if the daemon does not accept within `seconds`.
func connect(to path: String, patience seconds: Double) throws(Failure) -> Descriptor {
    let deadline = Deadline.after(seconds: seconds)
    let socket = try unixSocket()
    let (directory, short) = try shortened(path)
    defer { withExtendedLifetime(directory) {} }
    while unsafe lk_unix_connect(socket.number, short) != 0 {
        switch Errno.current {
        case .EINTR: continue
        case .EAGAIN:
            // The listener's queue is full, and no event reports when it has room.
            guard deadline.pollTimeout > 0 else { throw .timedOut }
            usleep(5_000)
        case let errno: throw .socket(errno, doing: "connect to \(path)")
        }
    }
    return socket
}

/// A non-blocking socket that listens at a path that does not exist yet; only its owner may connect.
func listen(at path: String) throws(Failure) -> Descriptor {
    let socket = try unixSocket()
    let (directory, short) = try shortened(path)
    defer { withExtendedLifetime(directory) {} }
    guard unsafe lk_unix_bind(socket.number, short) == 0 else {
        let errno = Errno.current
        if errno == .EADDRINUSE { throw .alreadyServed(socket: Path(path)) }
        throw .socket(errno, doing: "bind \(path)")
    }
    guard unsafe chmod(short, 0o600) == 0, listen(socket.number, 64) == 0 else {
        throw .socket(.current, doing: "listen on \(path)")
    }
    return socket
}

private func unixSocket() throws(Failure) -> Descriptor {
    let number = lk_unix_socket()
    guard number >= 0 else { throw .socket(.current, doing: "make a socket") }
    let socket = Descriptor(owning: number)
    do { try socket.setNonblocking(true) } catch { throw .socket(error, doing: "make a socket") }
    return socket
}

private func shortened(_ path: String) throws(Failure) -> (directory: Descriptor, path: String) {
    let slash = path.lastIndex(of: "/")
    let directory = slash.map { String(path[...$0]) } ?? "."
    let name = slash.map { path[path.index(after: $0)...] } ?? path[...]
    do {
        let descriptor = try Descriptor.open(path: directory, O_RDONLY | O_DIRECTORY)
        return (descriptor, "/proc/self/fd/\(descriptor.number)/\(name)")
    } catch {
        throw .socket(error, doing: "open \(directory)")
    }
}

/// The user at the other end of a connection.
func peerUser(of socket: Descriptor) throws(Failure) -> UInt32 {
    do { return try socket.peerCredentials().user } catch { throw .socket(error, doing: "ask who has connected") }
}
