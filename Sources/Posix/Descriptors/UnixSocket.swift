import CLinux
import Glibc

/// The peer of a Unix socket, as of the time of connection.
public struct PeerCredentials: Hashable, Sendable {
    public var process: Int32
    public var user: UInt32
    public var group: UInt32
}

/// Unix stream sockets. Every descriptor is close-on-exec, and no send raises SIGPIPE.
///
/// Source: unix(7).
public enum UnixSocket {
    /// The largest number of descriptors in one message.
    public static var maximumDescriptorCount: Int { Int(LK_DESCRIPTORS_MAX) }

    /// A socket that listens at a path of at most 107 bytes; EADDRINUSE if the path exists.
    ///
    /// The umask determines the mode of the socket file; write permission on it allows to connect.
    public static func listen(at path: String, backlog: Int32 = 16) throws(Errno) -> Descriptor {
        let socket = Descriptor(owning: try call { lk_unix_socket() })
        try unsafe withCString(Array(path.utf8)) { path throws(Errno) in
            try perform { unsafe lk_unix_bind(socket.number, path) }
        }
        try perform { Glibc.listen(socket.number, backlog) }
        return socket
    }

    /// ENOENT if the path does not exist, ECONNREFUSED if no process listens there.
    public static func connect(to path: String) throws(Errno) -> Descriptor {
        let socket = Descriptor(owning: try call { lk_unix_socket() })
        try unsafe withCString(Array(path.utf8)) { path throws(Errno) in
            try perform { unsafe lk_unix_connect(socket.number, path) }
        }
        return socket
    }

    /// Whether a process serves the socket at a path, of datagrams or a stream, as a log daemon serves /dev/log.
    public static func isServed(_ path: String) -> Bool {
        (try? unsafe withCString(Array(path.utf8)) { path in unsafe lk_unix_reaches(path) != 0 }) ?? false
    }

    /// A nonblocking socket whose datagrams go to `path`, which may be an abstract address that begins with `@`.
    public static func datagrams(to path: String) throws(Errno) -> Descriptor {
        Descriptor(
            owning: try unsafe withCString(Array(path.utf8)) { path throws(Errno) in
                try call { unsafe lk_unix_datagrams(path) }
            })
    }

    /// Two connected sockets.
    public static func pair() throws(Errno) -> (Descriptor, Descriptor) {
        var ends: [Int32] = [-1, -1]
        try perform { unsafe lk_unix_pair(&ends) }
        return (Descriptor(owning: ends[0]), Descriptor(owning: ends[1]))
    }
}

extension Descriptor {
    /// Waits for the next connection to a listening socket.
    public func accept() throws(Errno) -> Descriptor {
        Descriptor(owning: try call { lk_unix_accept(number) })
    }

    /// Source: SO_PEERCRED.
    public func peerCredentials() throws(Errno) -> PeerCredentials {
        var peer = PeerCredentials(process: 0, user: 0, group: 0)
        try perform { unsafe lk_peer(number, &peer.process, &peer.user, &peer.group) }
        return peer
    }

    /// Sends all bytes, at least one, and with the first byte duplicates of at most `maximumDescriptorCount`
    /// descriptors.
    ///
    /// EPIPE if the peer is gone. On a non-blocking socket, EAGAIN leaves open how much was sent.
    ///
    /// Source: sendmsg(2), SCM_RIGHTS.
    public func send(_ bytes: RawSpan, passing descriptors: [Descriptor] = []) throws(Errno) {
        try unsafe bytes.withUnsafeBytes { bytes throws(Errno) in
            var numbers = descriptors.map { $0.number }
            var count = 0
            while count < bytes.count {
                count += try call {
                    unsafe lk_send(number, bytes.baseAddress! + count, bytes.count - count, numbers, numbers.count)
                }
                numbers = []
            }
        }
        withExtendedLifetime(descriptors) {}
    }

    /// Receives the available bytes, at most the buffer's size, and the descriptors sent with them; 0 bytes are the
    /// end.
    ///
    /// If one message has more than `maximumDescriptorCount` descriptors: EMFILE, and all of them are closed.
    ///
    /// Source: recvmsg(2), SCM_RIGHTS.
    public func receive(into buffer: inout MutableRawSpan) throws(Errno) -> (count: Int, descriptors: [Descriptor]) {
        var numbers: [Int32] = Array(repeating: -1, count: UnixSocket.maximumDescriptorCount)
        var passed = 0
        let count = try unsafe buffer.withUnsafeMutableBytes { bytes throws(Errno) in
            try call { unsafe lk_receive(number, bytes.baseAddress, bytes.count, &numbers, &passed) }
        }
        return (count, numbers.prefix(passed).map { Descriptor(owning: $0) })
    }
}
