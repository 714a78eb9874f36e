import CrashSimulator
import Foundation
import TestStores
import TestSupport
import Testing

extension MountTests {
    /// The power fails under real programs: what a mount has done to its folder is recorded, and each state that a
    /// disk may hold then is opened and given back to the program.
    @Suite struct PowerLosses {}
}

/// What a program was told and when: how many records there were by then.
struct Acknowledgements<Value> {
    private(set) var all: [(records: Int, value: Value)] = []

    mutating func add(_ value: Value, at records: Int) { all.append((records, value)) }

    /// How many of them come before a crash.
    func count(before crash: Int) -> Int { all.prefix { $0.records <= crash }.count }
}

/// Tries so many states, or as many as LATCHKEY_CRASH_STATES says; prints the counts.
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
