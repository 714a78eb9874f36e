public import Posix

/// What follows from the facts about a store for a vault in it.
public struct StoreFinding: Hashable, Sendable {
    public enum Severity: String, Comparable, Sendable {
        /// The vault loses data, or cannot live there at all: `init` and `mount` refuse.
        case losesData = "loses data"
        /// Latchkey promises something that this store does not carry: `mount` warns.
        case promiseDoesNotHold = "promise does not hold"
        case note

        private var rank: Int {
            switch self {
            case .losesData: 0
            case .promiseDoesNotHold: 1
            case .note: 2
            }
        }

        /// The worst is the least.
        public static func < (first: Severity, second: Severity) -> Bool { first.rank < second.rank }
    }

    /// The name of a case is its code in the JSON of `latchkey doctor`.
    public enum Problem: String, CaseIterable, Sendable {
        // Loses data
        case noExclusiveCreate, noRenameOver, noRandomWrites, noSyncOfFiles, noSyncOfFolders, noFlock
        case changingInodes, mixedFiles, staleLinks, belowOverlay
        case noListing, noRenameOfOpenFiles, caseInsensitive, shortNames
        // A promise does not hold
        case noSharedLocks, syncStaysHere, noHardLinks, unlikeHardLinks, noSymbolicLinks, noSetTimes
        case noReadAfterUnlink
        // Note
        case unknownKind, passingInodes, cached, noAttributes, smallAttributes, noHoles, coarseTimes, volatile, readOnly
    }

    public let problem: Problem
    /// The error that told it.
    public let errno: Errno?
    /// What was measured, in the unit of the feature.
    public let number: Int64?

    public init(_ problem: Problem, _ errno: Errno? = nil, number: Int64? = nil) {
        self.problem = problem
        self.errno = errno
        self.number = number
    }

    public var severity: Severity {
        switch problem {
        case .noExclusiveCreate, .noRenameOver, .noRandomWrites, .noSyncOfFiles, .noSyncOfFolders, .noFlock,
            .changingInodes, .mixedFiles, .staleLinks, .belowOverlay, .noListing, .noRenameOfOpenFiles,
            .caseInsensitive, .shortNames:
            .losesData
        case .noSharedLocks, .syncStaysHere, .noHardLinks, .unlikeHardLinks, .noSymbolicLinks, .noSetTimes,
            .noReadAfterUnlink:
            .promiseDoesNotHold
        case .unknownKind, .passingInodes, .cached, .noAttributes, .smallAttributes, .noHoles, .coarseTimes,
            .volatile, .readOnly:
            .note
        }
    }

    /// Whether no user can accept it: a vault cannot be made or mounted there, or its encrypted names would collide.
    public var isFinal: Bool {
        switch problem {
        case .noListing, .noRenameOfOpenFiles, .caseInsensitive, .shortNames: true
        default: false
        }
    }
}
