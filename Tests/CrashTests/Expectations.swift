import CrashSimulator
import Foundation
import Testing

/// How many states each workload is tried with, unless the environment says otherwise: LATCHKEY_CRASH_STATES.
func budget(_ ordinary: Int) -> Int {
    ProcessInfo.processInfo.environment["LATCHKEY_CRASH_STATES"].flatMap { Int($0) } ?? ordinary
}

/// Tries what a workload has left in both models of a disk; prints the counts, one line each.
func expectPromiseHolds(
    _ workload: String, _ recorded: RecordedVault, states: Int = 240,
    sourceLocation: SourceLocation = #_sourceLocation
) throws {
    for order in SimulatedDisk.Order.allCases {
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

/// The workloads, one after another: they need a processor each, and other tests measure times.
@Suite(.serialized) struct CrashTests {}
