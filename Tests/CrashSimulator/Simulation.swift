public import TestStores
import TestSupport

/// Takes the power from a disk at each point of a record, makes the states that it may hold then, and has them checked.
public struct Simulation: Sendable {
    /// How many states to make in all, about.
    public var budget: Int
    /// Flushes are passed over: the protection off.
    public var ignoresFlushes = false
    /// The most states of one crash.
    public var statesOfACrash = 4096
    /// What is simulated.
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
    ///   - found: how many of the records make what was there at the beginning, durably.
    ///   - check: gets the folder that holds a state, and how many records came before the crash; the crashes come in
    ///     their order. What it returns is counted.
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
            // What crashes with few states have left is for those with many.
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

    /// A crash right before a flush leaves all that one since the last flush leaves, so those are enough; a random part
    /// of them where there are too many.
    private func chooseCrashes(_ records: [Record], found: Int, _ random: inout SeededRandom) -> [Int] {
        var crashes = (found...records.count).filter { $0 == records.count || records[$0].isFlush }
        // A state or two of each crash show nothing of the reordering.
        let most = max(1, budget / 5)
        if crashes.count > most {
            crashes.shuffle(using: &random)
            crashes = crashes.prefix(most).sorted()
        }
        return crashes
    }
}
