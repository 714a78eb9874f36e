import CrashSimulator
import Foundation
import TestStores
import TestSupport
import Testing

extension MountTests {
    /// Power losses under real programs: a recorder keeps all changes that a mount makes to its folder. Each state that
    /// a disk may hold after a crash is opened and given back to the program.
    @Suite struct PowerLosses {}
}

/// What a program acknowledged and when, as the number of records by then.
struct Acknowledgements<Value> {
    private(set) var all: [(records: Int, value: Value)] = []

    mutating func add(_ value: Value, at records: Int) { all.append((records, value)) }

    /// How many of the acknowledgements come before a crash.
    func count(before crash: Int) -> Int { all.prefix { $0.records <= crash }.count }
}

/// Tries this many states, or LATCHKEY_CRASH_STATES of them; prints the counts.
func losePower(
    _ name: String, _ order: SimulatedDisk.Order, _ recorded: (records: [Record], found: Int), states: Int,
    _ check: (StateFolder, Int) throws -> [Violation]
) throws {
    let environment = ProcessInfo.processInfo.environment["LATCHKEY_CRASH_STATES"]
    let budget = environment.flatMap { Int($0) } ?? states
    let report = try Simulation(name, order, budget: budget).run(recorded.records, found: recorded.found, check: check)
    print("crash: \(name), \(order.rawValue): \(report)")
    for example in report.examples { print("crash:     \(example)") }
    #expect(report.badStates == 0, "\(name): \(report)")
}
