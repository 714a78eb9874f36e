import CLinux
import Failure
import Glibc
import Posix

/// NUL-terminated messages and descriptors over a connected stream socket.
///
/// Used by one thread at a time. The socket is non-blocking, and every wait has a deadline.
struct MessageStream: ~Copyable {
    let socket: Descriptor
    /// Complete messages that arrived in one read with an earlier one.
    private var waiting: [Message] = []
    private var partial = Message()

    init(socket: Descriptor) {
        self.socket = socket
    }

    /// The next message; nil if the peer has closed the connection between two messages.
    ///
    /// - Parameters:
    ///   - idle: the deadline of its first byte.
    ///   - seconds: how long its other bytes may take after that.
    mutating func receive(idle: Deadline, within seconds: Double = 10) throws(Failure) -> Message? {
        var deadline = partial.bytes.isEmpty ? idle : .after(seconds: seconds)
        while waiting.isEmpty {
            let wasEmpty = partial.bytes.isEmpty
            guard try receiveChunk(by: deadline) else {
                if partial.bytes.isEmpty { return nil }
                throw .disconnected
            }
            if wasEmpty { deadline = .after(seconds: seconds) }
        }
        return waiting.removeFirst()
    }

    /// Reads once; false at the end of the stream.
    private mutating func receiveChunk(by deadline: Deadline) throws(Failure) -> Bool {
        var numbers = [Int32](repeating: -1, count: Int(LK_DESCRIPTORS_MAX))
        var found = 0
        var chunk = [UInt8](repeating: 0, count: 16 << 10)
        let count = try socket.retrying(for: Int16(POLLIN), by: deadline, doing: "receive a message") {
            unsafe lk_receive(socket.number, &chunk, chunk.count, &numbers, &found)
        }
        let descriptors = numbers.prefix(found).map { Descriptor(owning: $0) }
        if count == 0 { return false }
        append(chunk.prefix(count), descriptors)
        guard partial.bytes.count <= Message.sizeLimit else { throw .malformed("a message of more than 1 MiB") }
        guard partial.descriptors.count <= Int(LK_DESCRIPTORS_MAX) else { throw .malformed("too many descriptors") }
        return true
    }

    /// Splits a chunk into messages. The kernel ends a read after the bytes that descriptors were sent with, so they
    /// belong to the message of the chunk's last byte.
    private mutating func append(_ chunk: ArraySlice<UInt8>, _ descriptors: [Descriptor]) {
        var rest = chunk
        while let end = rest.firstIndex(of: 0) {
            partial.bytes += rest[..<end]
            waiting.append(partial)
            partial = Message()
            rest = rest[(end + 1)...]
        }
        partial.bytes += rest
        if rest.isEmpty {
            waiting[waiting.count - 1].descriptors += descriptors
        } else {
            partial.descriptors += descriptors
        }
    }

    /// Sends a message completely, or throws; after a throw the connection is unusable.
    func send(_ message: Message, by deadline: Deadline) throws(Failure) {
        let bytes = message.bytes + [0]
        var sent = 0
        while sent < bytes.count {
            // Descriptors are sent with the first byte.
            let numbers = sent == 0 ? message.descriptors.map(\.number) : []
            sent += try socket.retrying(for: Int16(POLLOUT), by: deadline, doing: "send a message") {
                unsafe bytes.withUnsafeBytes { bytes in
                    let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[sent...])
                    return unsafe lk_send(socket.number, rest.baseAddress!, rest.count, numbers, numbers.count)
                }
            }
        }
        // The message owns the descriptors whose numbers are sent.
        withExtendedLifetime(message) {}
    }
}

extension Descriptor {
    /// Repeats a call on a non-blocking descriptor until it does not fail with EAGAIN.
    fileprivate func retrying(
        for events: Int16, by deadline: Deadline, doing what: Printable, _ body: () -> Int
    ) throws(Failure) -> Int {
        while true {
            let result = body()
            if result >= 0 { return result }
            switch Errno.current {
            case .EAGAIN:
                if try wait(for: events, by: deadline) == 0 { throw .timedOut }
            case .EINTR: continue
            case .EPIPE, .ECONNRESET: throw .disconnected
            case let errno: throw .socket(errno, doing: what)
            }
        }
    }

    /// Waits for events of poll(2). Returns those that came, or 0 on a timeout.
    func wait(for events: Int16, by deadline: Deadline) throws(Failure) -> Int16 {
        var entries = [pollfd(fd: number, events: events, revents: 0)]
        try poll(&entries, by: deadline)
        return entries[0].revents
    }
}

/// poll(2) with a deadline, repeated after EINTR. On a timeout no entry has events.
func poll(_ entries: inout [pollfd], by deadline: Deadline) throws(Failure) {
    while true {
        if unsafe Glibc.poll(&entries, nfds_t(entries.count), deadline.pollTimeout) >= 0 { return }
        let errno = Errno.current
        if errno != .EINTR { throw .socket(errno, doing: "wait for a connection") }
    }
}
