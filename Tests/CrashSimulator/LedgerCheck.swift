/// Checks states of a vault against the ledger of what was done to it.
final class LedgerCheck {
    private let keys: VaultKeys
    private var promise: Promise
    private let usesStates: Bool
    private var count: UInt64 = 0
    private var current: (crash: Int, promise: Promise)?

    /// - Parameter usesStates: goes on with each state as with a vault in use.
    init(_ keys: VaultKeys, _ promise: Promise, usesStates: Bool = true) {
        self.usesStates = usesStates
        self.keys = keys
        self.promise = promise
    }

    /// What is wrong with the vault in the folder after a crash. The crashes come in their order.
    func violations(in folder: StateFolder, after crash: Int) -> [Violation] {
        if current?.crash != crash {
            promise.advance(to: crash)
            current = (crash, promise.during(crash))
        }
        count += 1
        return keys.check(folder, usingWith: usesStates && count % 3 == 0 ? count : nil) {
            current!.promise.violations(in: $0)
        }
    }
}

extension Simulation {
    /// Checks all that a recorded vault's disk may hold against what the vault has acknowledged.
    ///
    /// - Parameter start: how many records there were when a flush of everything had made them durable, and what is of
    ///   interest began; nil for the beginning.
    public func run(_ recorded: RecordedVault, from start: Int? = nil) throws -> Report {
        let check = LedgerCheck(recorded.keys, recorded.promise, usesStates: !ignoresFlushes)
        return try run(recorded.records, found: start ?? recorded.found) { folder, crash in
            check.violations(in: folder, after: crash)
        }
    }
}
