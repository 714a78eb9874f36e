import Format
import Foundation
import Posix
import Synchronization
import Testing

@testable import Mount

/// What a request that never ends keeps waiting, and what it does not.
@Suite(.timeLimit(.minutes(1))) struct ClassGatesTests {
    let gates = ClassGates { _ in true }

    /// Runs in another thread; whether that has come to its end after a while.
    private func ends(_ body: @escaping @Sendable () -> Void) -> Bool {
        let isDone = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            body()
            isDone.signal()
        }
        return isDone.wait(timeout: .now() + 10) == .success
    }

    @Test func `opening waits for nobody`() {
        gates.shut(to: .closed, [.complete, .completeUnlessOpen])
        #expect(gates.enter(.none, for: .use))
        #expect(gates.enter(.completeUnlessOpen, for: .use))
        let hasEnded = ends { [gates] in gates.open([.complete, .completeUnlessOpen, .none]) }
        #expect(hasEnded)
        #expect(gates.enter(.complete, for: .open))
    }

    @Test func `shutting waits for who is inside, and lets nobody in meanwhile`() {
        #expect(gates.enter(.complete, for: .use))
        let isShut = DispatchSemaphore(value: 0)
        Thread.detachNewThread { [gates] in
            gates.shut(to: .evicting, [.complete, .completeUnlessOpen])
            isShut.signal()
        }
        while gates.state(of: .completeUnlessOpen) != .evicting { Thread.sleep(forTimeInterval: 0.001) }
        // At once, though a thread waits for the lock before it.
        let result = Flag()
        let hasEnded = ends { [gates] in
            let enters = gates.enter(.complete, for: .use) || gates.enter(.completeUnlessOpen, for: .open)
            result.value.store(enters, ordering: .releasing)
        }
        #expect(hasEnded)
        let isLetIn = result.value.load(ordering: .acquiring)
        #expect(!isLetIn)
        // Long enough for a wait that is none.
        #expect(isShut.wait(timeout: .now() + 0.2) == .timedOut)
        gates.leave(.complete)
        #expect(isShut.wait(timeout: .now() + 10) == .success)
    }
}

private final class Flag: Sendable {
    let value = Atomic(false)
}
