import Store
import TestStores
import Vault

/// Takes the power once more while a vault is opened that a crash has left, and again under that.
final class RecoveryCrashes {
    private let keys: VaultKeys
    private let check: LedgerCheck
    /// How many states of each opening are tried.
    private let states: Int
    private let name: String
    private let order: SimulatedDisk.Order
    private var seed: UInt64 = 0
    private(set) var report = Report()
    /// How many openings wrote anything.
    private(set) var recoveries = 0

    init(_ recorded: RecordedVault, _ name: String, _ order: SimulatedDisk.Order, states: Int) {
        keys = recorded.keys
        check = LedgerCheck(recorded.keys, recorded.promise, usesStates: false)
        self.states = states
        self.name = name
        self.order = order
    }

    /// Opens the vault in the folder, reads all of it, and crashes that off at each flush; what is wrong with the vault
    /// after the last of so many crashes.
    func violations(in folder: StateFolder, after crash: Int, times: Int) throws -> [Violation] {
        guard times > 0 else { return check.violations(in: folder, after: crash) }
        let store = try RecordingStore(DirectoryStore(path: folder.path))
        do {
            let opened = try keys.open(in: store)
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
    /// Checks what is left of a recorded vault when the power goes once more, or several times, while the vault is
    /// opened after a crash.
    ///
    /// - Parameter states: how many of each opening are tried.
    /// - Returns: the states of the first crash, and those of all later ones.
    func run(
        _ recorded: RecordedVault, cuttingRecoveries times: Int, states: Int
    ) throws -> (report: Report, later: Report) {
        let crashes = RecoveryCrashes(recorded, name, order, states: states)
        let report = try run(recorded.records, found: recorded.found) { folder, crash in
            try crashes.violations(in: folder, after: crash, times: times)
        }
        return (report, crashes.report)
    }
}
