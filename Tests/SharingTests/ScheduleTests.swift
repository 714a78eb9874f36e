import Foundation
import LeaseSimulation
import Testing

/// The lease protocol in schedules with kills, pauses, cut connections and power losses: tools/lease-schedules runs
/// more of them.
@Suite struct ScheduleTests {
    private static let count = ProcessInfo.processInfo.environment["LATCHKEY_SCHEDULES"].flatMap(UInt64.init) ?? 4000

    @Test func nothingIsLostOrStale() {
        var counts = World.Counts()
        for seed in 1...Self.count {
            let world = World(seed: seed)
            let wrong = world.run()
            counts += world.counts
            if let wrong {
                Issue.record("schedule \(seed): \(wrong)")
                return
            }
        }
        // Each kind of fault has happened, and most machines went on after it.
        #expect(counts.kills > 0 && counts.stops > 0 && counts.cuts > 0 && counts.powerLosses > 0)
        #expect(counts.requests > 2 * Int(Self.count) && counts.failures < counts.joins / 2, "\(counts)")
    }

    /// A schedule is the same each time, so that a seed says all.
    @Test func aSeedSaysAll() {
        for seed in UInt64(1)...20 {
            let (one, other) = (World(seed: seed), World(seed: seed))
            #expect(one.run() == other.run())
            #expect(one.counts.steps == other.counts.steps)
        }
    }
}
