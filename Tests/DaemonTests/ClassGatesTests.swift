import Format
import Foundation
import Posix
import Synchronization
import Testing

@testable import Mount

/// Which operations a request that never ends delays, and which not.
@Suite(.timeLimit(.minutes(10))) struct ClassGatesTests {
    let gates = ClassGates(servesReads: false) { _ in true }

    /// Runs in another thread; returns whether that has ended after a while.
    private func ends(_ body: @escaping @Sendable () -> Void) -> Bool {
        let isDone = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            body()
            isDone.signal()
        }
        return isDone.wait(timeout: .now() + 10) == .success
    }

    /// What a gate lets in, as words.
    private func admitted(_ gates: ClassGates, _ protectionClass: ProtectionClass) -> String {
        let all: [(String, Access)] = [
            ("create", .create), ("open", .open), ("use", .use), ("read", .read), ("page", .page),
        ]
        return all.filter { _, access in
            guard gates.admit(protectionClass, for: access) else { return false }
            gates.leave(protectionClass)
            return true
        }.map(\.0).joined(separator: " ")
    }

    @Test(arguments: [false, true]) func `each state lets in what it says`(_ servesReads: Bool) {
        let gates = ClassGates(servesReads: servesReads) { _ in true }
        let everything = "create open use read page"
        for protectionClass in ProtectionClass.allCases { #expect(admitted(gates, protectionClass) == everything) }
        gates.shut(to: .evicting, [.complete, .completeUnlessOpen])
        #expect(admitted(gates, .complete) == (servesReads ? "read page" : "page"))
        #expect(admitted(gates, .completeUnlessOpen) == "create use read page")
        gates.shut(to: .closed, [.complete, .completeUnlessOpen])
        #expect(admitted(gates, .complete) == "")
        #expect(admitted(gates, .completeUnlessOpen) == "create use read page")
        #expect(admitted(gates, .completeUntilFirstUserAuthentication) == everything)
        // A deep eviction of a locked mount does not open what is closed.
        gates.shut(to: .evicting, LockDepth.deep.classes)
        #expect(admitted(gates, .complete) == "")
        #expect(
            admitted(gates, .completeUntilFirstUserAuthentication) == (servesReads ? "read page" : "page"))
        gates.shut(to: .closed, LockDepth.deep.classes)
        #expect(admitted(gates, .completeUntilFirstUserAuthentication) == "")
        #expect(admitted(gates, .completeUnlessOpen) == "create use read page")
        #expect(admitted(gates, .none) == everything)
    }

    @Test func `behind the deadline they are as shut as if the eviction had begun`() {
        gates.close(at: BootClock.now + .seconds(3600), .strict)
        #expect(admitted(gates, .complete) == "create open use read page")
        gates.close(at: BootClock.now, .strict)
        gates.close(at: BootClock.now + .seconds(3600), .strict)
        #expect(admitted(gates, .complete) == "page", "a later deadline changes nothing")
        #expect(admitted(gates, .completeUnlessOpen) == "create use read page")
        #expect(admitted(gates, .completeUntilFirstUserAuthentication) == "create open use read page")
        #expect(admitted(gates, .none) == "create open use read page")
        gates.close(at: BootClock.now + .seconds(3600), .deep)
        #expect(admitted(gates, .completeUntilFirstUserAuthentication) == "create open use read page")
        gates.close(at: BootClock.now, .deep)
        #expect(admitted(gates, .completeUntilFirstUserAuthentication) == "page")
        #expect(admitted(gates, .none) == "create open use read page")
        gates.forgetDeadlines()
        for protectionClass in ProtectionClass.allCases {
            #expect(admitted(gates, protectionClass) == "create open use read page")
        }
    }

    /// A read(2) that is under way is served while the keys are evicted; a request that arrives when the machine wakes
    /// up is not.
    /// A hold moves the deadline to a later time; of C only if the lock is deep.
    @Test func `a deadline can be moved, and what has closed by it opens again`() {
        let everything = "create open use read page"
        gates.close(at: BootClock.now - .seconds(1), .strict)
        #expect(admitted(gates, .complete) == "page")
        gates.move(to: BootClock.now + .seconds(600), .strict)
        #expect(admitted(gates, .complete) == everything && admitted(gates, .completeUnlessOpen) == everything)
        gates.move(to: BootClock.now - .seconds(1), .strict)
        #expect(admitted(gates, .complete) == "page")
        #expect(admitted(gates, .completeUntilFirstUserAuthentication) == everything)
        gates.move(to: BootClock.now - .seconds(1), .deep)
        #expect(admitted(gates, .completeUntilFirstUserAuthentication) == "page")
        gates.move(to: BootClock.now + .seconds(600), .deep)
        #expect(admitted(gates, .completeUntilFirstUserAuthentication) == everything)
        gates.close(at: BootClock.now - .seconds(1), .strict)
        #expect(admitted(gates, .complete) == "page", "an eviction closes at once")
    }

    @Test func `reads are served for a second after the deadline`() {
        let gates = ClassGates(servesReads: true) { _ in true }
        gates.close(at: BootClock.now - .milliseconds(10), .deep)
        #expect(admitted(gates, .complete) == "read page")
        #expect(admitted(gates, .completeUntilFirstUserAuthentication) == "read page")
        gates.close(at: BootClock.now - .seconds(2), .deep)
        #expect(admitted(gates, .complete) == "page")
        #expect(admitted(gates, .completeUntilFirstUserAuthentication) == "page")
        gates.shut(to: .evicting, [.complete])
        #expect(admitted(gates, .complete) == "page")
    }

    @Test func `opening waits for no request`() {
        gates.shut(to: .closed, [.complete, .completeUnlessOpen])
        #expect(gates.admit(.none, for: .use))
        #expect(gates.admit(.completeUnlessOpen, for: .use))
        let hasEnded = ends { [gates] in gates.open([.complete, .completeUnlessOpen, .none]) }
        #expect(hasEnded)
        #expect(gates.admit(.complete, for: .open))
    }

    @Test func `shutting waits for the requests inside, and admits none meanwhile`() {
        #expect(gates.admit(.complete, for: .use))
        let isShut = DispatchSemaphore(value: 0)
        Thread.detachNewThread { [gates] in
            gates.shut(to: .evicting, [.complete, .completeUnlessOpen])
            isShut.signal()
        }
        let isShutting = ends { [gates] in
            while gates.state(of: .completeUnlessOpen) != .evicting { Thread.sleep(forTimeInterval: 0.001) }
        }
        #expect(isShutting)
        // At once, though a thread waits for the gate before it.
        let result = Flag()
        let hasEnded = ends { [gates] in
            let enters = gates.admit(.complete, for: .use) || gates.admit(.completeUnlessOpen, for: .open)
            result.value.store(enters, ordering: .releasing)
        }
        #expect(hasEnded)
        let isLetIn = result.value.load(ordering: .acquiring)
        #expect(!isLetIn)
        // Long enough for a drain that does not wait to end.
        #expect(isShut.wait(timeout: .now() + 0.2) == .timedOut)
        gates.leave(.complete)
        #expect(isShut.wait(timeout: .now() + 10) == .success)
    }

    @Test func `a request that has waited at a gate is checked again`() {
        #expect(gates.admit(.complete, for: .use))
        // The closing waits for the request inside; a later request waits behind it, though the gate is open.
        Thread.detachNewThread { [gates] in gates.drain(.complete) }
        let result = Flag()
        let hasEntered = DispatchSemaphore(value: 0)
        Thread.detachNewThread { [gates] in
            // Long enough for the other thread to wait, as a rule.
            Thread.sleep(forTimeInterval: 0.1)
            result.value.store(gates.admit(.complete, for: .use), ordering: .releasing)
            hasEntered.signal()
        }
        Thread.sleep(forTimeInterval: 0.3)
        Thread.detachNewThread { [gates] in gates.shut(to: .closed, [.complete]) }
        let isShutting = ends { [gates] in
            while gates.state(of: .complete) != .closed { Thread.sleep(forTimeInterval: 0.001) }
        }
        #expect(isShutting)
        gates.leave(.complete)
        #expect(hasEntered.wait(timeout: .now() + 10) == .success)
        let isLetIn = result.value.load(ordering: .acquiring)
        #expect(!isLetIn)
    }
}

private final class Flag: Sendable {
    let value = Atomic(false)
}
