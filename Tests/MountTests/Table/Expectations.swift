/// What a cell of the table says.
enum Expected {
    case yes
    /// ENOKEY, and nothing has changed.
    case noKey
    /// SIGBUS, and nothing has changed.
    case bus
    /// There is no such cell: no handle of such a file can have been opened, or the class is the same.
    case absent

    func fits(_ answer: Answer) -> Bool {
        switch self {
        case .yes: answer.succeeded
        case .noKey: answer == .noKey
        case .bus: answer == .bus
        case .absent: true
        }
    }
}

/// The table of section 2, with the columns of the design. In the states unlocked and locking everything is allowed.
struct Expectation {
    let call: Call
    /// A, and B: before the first unlock, and locked.
    let a, b: Expected
    /// C and D before the first unlock.
    let cBefore, dBefore: Expected
    /// C and D while locked.
    let cLocked, dLocked: Expected

    init(
        _ call: Call, _ a: Expected, _ b: Expected, _ cBefore: Expected, _ cLocked: Expected, _ dBefore: Expected,
        _ dLocked: Expected
    ) {
        self.call = call
        self.a = a
        self.b = b
        self.cBefore = cBefore
        self.cLocked = cLocked
        self.dBefore = dBefore
        self.dLocked = dLocked
    }

    func cell(_ protection: ProtectionClass, _ state: LockState) -> Expected {
        // Which cells there are does not depend on the keys: a handle from before the mount cannot be.
        let away =
            switch (protection, state) {
            case (.complete, _): a
            case (.completeUnlessOpen, _): b
            case (.completeUntilFirstUserAuthentication, .beforeFirstUnlock): cBefore
            case (.completeUntilFirstUserAuthentication, _): cLocked
            case (.none, .beforeFirstUnlock): dBefore
            case (.none, _): dLocked
            }
        switch state {
        case .beforeFirstUnlock:
            return protection == .complete && call.needsHandle ? .absent : away
        case .locked:
            return away
        case .unlocked, .locking:
            if case .absent = away { return .absent }
            return .yes
        }
    }

    // swift-format-ignore: the columns are the table's.
    static let table: [Expectation] = [
        //                            A away  B away  C before  C locked  D before  D locked
        .init(.create, .noKey, .yes, .noKey, .yes, .yes, .yes),
        .init(.open, .noKey, .noKey, .noKey, .yes, .yes, .yes),
        .init(.openWhileHeld, .noKey, .noKey, .absent, .yes, .yes, .yes),
        .init(.openToTruncate, .noKey, .noKey, .noKey, .yes, .yes, .yes),

        .init(.read, .noKey, .yes, .absent, .yes, .yes, .yes),
        .init(.write, .noKey, .yes, .absent, .yes, .yes, .yes),
        .init(.seekToEnd, .noKey, .yes, .absent, .yes, .yes, .yes),
        .init(.truncateHandle, .noKey, .yes, .absent, .yes, .yes, .yes),
        .init(.allocateHandle, .noKey, .yes, .absent, .yes, .yes, .yes),
        .init(.copyRange, .noKey, .yes, .absent, .yes, .yes, .yes),
        .init(.sendFile, .noKey, .yes, .absent, .yes, .yes, .yes),
        .init(.readDirect, .noKey, .yes, .absent, .yes, .yes, .yes),
        .init(.synchronize, .yes, .yes, .absent, .yes, .yes, .yes),
        .init(.close, .yes, .yes, .absent, .yes, .yes, .yes),

        .init(.touchShared, .bus, .yes, .absent, .yes, .yes, .yes),
        .init(.touchPrivate, .bus, .yes, .absent, .yes, .yes, .yes),
        .init(.touchClosed, .bus, .yes, .absent, .yes, .yes, .yes),
        .init(.store, .bus, .yes, .absent, .yes, .yes, .yes),

        .init(.shrink, .noKey, .noKey, .noKey, .yes, .yes, .yes),
        .init(.grow, .noKey, .noKey, .noKey, .yes, .yes, .yes),

        .init(.setComplete, .absent, .noKey, .noKey, .noKey, .noKey, .noKey),
        .init(.setCompleteUnlessOpen, .noKey, .absent, .noKey, .yes, .yes, .yes),
        .init(.setCompleteUntilFirst, .noKey, .noKey, .absent, .yes, .noKey, .yes),
        .init(.setNone, .noKey, .noKey, .noKey, .yes, .yes, .yes),

        .init(.status, .yes, .yes, .yes, .yes, .yes, .yes),
        .init(.list, .yes, .yes, .yes, .yes, .yes, .yes),
        .init(.rename, .yes, .yes, .yes, .yes, .yes, .yes),
        .init(.link, .yes, .yes, .yes, .yes, .yes, .yes),
        .init(.unlink, .yes, .yes, .yes, .yes, .yes, .yes),
        .init(.changeMode, .yes, .yes, .yes, .yes, .yes, .yes),
        .init(.changeOwner, .yes, .yes, .yes, .yes, .yes, .yes),
        .init(.changeTimes, .yes, .yes, .yes, .yes, .yes, .yes),
        .init(.getClass, .yes, .yes, .yes, .yes, .yes, .yes),
        .init(.getAttribute, .yes, .yes, .yes, .yes, .yes, .yes),
        .init(.setAttribute, .yes, .yes, .yes, .yes, .yes, .yes),
        .init(.listAttributes, .yes, .yes, .yes, .yes, .yes, .yes),
    ]
}
