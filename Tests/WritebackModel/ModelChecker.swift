import Format
import Posix
import Writeback

/// Tries every sequence of events up to a number of them, from a new file on, with a crash after each act on the disk.
/// States that were seen with as many events left are not tried again.
public struct ModelChecker {
    public struct Rules: Hashable, Sendable {
        /// The store keeps the order of changes of metadata, and the vault knows it.
        public var isOrdered: Bool
        /// A header in the backing file would get no stamp that a copier can tell from the last.
        public var isStampSpent: Bool

        /// A new length is in a header before a change is acknowledged: `File.keepLengths`.
        public var keepsLengths = false

        public static let all = [true, false].flatMap { isOrdered in
            [true, false].map { Rules(isOrdered: isOrdered, isStampSpent: $0) } + [
                Rules(isOrdered: isOrdered, isStampSpent: false, keepsLengths: true)
            ]
        }
    }

    /// What was found.
    public struct Result: Sendable, CustomStringConvertible {
        /// Different states of file, disk and promise.
        public fileprivate(set) var states = 0
        /// Different disks, with what was promised of them, at which a crash was tried.
        public fileprivate(set) var crashes = 0
        /// What those crashes may leave.
        public fileprivate(set) var outcomes = 0
        /// The events that lead to a broken promise, and which one it is.
        public fileprivate(set) var violation: Violation?

        public var description: String {
            "\(states) states, \(outcomes) states of the disk after \(crashes) crashes"
        }
    }

    public struct Violation: Sendable, CustomStringConvertible {
        let events: [ModelEvent]
        let reason: String

        public var description: String { "\(events.map { "\($0)" }.joined(separator: ", ")): \(reason)" }
    }

    private let rules: Rules
    private var result = Result()
    /// Hashes of 64 bits stand for the states: whole ones would take a gigabyte.
    private var seen: Set<Int> = []
    private var crashed: Set<Int> = []
    private var trace: [ModelEvent] = []

    /// Runs a check.
    ///
    /// - Parameters:
    ///   - first: events that come before those that are tried.
    ///   - events: so many are tried in each order.
    public static func check(_ rules: Rules, after first: [ModelEvent] = [], events: Int) -> Result {
        var checker = ModelChecker(rules: rules)
        var file = ModelFile(rules)
        for event in first { file = checker.next(file, event) }
        var frontier = [(file, first)]
        for left in (0..<events).reversed() where checker.result.violation == nil {
            var following: [(ModelFile, [ModelEvent])] = []
            for (file, events) in frontier {
                checker.trace = events
                for event in file.possibleEvents {
                    let next = checker.next(file, event)
                    if checker.result.violation != nil { return checker.result }
                    let isNew = checker.seen.insert(StateKey(next).hashValue).inserted
                    // Nothing follows the last events.
                    if isNew, left > 0 { following.append((next, events + [event])) }
                }
            }
            frontier = following
        }
        checker.result.states = checker.seen.count
        return checker.result
    }

    private init(rules: Rules) { self.rules = rules }

    private mutating func next(_ file: ModelFile, _ event: ModelEvent) -> ModelFile {
        var next = file
        trace.append(event)
        defer { trace.removeLast() }
        // The file keeps what it passes through; it is looked at afterwards.
        next.passed = []
        next.handle(event)
        next.pass()
        if let fault = next.fault { result.violation = Violation(events: trace, reason: fault) }
        for (disk, promise) in next.passed { lookAtCrashes(of: disk, promise) }
        next.passed = []
        lookAtKill(of: next, after: event)
        return next
    }

    private mutating func lookAtCrashes(of disk: Disk, _ promise: Promise) {
        guard result.violation == nil, crashed.insert(CrashKey(disk: disk, promise: promise).hashValue).inserted else {
            return
        }
        result.crashes += 1
        var reason: String?
        var outcomes = 0
        disk.forEachCrash { state in
            outcomes += 1
            guard reason == nil else { return }
            let finding = state.recovered()
            if let broken = promise.isBroken(by: finding, at: state.metadata.name) { reason = "\(broken): \(state)" }
        }
        result.outcomes += outcomes
        if let reason { result.violation = Violation(events: trace, reason: reason) }
    }

    /// A killed daemon leaves all that was written, and a header of the last length that was told: after a close, or
    /// always, if that is the rule.
    private mutating func lookAtKill(of file: ModelFile, after event: ModelEvent) {
        guard result.violation == nil, file.name != 0 else { return }
        let finding = file.disk.killed.recovered()
        if case .file(let length, let units) = finding, length <= file.length,
            (0..<length).allSatisfy({ units[$0] == file.units[$0] }),
            length == file.length || !file.state.sync.isHeaderCurrent && event != .close && !rules.keepsLengths
        {
            return
        }
        result.violation = Violation(
            events: trace, reason: "a killed daemon leaves \(finding) of \(file.length) \(file.units)")
    }

    // MARK: What makes states different

    private struct CrashKey: Hashable {
        let disk: Disk
        let promise: Promise
    }

    private struct StateKey: Hashable {
        let header: FileHeader
        let length: UInt64
        let durable: DurableState
        let journal: JournaledState
        let sync: SyncState
        let repair: RepairState
        let names: [UInt64]
        let bindings: [NameBinding]?
        let disk: Disk
        let promise: Promise
        let units: Units
        let checkpoint: ModelFile.BegunCheckpoint?
        let begunSync: ModelFile.BegunSync?
        let isUncommitted: Bool

        init(_ file: ModelFile) {
            let state = file.state
            (header, length, durable) = (state.header, state.length, state.durable)
            (journal, sync, repair) = (state.journal, state.sync, state.repair)
            names = [
                UInt64(state.names.folders.count), state.names.createdIn == nil ? 0 : 1, state.names.pendingUntil,
                state.names.isInterrupted ? 1 : 0, state.names.removal == .named ? 0 : 1,
                state.names.removal == .durable ? 1 : 0, state.names.removedFrom == nil ? 0 : 1,
            ]
            bindings = state.names.finalBindings
            (disk, promise, units) = (file.disk, file.promise, file.units)
            (checkpoint, begunSync, isUncommitted) = (file.checkpoint, file.sync, file.isUncommitted)
        }
    }
}
