import CrashSimulator
import Foundation
import Testing

/// The number of states for each workload, unless the environment sets another: LATCHKEY_CRASH_STATES.
func budget(_ ordinary: Int) -> Int {
    ProcessInfo.processInfo.environment["LATCHKEY_CRASH_STATES"].flatMap { Int($0) } ?? ordinary
}

/// Tries a workload's states in the models of a disk that the vault was made for, and prints the counts, one line each.
func expectPromiseHolds(
    _ workload: String, _ recorded: RecordedVault, states: Int = 140,
    sourceLocation: SourceLocation = #_sourceLocation
) throws {
    for order in recorded.orders {
        let report = try Simulation(workload, order, budget: budget(states)).run(recorded)
        expectNone(report, workload, order, sourceLocation: sourceLocation)
    }
}

/// Prints the counts; no state may violate the promise.
func expectNone(
    _ report: Report, _ workload: String, _ order: SimulatedDisk.Order,
    sourceLocation: SourceLocation = #_sourceLocation
) {
    print("crash: \(workload), \(order.rawValue): \(report)")
    for example in report.examples { print("crash:     \(example)") }
    #expect(report.badStates == 0, "\(workload): \(report)", sourceLocation: sourceLocation)
}

/// The workloads, one after another: each needs a processor, and other tests measure times.
@Suite(.serialized) struct CrashTests {}
