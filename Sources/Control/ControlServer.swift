import CLinux
import Glibc
import Posix
import Synchronization

/// Serves `io.latchkey` and `org.varlink.service` on a volume's control socket.
///
/// One thread accepts, and each connection has one: a slow or dead client keeps nobody else waiting.
public final class ControlServer: Sendable {
    /// What clients may use up.
    package struct Limits: Sendable {
        var connections: Int
        /// Seconds between two calls.
        var idle: Double
        /// Seconds for the rest of a call that has begun, and for an answer to be read.
        var message: Double

        package init(connections: Int = 64, idle: Double = 300, message: Double = 5) {
            self.connections = connections
            self.idle = idle
            self.message = message
        }
    }

    private struct State {
        /// Until the accepting thread has it. Its end turns away who is still in its queue.
        var listener: Descriptor?
        var connections: [Int: Descriptor] = [:]
        var accepted = 0
        var isStopping = false
    }

    /// The path of the socket.
    public let path: String
    let service: any ControlService
    let information: ServiceInformation
    let limits: Limits
    private let state: Mutex<State>
    private let withdraw: @Sendable () -> Void
    /// Happens once, when the server stops.
    let stopping: Wakeup
    private let drained: Wakeup

    /// Publishes the socket; clients may connect from now on, and are answered after `start`.
    ///
    /// - Parameter device: `st_dev` of the mount, by which clients find it at once.
    /// - Throws: `alreadyServed` if another daemon serves a volume of this ID.
    public convenience init(
        service: any ControlService, volume: String, device: UInt64? = nil, in directory: SocketDirectory = .standard,
        version: String
    ) throws(ControlError) {
        try self.init(
            service: service, volume: volume, device: device, in: directory, version: version, limits: Limits())
    }

    package init(
        service: any ControlService, volume: String, device: UInt64? = nil, in directory: SocketDirectory,
        version: String, limits: Limits
    ) throws(ControlError) {
        self.service = service
        self.limits = limits
        information = ServiceInformation(
            vendor: "Latchkey", product: "latchkey", version: version, url: "", interfaces: InterfaceDescription.names)
        stopping = try Wakeup()
        drained = try Wakeup()
        path = directory.socket(volume: volume)
        withdraw = { directory.withdraw(volume: volume, device: device) }
        state = Mutex(State(listener: try directory.publish(volume: volume, device: device)))
    }

    public func start() throws(ControlError) {
        guard let listener = state.withLock({ $0.listener.take() }) else { return }
        do { try startThread { self.accept(from: listener) } } catch { throw .io(error, doing: "start a thread") }
    }

    /// Removes the socket, lets answers under way be read for a short while, and ends all connections.
    public func stop() {
        let isFirst = state.withLock { state in
            defer { state.isStopping = true }
            state.listener = nil
            return !state.isStopping
        }
        guard isFirst else { return }
        withdraw()
        stopping.signal()
        // Who waits for a call sees the end of the stream; who answers one goes on.
        for connection in openConnections { shutdown(connection.number, Int32(SHUT_RD)) }
        let deadline = Deadline.after(seconds: 2)
        while !openConnections.isEmpty {
            guard let event = try? drained.readable.wait(for: Int16(POLLIN), by: deadline), event != 0 else { break }
            drained.clear()
        }
        for connection in openConnections { shutdown(connection.number, Int32(SHUT_RDWR)) }
    }

    private var openConnections: [Descriptor] {
        state.withLock { Array($0.connections.values) }
    }

    private func accept(from listener: Descriptor) {
        while true {
            var entries = [
                pollfd(fd: listener.number, events: Int16(POLLIN), revents: 0),
                pollfd(fd: stopping.readable.number, events: Int16(POLLIN), revents: 0),
            ]
            guard (try? poll(&entries, by: .never)) != nil, entries[1].revents == 0 else { return }
            let number = lk_unix_accept(listener.number)
            if number >= 0 {
                admit(Descriptor(owning: number))
            } else if Errno.current == .EMFILE || Errno.current == .ENFILE {
                // The caller stays in the queue; a descriptor may be free again soon.
                usleep(50_000)
            }
        }
    }

    /// Serves a new connection in a thread of its own, unless it may not or there are too many.
    private func admit(_ socket: Descriptor) {
        let user = try? peerUser(of: socket)
        guard user == geteuid() || user == 0, (try? socket.setNonblocking(true)) != nil else {
            return refuse(socket, .permissionDenied)
        }
        let key: Int? = state.withLock { state in
            guard state.connections.count < limits.connections, !state.isStopping else { return nil }
            state.accepted += 1
            state.connections[state.accepted] = socket
            return state.accepted
        }
        guard let key else { return refuse(socket, .failed(reason: "too many connections")) }
        do {
            try startThread {
                var connection = ControlConnection(server: self, socket: socket)
                connection.serve()
                self.remove(key)
            }
        } catch {
            remove(key)
        }
    }

    private func remove(_ key: Int) {
        state.withLock { _ = $0.connections.removeValue(forKey: key) }
        drained.signal()
    }

    private func refuse(_ socket: Descriptor, _ error: ControlError) {
        guard let message = try? Message.failure(error) else { return }
        // Told if it fits in the socket's buffer at once.
        try? MessageStream(socket: socket).send(message, by: .after(seconds: 0))
    }
}
