import TestSupport

/// Checks states of a vault against the ledger of its acknowledged changes.
final class LedgerCheck {
    private let keys: VaultKeys
    private var promise: Promise
    private let usesStates: Bool
    private let marks: [RecordedMarks.Moment]
    private let folder = try! TemporaryFolder()
    private var count: UInt64 = 0
    private var current: (crash: Int, promise: Promise)?

    /// - Parameters:
    ///   - marks: what the machine remembered after each change.
    ///   - usesStates: goes on to use each state as a vault.
    init(_ keys: VaultKeys, _ promise: Promise, _ marks: [RecordedMarks.Moment] = [], usesStates: Bool = true) {
        self.marks = marks
        self.usesStates = usesStates
        self.keys = keys
        self.promise = promise
    }

    /// The violations in the folder's vault after a crash. Calls must come in the order of the crashes.
    func violations(in folder: StateFolder, after crash: Int) -> [Violation] {
        if current?.crash != crash {
            promise.advance(to: crash)
            current = (crash, promise.during(crash))
        }
        count += 1
        return keys.check(
            folder, usingWith: usesStates && count % 3 == 0 ? count : nil,
            // In a folder of its own, which can be written to.
            remembering: try! marks.watch(at: crash, keys.volume, in: self.folder)
        ) {
            current!.promise.violations(in: $0)
        }
    }
}

extension Simulation {
    /// Checks every state that a recorded vault's disk may hold against what the vault has acknowledged.
    ///
    /// - Parameter start: the number of records at the flush that made everything durable, with which the checked part
    /// begins; nil for the beginning.
    public func run(_ recorded: RecordedVault, from start: Int? = nil) throws -> Report {
        let check = LedgerCheck(
            recorded.keys, recorded.promise, ignoresFlushes ? [] : recorded.marks.moments, usesStates: !ignoresFlushes)
        return try run(recorded.records, found: start ?? recorded.found) { folder, crash in
            check.violations(in: folder, after: crash)
        }
    }
}
