public import TestStores
import TestSupport

/// Simulates a power loss at each point of a record, makes the states that the disk may hold then, and has them
/// checked.
public struct Simulation: Sendable {
    /// About how many states to make in all.
    public var budget: Int
    /// Ignores flushes: the disk lies.
    public var ignoresFlushes = false
    /// The greatest number of states of one crash.
    public var statesOfACrash = 4096
    /// The name of what is simulated.
    public let name: String
    public let order: SimulatedDisk.Order
    public let seed: UInt64

    public init(_ name: String, _ order: SimulatedDisk.Order, budget: Int, seed: UInt64 = 1) {
        self.name = name
        self.order = order
        self.budget = budget
        self.seed = seed
    }

    /// - Parameters:
    ///   - found: the number of leading records that make, durably, what existed at the beginning.
    ///   - check: gets the folder that holds a state, and the number of records before the crash, in the order of the
    /// crashes. The violations that it returns are counted.
    public func run(
        _ records: [Record], found: Int, check: (StateFolder, Int) throws -> [Violation]
    ) throws -> Report {
        var report = Report()
        var random = SeededRandom(seed)
        var disk = SimulatedDisk(order: order, holding: records[..<found])
        disk.ignoresFlushes = ignoresFlushes
        let folder = try StateFolder()
        var evidence = Evidence("\(name)-\(order.rawValue)")
        let crashes = chooseCrashes(records, found: found, &random)
        var next = found
        for (index, crash) in crashes.enumerated() {
            for record in records[next..<crash] { disk.append(record) }
            next = crash
            // A crash with fewer states than its share leaves the other states of the budget to later crashes.
            let share = max(4, min(statesOfACrash, (budget - report.states) / (crashes.count - index)))
            let (choices, areAll) = StateSampler(disk).choices(limit: share, &random)
            report.crashes += 1
            if areAll { report.wholeCrashes += 1 }
            for choice in choices {
                try folder.hold(disk.image(of: choice))
                let violations = try check(folder, crash)
                report.add(violations, at: crash)
                if !violations.isEmpty { try evidence.keep(disk, choice, crash: crash, violations) }
            }
        }
        return report
    }

    /// A crash right before a flush can leave every state of the crashes since the flush before it, so only those are
    /// tried; a random part of them if they are too many.
    private func chooseCrashes(_ records: [Record], found: Int, _ random: inout SeededRandom) -> [Int] {
        var crashes = (found...records.count).filter { $0 == records.count || records[$0].isFlush }
        // One or two states of a crash show nothing of the reordering.
        let most = max(1, budget / 5)
        if crashes.count > most {
            crashes.shuffle(using: &random)
            crashes = crashes.prefix(most).sorted()
        }
        return crashes
    }
}
