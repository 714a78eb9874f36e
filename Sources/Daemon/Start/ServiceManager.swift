import Control
import Glibc
import Posix

/// systemd, or another program that started the daemon as a service and wants to know its state.
///
/// Source: sd_notify(3), "Notes": the protocol, which needs no library.
public final class ServiceManager: Sendable {
    private let socket: Descriptor

    /// Nil if none has started this process.
    public init?() {
        guard let path = unsafe getenv("NOTIFY_SOCKET").map({ unsafe String(cString: $0) }), !path.isEmpty,
            let socket = try? UnixSocket.datagrams(to: path)
        else { return nil }
        self.socket = socket
    }

    /// The service is there, and does this.
    public func ready(_ what: String) { send("READY=1\nSTATUS=\(what)") }

    /// The mount is made.
    func ready(at mountPoint: Path, _ state: Status.State) {
        send("READY=1\nMAINPID=\(getpid())\n\(Self.line(mountPoint, state))")
    }

    /// The lock state, for `systemctl status`.
    func tell(_ state: Status.State, at mountPoint: Path) { send(Self.line(mountPoint, state)) }

    /// The mount is gone, and the daemon writes what is left.
    func stopping() { send("STOPPING=1") }

    private static func line(_ mountPoint: Path, _ state: Status.State) -> String {
        "STATUS=\(mountPoint.printable): \(state)"
    }

    /// A manager that does not read must not delay a lock: the socket does not block.
    private func send(_ text: String) {
        try? unsafe socket.send(Array(text.utf8).span.bytes)
    }
}
