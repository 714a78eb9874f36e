import Failure
import Glibc
import Posix
import Testing

@testable import Control

@Suite(.timeLimit(.minutes(10))) struct ServerTests {
    private func message(_ json: String, _ descriptors: [Descriptor] = []) -> Message {
        var message = Message()
        message.bytes = Array(json.utf8)
        message.descriptors = descriptors
        return message
    }

    private func text(_ message: Message?) -> String? { message.map { String(decoding: $0.bytes, as: UTF8.self) } }

    @Test func `calls may come together, and oneway ones have no answer`() throws {
        let folder = try ServedFolder()
        var stream = try folder.stream()
        let oneway = #"{"method":"io.latchkey.Lock","parameters":{"now":true},"oneway":true}"#
        let status = #"{"method":"io.latchkey.Status"}"#
        try stream.send(message(oneway + "\0" + status + "\0" + #"{"method":"a.b"}"#), by: .after(seconds: 5))
        let first = try #require(try stream.receive(idle: .after(seconds: 5)))
        #expect(try first.decode(Reply<StatusReply>.self).parameters.status.state == .locked)
        let second = try stream.receive(idle: .after(seconds: 5))
        #expect(text(second) == #"{"error":"org.varlink.service.InterfaceNotFound","parameters":{"interface":"a"}}"#)
    }

    @Test func `descriptors belong to the message they were sent with`() throws {
        let folder = try ServedFolder()
        var stream = try folder.stream()
        let wrong = message(#"{"method":"io.latchkey.Unlock","parameters":{"secret":0}}"#, [try memoryFile([1])])
        let right = message(
            #"{"method":"io.latchkey.Unlock","parameters":{"secret":1}}"#,
            [try memoryFile([1]), try memoryFile(TestService.passcode)])
        let none = message(#"{"method":"io.latchkey.Unlock","parameters":{"secret":0}}"#)
        for call in [wrong, none, right] { try stream.send(call, by: .after(seconds: 5)) }
        #expect(text(try stream.receive(idle: .after(seconds: 5)))?.contains("WrongPasscode") == true)
        #expect(text(try stream.receive(idle: .after(seconds: 5)))?.contains("InvalidParameter") == true)
        #expect(text(try stream.receive(idle: .after(seconds: 5)))?.contains("unlocked") == true)
    }

    @Test(arguments: ["nonsense", "[]", "{}", #"{"method":1}"#, ""])
    func `what is no call ends the connection`(_ json: String) throws {
        let folder = try ServedFolder()
        var stream = try folder.stream()
        try stream.send(message(json), by: .after(seconds: 5))
        #expect(try stream.receive(idle: .after(seconds: 5)) == nil)
        #expect(try folder.client().status().state == .beforeFirstUnlock)
    }

    @Test func `whatever comes in, the server answers the next`() throws {
        let folder = try ServedFolder()
        var generator = SystemRandomNumberGenerator()
        let call = Array(#"{"method":"io.latchkey.Unlock","parameters":{"secret":0},"more":true}"#.utf8)
        for _ in 0..<300 {
            let stream = try folder.stream()
            var broken = Message()
            broken.bytes = call
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                broken.bytes[Int.random(in: 0..<call.count, using: &generator)] = UInt8.random(in: 0...255)
            }
            broken.descriptors = [try memoryFile([1])]
            try? stream.send(broken, by: .after(seconds: 5))
        }
        #expect(soon { (try? folder.client().status().state) == .beforeFirstUnlock })
    }

    @Test func `a message of more than 1 MiB ends the connection`() throws {
        let folder = try ServedFolder()
        let stream = try folder.stream()
        var long = Message()
        long.bytes = [UInt8](repeating: UInt8(ascii: " "), count: 4 << 20)
        #expect(throws: Failure.disconnected) { try stream.send(long, by: .after(seconds: 5)) }
        #expect(try folder.client().status().state == .beforeFirstUnlock)
    }

    @Test func `half a message does not hold its thread`() throws {
        let folder = try ServedFolder(limits: ControlServer.Limits(message: 0.1))
        var stream = try folder.stream()
        let half = Array(#"{"method""#.utf8)
        #expect(unsafe write(stream.socket.number, half, half.count) == half.count)
        #expect(try stream.receive(idle: .after(seconds: 5)) == nil)
    }

    @Test func `connections are bounded, and free again when they end`() throws {
        let folder = try ServedFolder(limits: ControlServer.Limits(connections: 2))
        try {
            let one = try folder.client()
            let two = try folder.client()
            _ = (try one.status(), try two.status())
            // One more is answered, but may not wait.
            let third = try folder.client()
            _ = try third.status()
            #expect(throws: Failure.self) { try third.monitor { _ in false } }
        }()
        #expect(soon { (try? folder.client().status()) != nil })
    }

    /// Monitors leave connections free for calls.
    @Test func `monitors are bounded for themselves`() throws {
        let folder = try ServedFolder(limits: ControlServer.Limits(connections: 4, monitors: 2))
        var one = try folder.stream()
        var two = try folder.stream()
        let call = message(#"{"method":"io.latchkey.Monitor","more":true}"#)
        try one.send(call, by: .after(seconds: 5))
        try two.send(call, by: .after(seconds: 5))
        // Both are monitors once they have received the state.
        #expect(try one.receive(idle: .after(seconds: 5)) != nil)
        #expect(try two.receive(idle: .after(seconds: 5)) != nil)
        let third = try folder.client()
        #expect(throws: Failure.self) { try third.monitor { _ in false } }
        let client = try folder.client()
        #expect(try client.lock().state == .locking || client.status().state == .locked)
        shutdown(one.socket.number, Int32(SHUT_RDWR))
        shutdown(two.socket.number, Int32(SHUT_RDWR))
        #expect(soon { (try? folder.client().monitor { _ in false }) != nil })
    }

    /// Whether the condition holds within ten seconds.
    private func soon(_ isTrue: () -> Bool) -> Bool {
        let end = ContinuousClock.now + .seconds(10)
        while !isTrue() {
            guard ContinuousClock.now < end else { return false }
            usleep(2_000)
        }
        return true
    }

    @Test func `a monitor that does not read is dropped and delays no other client`() throws {
        let folder = try ServedFolder(limits: ControlServer.Limits(connections: 2, message: 0.2))
        let lazy = try folder.stream()
        try lazy.send(message(#"{"method":"io.latchkey.Monitor","more":true}"#), by: .after(seconds: 5))
        let client = try folder.client()
        // More than the socket's buffers hold.
        for _ in 0..<2_000 { folder.service.set(.locked) }
        #expect(try client.status().state == .locked)
        // Its connection is free again.
        #expect(
            soon {
                folder.service.set(.locked)
                return (try? folder.client().status()) != nil
            })
        withExtendedLifetime(lazy.socket) {}
    }
}
