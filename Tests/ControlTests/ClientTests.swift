import Glibc
import Posix
import Synchronization
import Testing

@testable import Control

@Suite struct ClientTests {
    let folder: ServedFolder
    let client: ControlClient

    init() throws {
        folder = try ServedFolder()
        client = try folder.client()
    }

    @Test func `status and lock`() throws {
        #expect(try client.status() == folder.service.status)
        #expect(try client.lock().state == .locking)
        #expect(try client.lock(now: true, wait: true).state == .locked)
    }

    @Test func `a secret travels as a descriptor`() throws {
        #expect(throws: ControlError.wrongPasscode) { try client.unlock(secret: try memoryFile([1])) }
        #expect(try client.unlock(secret: try memoryFile(TestService.passcode)).state == .unlocked)
        try client.changePasscode(from: try memoryFile(TestService.passcode), to: try memoryFile([2]))
        #expect(throws: ControlError.passcodeLength(0)) {
            try client.changePasscode(from: try memoryFile(TestService.passcode), to: try memoryFile([]))
        }
    }

    @Test func `errors are typed`() throws {
        #expect(throws: ControlError.notInMount) { try client.explain(try memoryFile([])) }
        #expect(throws: ControlError.busy) { try client.unmount() }
        try client.unmount(lazily: true)
        #expect(throws: ControlError.methodNotFound("io.latchkey.Nonsense")) {
            let _: NoParameters = try client.call("Nonsense", NoParameters())
        }
        #expect(throws: ControlError.interfaceNotFound("io.nobody")) {
            let _: NoParameters = try client.call("Status", of: "io.nobody", NoParameters())
        }
        #expect(throws: ControlError.expectedMore) {
            let _: NoParameters = try client.call("Monitor", NoParameters())
        }
        #expect(throws: ControlError.invalidParameter("secret")) {
            let _: StatusReply = try client.call("Unlock", UnlockParameters(kind: nil, secret: 0))
        }
        #expect(throws: ControlError.invalidParameter("secret")) {
            let _: StatusReply = try client.call("Unlock", NoParameters())
        }
        #expect(throws: ControlError.invalidParameter("kind")) {
            let _: StatusReply = try client.call("Unlock", ["kind": "key", "secret": "0"])
        }
        // The connection has survived all of this.
        #expect(try client.status().state == .beforeFirstUnlock)
    }

    @Test func `the service describes itself`() throws {
        let information = try client.information()
        #expect(information.product == "latchkey")
        #expect(information.interfaces == ["org.varlink.service", "io.latchkey"])
        let reply: InterfaceReply = try client.call(
            "GetInterfaceDescription", of: "org.varlink.service", InterfaceParameters(interface: "io.latchkey"))
        #expect(reply.description == InterfaceDescription.latchkey)
        #expect(throws: ControlError.interfaceNotFound("io.nobody")) {
            let _: InterfaceReply = try client.call(
                "GetInterfaceDescription", of: "org.varlink.service", InterfaceParameters(interface: "io.nobody"))
        }
    }

    @Test func `monitor tells the state and then every change`() throws {
        var seen: [Status.State] = []
        let changes: [Status.State] = [.unlocked, .locking, .locked]
        try client.monitor { status in
            if seen.isEmpty { for change in changes { folder.service.set(change) } }
            seen.append(status.state)
            return seen.count < 4
        }
        #expect(seen == [.beforeFirstUnlock] + changes)
    }

    @Test func `waiting for the lock does not keep others waiting`() throws {
        let waiting = try folder.client()
        let result = Mutex<Status?>(nil)
        let done = try Wakeup()
        nonisolated(unsafe) let lockAndWait = {
            let status = try? waiting.lock(wait: true)
            result.withLock { $0 = status }
            done.signal()
        }
        try startThread { unsafe lockAndWait() }
        while try client.status().state != .locking {}
        folder.service.set(.locked)
        #expect(try done.readable.wait(for: Int16(POLLIN), by: .after(seconds: 10)) != 0)
        #expect(result.withLock { $0 }?.state == .locked)
    }

    @Test func `the end of the daemon ends every connection`() throws {
        let idle = try folder.client()
        folder.server.stop()
        #expect(try idle.waitForEnd(seconds: 5))
        #expect(throws: ControlError.disconnected) { try client.status() }
        #expect(try folder.directory.sockets().isEmpty)
    }
}
