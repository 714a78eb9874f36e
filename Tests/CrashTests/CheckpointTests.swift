import CrashSimulator
import Posix
import Store
import Synchronization
import TestStores
import Testing

@testable import Vault

extension CrashTests {
    /// Files are not locked while a checkpoint flushes them: other threads may change them then.
    @Suite struct Checkpoints {
        /// Acts after each flush of the vault.
        private final class Acts: Interceptor {
            private struct State {
                var act: (@Sendable () throws -> Void)?
                var isActing = false
                var failure: (any Error)?
            }

            private let state = Mutex(State())

            /// Runs `body`, and `act` after each flush within it.
            func during(_ act: @escaping @Sendable () throws -> Void, _ body: () throws -> Void) throws {
                state.withLock { $0.act = act }
                defer { state.withLock { $0.act = nil } }
                try body()
                if let failure = state.withLock({ $0.failure }) { throw failure }
            }

            func intercept<Result>(
                _ operation: Operation, on store: any Store, _ proceed: () throws(Errno) -> Result
            ) throws(Errno) -> Result {
                let result = try proceed()
                guard operation.kind == .synchronize || operation.kind == .synchronizeAll else { return result }
                let act = state.withLock { state in
                    guard !state.isActing else { return nil as (@Sendable () throws -> Void)? }
                    state.isActing = state.act != nil
                    return state.act
                }
                guard let act else { return result }
                do { try act() } catch { state.withLock { $0.failure = $0.failure ?? error } }
                state.withLock { $0.isActing = false }
                return result
            }
        }

        @Test(arguments: 1...4, SimulatedDisk.Order.allCases)
        func othersActMeanwhile(seed: UInt64, on order: SimulatedDisk.Order) throws {
            let acts = Acts()
            let vault = try RecordedVault(on: order) { InterceptingStore($0, hook: acts) }
            let scene = try CheckpointScene(vault, seed: seed)
            try vault.synchronizeAll()
            for _ in 0..<80 {
                try scene.act()
                guard scene.chance(3) else { continue }
                try acts.during(
                    { for _ in 0..<2 { try scene.actWithoutCheckpoint() } }, { try vault.vault.checkpoint() })
            }
            #expect(scene.roomCount > 20)
            try expectPromiseHolds("acts while files are checkpointed, seed \(seed)", vault, states: 50)
        }
    }
}
