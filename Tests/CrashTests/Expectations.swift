import CrashSimulator
import Foundation
import Testing

/// How many states each workload is tried with, unless the environment says otherwise: LATCHKEY_CRASH_STATES.
func budget(_ ordinary: Int) -> Int {
    ProcessInfo.processInfo.environment["LATCHKEY_CRASH_STATES"].flatMap { Int($0) } ?? ordinary
}

/// Tries what a workload has left in both models of a disk; prints the counts, one line each.
///
/// - Parameter fault: why some states violate the promise as yet, and in which models.
func expectPromiseHolds(
    _ workload: String, _ recorded: RecordedVault, states: Int = 400, fault: Fault? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
) throws {
    for order in SimulatedDisk.Order.allCases {
        let report = try Simulation(workload, order, budget: budget(states)).run(recorded)
        expectNone(report, workload, order, fault: fault, sourceLocation: sourceLocation)
    }
}

/// A fault that is known and not yet mended.
struct Fault {
    let comment: Comment
    var orders = SimulatedDisk.Order.allCases
}

/// Prints the counts; no state may violate the promise.
func expectNone(
    _ report: Report, _ workload: String, _ order: SimulatedDisk.Order, fault: Fault? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
) {
    print("crash: \(workload), \(order.rawValue): \(report)")
    for example in report.examples { print("crash:     \(example)") }
    func expect() { #expect(report.badStates == 0, "\(workload): \(report)", sourceLocation: sourceLocation) }
    if let fault, fault.orders.contains(order) {
        withKnownIssue(fault.comment, isIntermittent: true, sourceLocation: sourceLocation) { expect() }
    } else {
        expect()
    }
}

/// The workloads, one after another: they need a processor each, and other tests measure times.
@Suite(.serialized) struct CrashTests {}
