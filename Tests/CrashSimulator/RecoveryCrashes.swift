import Posix
import Store
import TestStores
import Vault

/// Simulates a second power loss while a vault is opened after a crash, and further ones in the same way.
final class RecoveryCrashes {
    private let keys: VaultKeys
    private let check: LedgerCheck
    /// The number of states that are tried of each opening.
    private let states: Int
    private let name: String
    private let order: SimulatedDisk.Order
    private var seed: UInt64 = 0
    private(set) var report = Report()
    /// The number of openings that wrote anything.
    private(set) var recoveries = 0

    init(_ recorded: RecordedVault, _ name: String, _ order: SimulatedDisk.Order, states: Int) {
        keys = recorded.keys
        check = LedgerCheck(recorded.keys, recorded.promise, recorded.marks.moments, usesStates: false)
        self.states = states
        self.name = name
        self.order = order
    }

    /// Opens the vault in the folder, reads all of it, and simulates a crash at each flush of that; returns the
    /// violations after the last of `times` crashes.
    func violations(in folder: StateFolder, after crash: Int, times: Int) throws -> [Violation] {
        guard times > 0 else { return check.violations(in: folder, after: crash) }
        let store = try RecordingStore(DirectoryStore(path: Path(folder.path)))
        do {
            let opened = try keys.open(in: store)
            defer { opened.vault.abandon() }
            _ = Observation(of: opened.vault, root: opened.root)
        } catch { return [Violation(.closed, "\(error)")] }
        recoveries += 1
        seed += 1
        let simulation = Simulation("\(name), \(times) more crashes", order, budget: states, seed: seed)
        var found: [Violation] = []
        let part = try simulation.run(store.recorder.records, found: store.recorder.foundCount) { state, _ in
            let violations = try violations(in: state, after: crash, times: times - 1)
            found += violations
            return violations
        }
        report = report + part
        return Array(found.prefix(5))
    }
}

extension Simulation {
    /// Checks a recorded vault whose power is lost again, once or several times, while it is opened after a crash.
    ///
    /// - Parameter states: the number of states that are tried of each opening.
    /// - Returns: the states of the first crash, and those of all later ones.
    func run(
        _ recorded: RecordedVault, crashingRecoveries times: Int, states: Int
    ) throws -> (report: Report, later: Report) {
        let crashes = RecoveryCrashes(recorded, name, order, states: states)
        let report = try run(recorded.records, found: recorded.found) { folder, crash in
            try crashes.violations(in: folder, after: crash, times: times)
        }
        return (report, crashes.report)
    }
}
