import Failure
import Foundation
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
        #expect(throws: Failure.wrongPasscode()) { try client.unlock(secret: try memoryFile([1])) }
        #expect(try client.unlock(secret: try memoryFile(TestService.passcode)).state == .unlocked)
        try client.changePasscode(from: try memoryFile(TestService.passcode), to: try memoryFile([2]))
        let four = { try memoryFile(Array("1234".utf8)) }
        #expect(throws: Failure.weakPasscode) {
            try client.changePasscode(from: try memoryFile(TestService.passcode), to: try four())
        }
        try client.changePasscode(from: try memoryFile(TestService.passcode), to: try four(), allowingWeak: true)
        #expect(throws: Failure.passcodeLength(bytes: 0)) {
            try client.changePasscode(from: try memoryFile(TestService.passcode), to: try memoryFile([]))
        }
    }

    @Test func `new keys are begun with secrets in descriptors`() throws {
        let right = { try memoryFile(TestService.passcode) }
        #expect(try client.rotate(nil).rotation == nil)
        let without = NewRotation(Opener(.passcode), secret: try right(), recoveryKey: nil, dropping: [3, 4])
        #expect(try client.rotate(without).rotation == Rotation(phase: .renewing, files: 2))
        let with = NewRotation(
            Opener(.keyFile), secret: try right(), recoveryKey: try memoryFile([1, 2, 3]), dropping: [])
        #expect(try client.rotate(with).rotation == Rotation(phase: .renewing, renewed: 3))
        #expect(try client.status().rotation?.renewed == 3)
        let wrong = NewRotation(Opener(.passcode), secret: try memoryFile([1]), recoveryKey: nil, dropping: [])
        #expect(throws: Failure.wrongPasscode()) { try client.rotate(wrong) }
        // These are replaced themselves.
        for kind in [SecretKind.recoveryKey, .escrowKey] {
            let refused = NewRotation(Opener(kind), secret: try right(), recoveryKey: nil, dropping: [])
            #expect(throws: Failure.invalidParameter(parameter: "kind")) { try client.rotate(refused) }
        }
    }

    @Test func `slots are listed, added, removed and tested`() throws {
        let right = { try memoryFile(TestService.passcode) }
        #expect(try client.slots() == folder.service.slots)
        let added = try client.addSlot(
            .secret(.recoveryKey, memoryFile([1, 2, 3])), name: "four", opening: .passcode, secret: right())
        #expect(added == 7)
        #expect(try client.addSlot(.escrow(publicKey: "00ff"), opening: .keyFile, secret: right()) == 4)
        #expect(throws: Failure.wrongKey(kind: .keyFile)) {
            try client.addSlot(.escrow(publicKey: "00"), opening: .keyFile, secret: try memoryFile([1]))
        }
        let key = NewSecurityKey(credential: "00ff11", salt: "", withPIN: true, withTouch: true)
        #expect(try client.addSlot(.securityKey(key, memoryFile([1])), opening: .passcode, secret: right()) == 7)
        #expect(throws: Failure.invalidParameter(parameter: "securityKey")) {
            let parameters = AddSlotParameters(secret: 0, newKind: .securityKey, new: 1)
            let _: SlotReply = try client.call("AddSlot", parameters, [try right(), try memoryFile([1])])
        }
        #expect(throws: Failure.invalidParameter(parameter: "securityKey")) {
            let parameters = AddSlotParameters(secret: 0, newKind: .keyFile, new: 1, securityKey: key)
            let _: SlotReply = try client.call("AddSlot", parameters, [try right(), try memoryFile([1])])
        }
        #expect(throws: Failure.lastSlot) { try client.removeSlot(1, opening: .passcode, secret: try right()) }
        #expect(throws: Failure.noSuchSlot(slot: 2)) {
            try client.removeSlot(2, opening: .passcode, secret: try right())
        }
        #expect(try client.testSlot(.keyFile, secret: right()) == 1)
        #expect(throws: Failure.wrongPasscode()) { try client.testSlot(.passcode, secret: try right()) }
        #expect(throws: Failure.invalidParameter(parameter: "publicKey")) {
            let parameters = AddSlotParameters(secret: 0, newKind: .escrowKey, new: 0)
            let _: SlotReply = try client.call("AddSlot", parameters, [try right()])
        }
    }

    @Test func `errors are typed`() throws {
        #expect(throws: Failure.notInMount) { try client.explain(try memoryFile([])) }
        #expect(throws: Failure.damaged(reason: "entry")) { try client.explain(try memoryFile([]), "entry") }
        #expect(throws: Failure.busy) { try client.unmount() }
        try client.unmount(lazily: true)
        #expect(throws: Failure.methodNotFound(method: "io.latchkey.Nonsense")) {
            let _: NoParameters = try client.call("Nonsense", NoParameters())
        }
        #expect(throws: Failure.interfaceNotFound(interface: "io.unknown")) {
            let _: NoParameters = try client.call("Status", of: "io.unknown", NoParameters())
        }
        #expect(throws: Failure.expectedMore) {
            let _: NoParameters = try client.call("Monitor", NoParameters())
        }
        #expect(throws: Failure.invalidParameter(parameter: "secret")) {
            let _: StatusReply = try client.call("Unlock", UnlockParameters(kind: nil, secret: 0))
        }
        #expect(throws: Failure.invalidParameter(parameter: "secret")) {
            let _: StatusReply = try client.call("Unlock", NoParameters())
        }
        #expect(throws: Failure.invalidParameter(parameter: "kind")) {
            let _: StatusReply = try client.call("Unlock", ["kind": "key", "secret": "0"])
        }
        // The connection has survived all of this.
        #expect(try client.status().state == .beforeFirstUnlock)
    }

    @Test func `the service describes itself`() throws {
        let information = try client.information()
        #expect(information.product == "latchkey")
        #expect(information.interfaces == ["org.varlink.service", "io.latchkey"])
        for interface in information.interfaces {
            let reply: InterfaceReply = try client.call(
                "GetInterfaceDescription", of: "org.varlink.service", InterfaceParameters(interface: interface))
            let file = URL(filePath: #filePath).appending(path: "../../../Sources/Control/\(interface).varlink")
            #expect(try Data(contentsOf: file.standardized) == Data(reply.description.utf8))
        }
        #expect(throws: Failure.interfaceNotFound(interface: "io.unknown")) {
            let _: InterfaceReply = try client.call(
                "GetInterfaceDescription", of: "org.varlink.service", InterfaceParameters(interface: "io.unknown"))
        }
    }

    @Test func `monitor tells the state and then every change`() throws {
        var seen: [Status.State] = []
        let changes: [Status.State] = [.unlocked, .locking, .locked]
        var events: [StatusChange.Event?] = []
        try client.monitor { change in
            if seen.isEmpty { for change in changes { folder.service.set(change) } }
            seen.append(change.status.state)
            events.append(change.event)
            return seen.count < 4
        }
        #expect(seen == [.beforeFirstUnlock] + changes)
        #expect(events == [nil, .didBecomeAvailable, .willBecomeUnavailable, .didBecomeUnavailable])
    }

    /// What a client receives over as many connections as it needs, each closed after `atATime` changes.
    @Test(arguments: 1...7) func `a client that reconnects receives each change once`(_ atATime: Int) throws {
        var heard: [StatusChange] = []
        var last: MonitorPosition?
        var turn = 0
        while heard.count < 20 {
            try #require(turn < 1000, "hears nothing")
            // What happens while no client is connected.
            for _ in 0..<3 { folder.service.set([.unlocked, .locking, .locked][turn % 3]) }
            turn += 1
            var left = atATime
            try folder.client().monitor(after: last) { change in
                if last == nil || last != change.position { heard.append(change) }
                last = change.position
                left -= 1
                return left > 0 && last?.sequence != folder.service.status.sequence
            }
        }
        let numbers = heard.compactMap(\.status.sequence)
        #expect(heard[0].event == nil)
        #expect(heard.dropFirst().allSatisfy { $0.event != nil })
        #expect(numbers == Array(numbers[0]..<(numbers[0] + numbers.count)))
    }

    @Test func `without a change, a client that reconnects receives the state`() throws {
        folder.service.set(.unlocked)
        var first: StatusChange?
        try client.monitor(after: MonitorPosition(instance: TestService.instance, sequence: 1)) { change in
            first = change
            return false
        }
        #expect(first == StatusChange(nil, folder.service.status))
    }

    /// A position of another daemon, from the future, or too old: the client gets the state, and no change as if it
    /// came next.
    @Test(arguments: [
        MonitorPosition(instance: "another", sequence: 199),
        MonitorPosition(instance: TestService.instance, sequence: 300),
        MonitorPosition(instance: TestService.instance, sequence: 200 - StatusFeed.historyLimit - 1),
        MonitorPosition(instance: TestService.instance, sequence: .min),
        MonitorPosition(instance: TestService.instance, sequence: -1),
    ])
    func `an unknown position gets the state`(_ position: MonitorPosition) throws {
        for _ in 0..<100 {
            folder.service.set(.unlocked)
            folder.service.set(.locked)
        }
        var seen: [StatusChange] = []
        try client.monitor(after: position) { change in
            seen.append(change)
            folder.service.set(.unlocked)
            return seen.count < 2
        }
        #expect(seen.map(\.event) == [nil, .didBecomeAvailable])
        #expect(seen.map(\.status.sequence) == [200, 201])
    }

    @Test func `the oldest change that is kept is told`() throws {
        for _ in 0..<100 {
            folder.service.set(.unlocked)
            folder.service.set(.locked)
        }
        let oldest = 200 - StatusFeed.historyLimit
        var numbers: [Int?] = []
        try client.monitor(after: MonitorPosition(instance: TestService.instance, sequence: oldest)) { change in
            numbers.append(change.status.sequence)
            return numbers.count < StatusFeed.historyLimit
        }
        #expect(numbers == Array((oldest + 1)...200))
    }

    @Test func `classes are told for any number of inodes`() throws {
        let inodes = (0..<12_345).map { UInt64.max - UInt64($0) }
        #expect(try client.classes(ofInodes: inodes) == inodes.map { $0 % 2 == 0 ? "complete" : nil })
        #expect(try client.classes(ofInodes: []) == [])
        #expect(throws: Failure.invalidParameter(parameter: "inodes")) {
            let _: ClassesReply = try client.call("Classes", ClassesParameters(inodes: inodes))
        }
    }

    @Test func `no request waits while a connection wants it so`() throws {
        let client = client
        try client.interruptWaiting()
        try client.interruptWaiting()
        #expect(folder.service.interruptions == 1)
        client.disconnect()
        let end = ContinuousClock.now + .seconds(10)
        while folder.service.interruptions > 0, ContinuousClock.now < end { usleep(1000) }
        #expect(folder.service.interruptions == 0)
    }

    @Test func `a connection is ended from the outside`() throws {
        let monitored = client
        #expect(throws: Failure.disconnected) {
            try monitored.monitor { _ in
                monitored.disconnect()
                return true
            }
        }
        #expect(throws: Failure.disconnected) { try monitored.status() }
        monitored.disconnect()
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
        let end = ContinuousClock.now + .seconds(20)
        while try client.status().state != .locking { try #require(ContinuousClock.now < end, "does not lock") }
        folder.service.set(.locked)
        #expect(try done.readable.wait(for: Int16(POLLIN), by: .after(seconds: 10)) != 0)
        #expect(result.withLock { $0 }?.state == .locked)
    }

    @Test func `the end of the daemon ends every connection`() throws {
        let idle = try folder.client()
        folder.server.stop()
        #expect(try idle.waitForEnd(seconds: 5))
        #expect(throws: Failure.disconnected) { try client.status() }
        #expect(try folder.directory.sockets().isEmpty)
    }
}
