import Posix
import Store
import Synchronization
import TestStores
import Testing

@testable import Vault

/// Files that are opened while other threads have just written to them.
@Suite struct OpeningTests {
    /// Acts between the read of a header and the next call.
    private final class Interrupter: Interceptor {
        private enum State {
            case idle
            case armed(@Sendable () throws -> Void)
            case hasRead(@Sendable () throws -> Void)
        }

        private let state = Mutex(State.idle)

        func afterTheNextRead(_ act: @escaping @Sendable () throws -> Void) { state.withLock { $0 = .armed(act) } }

        func intercept<Result>(
            _ operation: Operation, on store: any Store, _ proceed: () throws(Errno) -> Result
        ) throws(Errno) -> Result {
            let act = state.withLock { state -> (@Sendable () throws -> Void)? in
                switch state {
                case .armed(let act) where operation.kind == .read: state = .hasRead(act)
                case .hasRead(let act) where operation.kind == .status:
                    state = .idle
                    return act
                default: break
                }
                return nil
            }
            do { try act?() } catch { Issue.record(error) }
            return try proceed()
        }
    }

    /// The vault brings a file up to date that no program has open, and releases it, right after its header was read.
    @Test func aFileThatIsBeingCheckpointed() throws {
        let interrupter = Interrupter()
        let test = try TestVault { InterceptingStore($0, hook: interrupter) }
        do {
            let file = try test.create("file")
            try file.write([1, 2, 3], at: 0)
            try file.synchronize(dataOnly: true)
        }
        let vault = test.vault
        interrupter.afterTheNextRead { try vault.checkpoint() }
        let file = try test.vault.openFile("file", in: test.root)
        #expect(test.vault.isCheckpointed)
        #expect(try file.contents(10) == [1, 2, 3])
        try file.write([4], at: 1)
        try file.synchronize(dataOnly: true)
        #expect(try file.contents(10) == [1, 4, 3])
        let (next, root) = try test.afterDeath()
        #expect(try next.openFile("file", in: root).contents(10) == [1, 4, 3])
    }
}
