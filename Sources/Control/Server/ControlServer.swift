import CLinux
public import Failure
import Glibc
import Posix
import Synchronization

/// Serves `io.latchkey` and `org.varlink.service` on a volume's control socket.
///
/// One thread accepts, and each connection has a thread: a slow or dead client does not delay others.
public final class ControlServer: Sendable {
    /// The resources that clients may use.
    package struct Limits: Sendable {
        var connections: Int
        /// Connections that may monitor or hold the lock. The others are for calls, above all for a lock.
        var monitors: Int
        /// The most of those that hold the lock: the others are for programs that monitor.
        var holds: Int
        /// Seconds between two calls.
        var idle: Double
        /// Seconds for the other bytes of a call after its first, and for the client to read a reply.
        var message: Double

        package init(
            connections: Int = 64, monitors: Int = 48, holds: Int = 32, idle: Double = 300, message: Double = 5
        ) {
            self.connections = connections
            self.monitors = monitors
            self.holds = holds
            self.idle = idle
            self.message = message
        }
    }

    private struct State {
        /// The listening socket, until the accepting thread takes it. When it is closed, the kernel refuses the clients
        /// in its queue.
        var listener: Descriptor?
        var connections: [Int: Descriptor] = [:]
        var accepted = 0
        var monitors = 0
        var holds = 0
        /// Closed one by one when the process has no descriptor left, so that clients can still be accepted.
        var spares: [Descriptor] = []
        /// Clients that got no thread of their own; the kept threads serve them.
        var waiting: [Descriptor] = []
        var isStopping = false
    }

    /// The path of the socket.
    public let path: String
    let service: any ControlService
    let information: ServiceInformation
    let limits: Limits
    /// Describes a failure that has no error of its own in the interface: the text of `Failed`.
    let words: @Sendable (Failure) -> String
    /// A leaf: no other lock is taken under it. Lock order: docs/ARCHITECTURE.md.
    private let state: Mutex<State>
    private let withdraw: @Sendable () -> Void
    /// Signalled once, when the server stops.
    let stopping: Wakeup
    private let drained: Wakeup
    private let someoneWaits: Wakeup
    /// Number of threads that are made at the start, when threads can still be made.
    private static let keptThreads = 2
    /// A command that locks and shows the progress has three connections.
    private static let keptDescriptors = 4
    private static let mostWaiting = 16

    /// Publishes the socket. Clients can connect from now on, and are answered after `start`.
    ///
    /// - Parameters:
    ///   - device: `st_dev` of the mount, by which clients find it at once.
    ///   - words: describes a failure that has no error of its own in the interface.
    /// - Throws: `alreadyServed` if another daemon serves a volume of this ID.
    public convenience init(
        service: any ControlService, volume: String, device: UInt64? = nil, in directory: SocketDirectory = .standard,
        version: String, words: @escaping @Sendable (Failure) -> String = { "\($0)" }
    ) throws(Failure) {
        try self.init(
            service: service, volume: volume, device: device, in: directory, version: version, limits: Limits(),
            words: words)
    }

    package init(
        service: any ControlService, volume: String, device: UInt64? = nil, in directory: SocketDirectory,
        version: String, limits: Limits, words: @escaping @Sendable (Failure) -> String = { "\($0)" }
    ) throws(Failure) {
        self.service = service
        self.words = words
        self.limits = limits
        information = ServiceInformation(
            vendor: "Latchkey", product: "latchkey", version: version, url: "", interfaces: InterfaceDescription.names)
        do throws(Errno) { (stopping, drained, someoneWaits) = (try Wakeup(), try Wakeup(), try Wakeup()) } catch {
            throw .io(error, doing: "make an eventfd")
        }
        path = directory.socket(volume: volume)
        withdraw = { directory.withdraw(volume: volume, device: device) }
        state = Mutex(
            State(
                listener: try directory.publish(volume: volume, device: device),
                spares: []))
        restoreSpares()
    }

    public func start() throws(Failure) {
        guard let listener = state.withLock({ $0.listener.take() }) else { return }
        do {
            for _ in 0..<Self.keptThreads { try startThread { self.serveWaiting() } }
            try startThread { self.accept(from: listener) }
        } catch {
            // Ends the threads that were started.
            stop()
            throw .socket(error, doing: "start a thread")
        }
    }

    /// Removes the socket, gives clients two seconds to read replies under way, and ends all connections.
    public func stop() {
        let isFirst = state.withLock { state in
            defer { state.isStopping = true }
            state.listener = nil
            return !state.isStopping
        }
        guard isFirst else { return }
        withdraw()
        stopping.signal()
        // A thread that waits for a call sees the end of the stream; one that answers a call goes on.
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
                serveWithTheLastDescriptor(listener)
            }
        }
    }

    /// Accepts a client when the process has no descriptor left: open files must not prevent a lock.
    private func serveWithTheLastDescriptor(_ listener: Descriptor) {
        guard state.withLock({ $0.spares.popLast() }) != nil else {
            // The client stays in the queue; a descriptor may become free.
            usleep(50_000)
            return restoreSpares()
        }
        let number = lk_unix_accept(listener.number)
        if number >= 0 {
            serve(Descriptor(owning: number))
        } else {
            restoreSpares()
        }
    }

    private func restoreSpares() {
        state.withLock { state in
            while state.spares.count < Self.keptDescriptors, let spare = try? stopping.readable.duplicate() {
                state.spares.append(spare)
            }
        }
    }

    /// Gives a client to the kept threads.
    private func serve(_ socket: Descriptor) {
        let user = try? peerUser(of: socket)
        guard user == geteuid() || user == 0, (try? socket.setNonblocking(true)) != nil else {
            return refuse(socket, .permissionDenied)
        }
        let isTaken = state.withLock { state in
            guard state.waiting.count < Self.mostWaiting, !state.isStopping else { return false }
            state.waiting.append(socket)
            return true
        }
        guard isTaken else { return refuse(socket, .tooManyConnections) }
        someoneWaits.signal()
    }

    private func serveShortly(_ socket: consuming Descriptor) {
        var connection = ControlConnection(server: self, socket: socket, isAlone: false)
        connection.serve()
    }

    /// Serves waiting clients one after another, until the server stops. Each gets little time, and no call that waits.
    private func serveWaiting() {
        while true {
            var entries = [
                pollfd(fd: someoneWaits.readable.number, events: Int16(POLLIN), revents: 0),
                pollfd(fd: stopping.readable.number, events: Int16(POLLIN), revents: 0),
            ]
            guard (try? poll(&entries, by: .never)) != nil, entries[1].revents == 0 else { return }
            someoneWaits.clear()
            while let socket = state.withLock({ $0.waiting.isEmpty ? nil : $0.waiting.removeFirst() }) {
                serveShortly(consume socket)
                // Closing the client's descriptor has made one free.
                restoreSpares()
            }
        }
    }

    /// Serves a new connection in a thread of its own, or in a kept thread if there are too many.
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
        // Idle connections must not prevent a lock either.
        guard let key else { return serve(socket) }
        do {
            try startThread {
                var connection = ControlConnection(server: self, socket: socket)
                connection.serve()
                self.remove(key)
            }
        } catch {
            // No thread can be made: RLIMIT_NPROC, or no memory.
            remove(key)
            serve(socket)
        }
    }

    /// Whether another connection may monitor. Each one that may calls `endMonitor` when it ends.
    func beginMonitor() -> Bool {
        state.withLock { state in
            guard state.monitors + state.holds < limits.monitors else { return false }
            state.monitors += 1
            return true
        }
    }

    func endMonitor() { state.withLock { $0.monitors -= 1 } }

    /// Whether another connection may hold the lock. Each one that may calls `endHold` when it ends.
    func beginHold() -> Bool {
        state.withLock { state in
            guard state.holds < limits.holds, state.monitors + state.holds < limits.monitors else { return false }
            state.holds += 1
            return true
        }
    }

    func endHold() { state.withLock { $0.holds -= 1 } }

    private func remove(_ key: Int) {
        state.withLock { _ = $0.connections.removeValue(forKey: key) }
        drained.signal()
    }

    private func refuse(_ socket: Descriptor, _ error: Failure) {
        guard let message = try? Message.failure(error, words) else { return }
        // Sent only if it fits into the socket's buffer: a refused client must not delay the accepting thread.
        try? MessageStream(socket: socket).send(message, by: .after(seconds: 0))
    }
}
