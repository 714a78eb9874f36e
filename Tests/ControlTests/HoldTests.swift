import Failure
import Glibc
import Posix
import Testing

@testable import Control

/// `Hold`: a hold lives as long as its connection.
@Suite(.timeLimit(.minutes(10))) struct HoldTests {
    /// Whether the condition holds within ten seconds.
    private func soon(_ isTrue: () -> Bool) -> Bool {
        let end = ContinuousClock.now + .seconds(10)
        while !isTrue() {
            guard ContinuousClock.now < end else { return false }
            usleep(2_000)
        }
        return true
    }

    @Test func `process and user come from the kernel, and texts are cut`() throws {
        let folder = try ServedFolder()
        let client = try folder.client()
        let long = String(repeating: "x", count: 300)
        #expect(try client.hold(seconds: 30, command: "restic", because: long) == 30)
        let hold = try #require(folder.service.holds.first)
        #expect(hold.pid == getpid() && hold.uid == geteuid())
        #expect(hold.command == "restic" && hold.because == String(repeating: "x", count: 200) && hold.seconds == 30)
        let other = try folder.client()
        #expect(try other.hold(seconds: 1e9) == 60, "what is granted may be less")
        #expect(folder.service.holds.count == 2)
        client.disconnect()
        #expect(soon { folder.service.holds.count == 1 }, "its connection has ended")
    }

    @Test func `a client is told that its hold has ended`() throws {
        let folder = try ServedFolder()
        let client = try folder.client()
        _ = try client.hold(seconds: 30)
        folder.service.endHolds()
        #expect(try client.endOfHold() == .locked)
        #expect(try folder.client().status().state == .beforeFirstUnlock)
    }

    /// A client that dies says nothing: the kernel closes its connection.
    @Test func `the end of the server ends the wait`() throws {
        let folder = try ServedFolder()
        let client = try folder.client()
        _ = try client.hold(seconds: 30)
        folder.server.stop()
        #expect(throws: Failure.disconnected) { try client.endOfHold() }
        #expect(soon { folder.service.holds.isEmpty })
    }

    @Test func `silence does not end a hold`() throws {
        let folder = try ServedFolder(limits: ControlServer.Limits(idle: 0.05))
        let client = try folder.client()
        _ = try client.hold(seconds: 30)
        // Another connection, which is as old, is closed.
        let silent = try folder.stream()
        var entry = [pollfd(fd: silent.socket.number, events: Int16(POLLIN), revents: 0)]
        #expect(unsafe poll(&entry, 1, 10_000) == 1)
        #expect(folder.service.holds.count == 1)
    }

    @Test func `the grace period itself does not count holds`() throws {
        var status = TestService(volume: ServedFolder.volume).status
        #expect(status.ownGraceRemaining == nil)
        status.graceRemaining = 40
        #expect(status.ownGraceRemaining == 40)
        status.holds = [20.0, 30].map { Hold(pid: 1, uid: 1, seconds: $0) }
        #expect(status.ownGraceRemaining == 10)
        status.graceRemaining = 25
        #expect(status.ownGraceRemaining == 0)
    }

    /// A connection that has nothing to take back any more is like others.
    @Test func `a connection is closed by silence while programs hold its lock`() throws {
        let folder = try ServedFolder(limits: ControlServer.Limits(idle: 0.05))
        folder.service.set(
            graceRemaining: 600, holds: [Hold(pid: 1, uid: 1, seconds: 600)])
        var stream = try folder.stream()
        var call = Message()
        call.bytes = Array(#"{"method":"io.latchkey.Lock"}"#.utf8)
        try stream.send(call, by: .after(seconds: 5))
        #expect(try stream.receive(idle: .after(seconds: 5)) != nil)
        #expect(try stream.receive(idle: .after(seconds: 20)) == nil)
    }

    @Test func `a connection that can take its lock back outlasts the grace period`() throws {
        let folder = try ServedFolder(limits: ControlServer.Limits(idle: 0.05))
        folder.service.set(graceRemaining: 600, holds: nil)
        let client = try folder.client()
        #expect(try client.lock().state == .locking)
        let silent = try folder.stream()
        var entry = [pollfd(fd: silent.socket.number, events: Int16(POLLIN), revents: 0)]
        #expect(unsafe poll(&entry, 1, 10_000) == 1, "a connection that came later is closed")
        #expect(try client.takeBackLock().state == .unlocked)
    }

    @Test func `holds leave room for monitors and calls`() throws {
        let folder = try ServedFolder(limits: ControlServer.Limits(connections: 6, monitors: 4, holds: 2))
        let (one, two) = (try folder.client(), try folder.client())
        _ = (try one.hold(seconds: 30), try two.hold(seconds: 30))
        let third = try folder.client()
        #expect(throws: Failure.failed(reason: "tooManyHolds")) { try third.hold(seconds: 30) }
        #expect(folder.service.holds.count == 2)
        var call = Message()
        call.bytes = Array(#"{"method":"io.latchkey.Monitor","more":true}"#.utf8)
        var watching = try folder.stream()
        var watchingToo = try folder.stream()
        try watching.send(call, by: .after(seconds: 5))
        try watchingToo.send(call, by: .after(seconds: 5))
        #expect(try watching.receive(idle: .after(seconds: 5)) != nil)
        #expect(try watchingToo.receive(idle: .after(seconds: 5)) != nil)
        #expect(throws: Failure.self) { try folder.client().monitor { _ in false } }
        #expect(try folder.client().lock().state == .locking, "a lock can always be asked for")
        one.disconnect()
        #expect(soon { (try? folder.client().hold(seconds: 30)) != nil })
        withExtendedLifetime(two) {}
        _ = (watching.socket, watchingToo.socket)
    }

    /// Such a client is served by a kept thread, which serves others as well.
    @Test func `a client without a thread of its own holds nothing`() throws {
        let folder = try ServedFolder(limits: ControlServer.Limits(connections: 1))
        let first = try folder.client()
        _ = try first.status()
        #expect(throws: Failure.failed(reason: "tooManyHolds")) { try folder.client().hold(seconds: 30) }
        #expect(try folder.client().lock().state == .locking)
        withExtendedLifetime(first) {}
    }

    @Test(arguments: [
        (#"{"method":"io.latchkey.Hold","parameters":{"seconds":1}}"#, "ExpectedMore"),
        (#"{"method":"io.latchkey.Hold","more":true}"#, "InvalidParameter"),
        (#"{"method":"io.latchkey.Hold","more":true,"parameters":{"seconds":0}}"#, #""parameter":"seconds""#),
        (#"{"method":"io.latchkey.Hold","more":true,"parameters":{"seconds":-1e300}}"#, #""parameter":"seconds""#),
        (#"{"method":"io.latchkey.Hold","more":true,"parameters":{"seconds":1e-19}}"#, #""parameter":"seconds""#),
        (#"{"method":"io.latchkey.Hold","more":true,"parameters":{"seconds":"1"}}"#, #""parameter":"seconds""#),
        (#"{"method":"io.latchkey.Hold","more":true,"parameters":{"seconds":1,"command":1}}"#, #""command""#),
    ])
    func `a call that cannot be understood holds nothing, and the connection goes on`(
        _ json: String, _ answer: String
    ) throws {
        let folder = try ServedFolder()
        var stream = try folder.stream()
        for text in [json, #"{"method":"io.latchkey.Status"}"#] {
            var message = Message()
            message.bytes = Array(text.utf8)
            try stream.send(message, by: .after(seconds: 5))
            let reply = try #require(try stream.receive(idle: .after(seconds: 5)))
            let expected = text == json ? answer : "before-first-unlock"
            #expect(String(decoding: reply.bytes, as: UTF8.self).contains(expected))
        }
        #expect(folder.service.holds.isEmpty)
    }

    @Test func `nothing is held while it is locked`() throws {
        let folder = try ServedFolder()
        _ = try folder.client().lock(now: true)
        #expect(throws: Failure.mountLocked) { try folder.client().hold(seconds: 30) }
    }
}
