import class Foundation.ProcessInfo
import Testing
import WritebackModel

/// What the planner decides, in every order of events up to a number of them, and with a crash after each act.
/// `LATCHKEY_MODEL_EVENTS` is that number; it is one less where the file has been used before.
@Suite struct ModelTests {
    /// Where the events begin.
    enum Start: CaseIterable {
        /// A new file, of which nothing is on the disk.
        case new
        /// All of it is on the disk, and nothing waits.
        case settled
        /// A checkpoint of a shorter length is under way.
        case cut
        /// A flush that will confirm two units is under way.
        case flushing

        var events: [ModelEvent] {
            let synced: [ModelEvent] = [.write(unit: 0), .write(unit: 1), .write(unit: 2), .sync]
            switch self {
            case .new: return []
            case .settled: return synced + [.beginCheckpoint, .placeCheckpoint, .endCheckpoint]
            case .flushing: return [.write(unit: 0), .write(unit: 1), .beginSyncInPlace]
            case .cut: return synced + [.truncate(1), .beginCheckpoint, .placeCheckpoint]
            }
        }
    }

    @Test(arguments: Start.allCases, ModelChecker.Rules.all)
    func noCrashBreaksAPromise(start: Start, rules: ModelChecker.Rules) {
        let result = ModelChecker.check(rules, after: start.events, events: start == .new ? mostEvents : mostEvents - 1)
        print("model: \(start), \(rules): \(result)")
        if let violation = result.violation { Issue.record("\(violation)") }
        // A model that tries nothing finds nothing.
        #expect(result.states > 1000 && result.outcomes > result.crashes)
    }

    private var mostEvents: Int { Int(ProcessInfo.processInfo.environment["LATCHKEY_MODEL_EVENTS"] ?? "") ?? 5 }
}
