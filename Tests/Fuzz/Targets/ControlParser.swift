import Control
import Failure
import Foundation
import Glibc
import Posix
import TestSupport

/// Varlink: what a daemon reads from a client, and a client from a daemon.
///
/// The first byte of an input says which side reads the bytes from the third on, and how many descriptors each message
/// has; the second byte says in how large pieces they arrive.
final class ControlParser: FuzzedParser {
    private let service = FixedService()
    private let server: ControlServer
    private let file: Descriptor

    init() throws {
        let folder = try TemporaryFolder(mode: 0o700)
        defer { withExtendedLifetime(folder) {} }
        // No client connects to the socket: the server is there for its connections, which wait for nothing.
        server = try ControlServer(
            service: service, volume: FixedService.volume, in: SocketDirectory(path: folder.path), version: "1.0",
            limits: ControlServer.Limits(idle: 0, message: 0))
        server.stop()
        file = try Descriptor.memoryFile("secret")
    }

    func run(_ input: [UInt8]) throws(Finding) {
        guard input.count >= 2 else { return }
        let stream = Array(input.dropFirst(2))
        if input[0] & 0x80 == 0 {
            let descriptors = [Descriptor](repeating: file, count: Int(input[0] & 3))
            try serve(stream, descriptors, piece: Int(input[1]) + 1)
        } else {
            try answerClient(with: stream)
        }
    }

    // MARK: - A daemon reads

    private func serve(_ stream: [UInt8], _ descriptors: [Descriptor], piece: Int) throws(Finding) {
        let whole = try answers(to: stream, descriptors, piece: stream.count + 1)
        let inPieces = try answers(to: stream, descriptors, piece: max(piece, stream.count / 64))
        try demand(whole == inPieces, "answers that depend on how the calls arrive")
        let replies = whole.split(separator: 0, omittingEmptySubsequences: false).dropLast()
        // Each call has at most one reply, also a Monitor: the stopped server ends it after the first status.
        try demand(replies.count <= stream.count { $0 == 0 }, "more answers than calls")
        try demand(whole.last ?? 0 == 0, "an answer without an end")
        for reply in replies { try check(reply) }
    }

    private struct AnyReply: Decodable {
        struct Parameters: Decodable {}
        let parameters: Parameters
        let error: String?
    }

    private func check(_ reply: ArraySlice<UInt8>) throws(Finding) {
        let frame = try demandSuccess(of: "reading an answer") {
            try JSONDecoder().decode(AnyReply.self, from: Data(reply))
        }
        guard let error = frame.error else { return }
        let isOurs = error.hasPrefix("io.latchkey.") || error.hasPrefix("org.varlink.service.")
        try demand(isOurs, "the error \(error)")
    }

    /// All that a fresh connection answers to the bytes, when they arrive in pieces of at most `piece` bytes. The
    /// descriptors come with the first byte of each message.
    private func answers(to stream: [UInt8], _ descriptors: [Descriptor], piece: Int) throws(Finding) -> [UInt8] {
        service.reset()
        let (client, socket) = try connectedPair()
        var connection = ControlConnection(server: server, socket: socket)
        var answers: [UInt8] = []
        for message in messages(in: stream) {
            var sent = 0
            while sent < message.count {
                let end = sent == 0 && !descriptors.isEmpty ? 1 : min(message.count, sent + piece)
                let bytes = Array(message[(message.startIndex + sent)..<(message.startIndex + end)])
                let passed = sent == 0 ? descriptors : []
                try demandSuccess(of: "sending") { () throws(Errno) in
                    try unsafe client.send(bytes.span.bytes, passing: passed)
                }
                sent = end
                let isOpen = answerAll(&connection)
                answers += try received(by: client)
                guard isOpen else { return answers }
            }
        }
        return answers
    }

    /// Lets a connection answer the bytes that have arrived; false when the connection has to end.
    private func answerAll(_ connection: inout ControlConnection) -> Bool {
        do throws(Failure) {
            while try connection.answerNext() {}
            return false
        } catch .timedOut {
            return true
        } catch {
            return false
        }
    }

    /// The messages in a stream, each with its NUL; the last may lack it.
    private func messages(in stream: [UInt8]) -> [ArraySlice<UInt8>] {
        var messages: [ArraySlice<UInt8>] = []
        var unread = stream[...]
        while let end = unread.firstIndex(of: 0) {
            messages.append(unread[...end])
            unread = unread[(end + 1)...]
        }
        return unread.isEmpty ? messages : messages + [unread]
    }

    private func connectedPair() throws(Finding) -> (Descriptor, Descriptor) {
        try demandSuccess(of: "making a connection") { () throws(Errno) in
            let (ours, theirs) = try UnixSocket.pair()
            try ours.setNonblocking(true)
            try theirs.setNonblocking(true)
            return (ours, theirs)
        }
    }

    private func received(by socket: Descriptor) throws(Finding) -> [UInt8] {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        while true {
            let result = Result { () throws(Errno) in
                var elements = buffer.mutableSpan
                var span = unsafe elements.mutableBytes
                return try socket.receive(into: &span).count
            }
            switch result {
            case .success(0), .failure(.EAGAIN), .failure(.ECONNRESET): return bytes
            case .success(let count): bytes += buffer[..<count]
            case .failure(let error): throw Finding("receiving: \(error)")
            }
        }
    }

    // MARK: - A client reads

    /// Answers a client's calls with the stream, and then ends the connection.
    private func answerClient(with stream: [UInt8]) throws(Finding) {
        let (daemon, socket) = try connectedPair()
        // Bytes that do not fit in the socket's buffer are of no more use to a fuzzer.
        guard (try? unsafe daemon.send(stream.span.bytes)) != nil else { return }
        shutdown(daemon.number, Int32(SHUT_WR))
        let client = ControlClient(connected: socket)
        // The client's calls, which are not read, have to fit too.
        for _ in messages(in: stream).prefix(16) {
            if let status = try? client.status() { try checkCoding(of: status) }
            if let explanation = try? client.explain(file) { try checkCoding(of: explanation) }
            if let information = try? client.information() { try checkCoding(of: information) }
        }
        try? client.monitor { _ in true }
    }

    private func checkCoding(of value: some Codable & Equatable) throws(Finding) {
        let again = try demandSuccess(of: "writing \(value)") {
            try JSONDecoder().decode(type(of: value), from: JSONEncoder().encode(value))
        }
        try demand(again == value, "\(value) is read as \(again)")
    }
}
