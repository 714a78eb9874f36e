import Format
import Posix
import Vault

/// Something that a check of a vault has found.
public struct Finding: Sendable {
    public enum Severity: String, Sendable, CaseIterable {
        /// Something in the vault cannot be read any more, as a whole or in part.
        case damage
        /// An orphan of an interrupted operation: harmless and useless.
        case orphan = "leftover"
        /// Neither; for information.
        case note
    }

    /// What is wrong. The raw values are those of `latchkey fsck --json`: docs/FSCK.md.
    public enum Kind: String, Sendable, CaseIterable {
        // Damage.
        case keybag
        case journal
        case directory
        case header
        case binding = "place"
        case key
        case contents
        case symlink
        case attribute
        case name
        case unreadable
        // Orphans.
        case temporary
        case sidecar
        case record
        case keybagCopy = "keybag-copy"
        case continuation = "rest"
        case unsynced
        // Notes.
        case foreign
        case unsupported
        case unchecked
        case older
        case missing
    }

    public var severity: Severity
    public var kind: Kind
    /// The path in the mount, from `/` on, as bytes: names need not be UTF-8. Nil if it cannot be known.
    public var path: [UInt8]?
    /// The path from the vault's folder on; `.` is that folder.
    public var backingPath: [UInt8]
    /// The reason, as text to follow a colon; names in it are escaped.
    public var reason: Printable
    /// For `contents`: the plaintext ranges that cannot be read.
    public var lost: LostRanges?
    /// The outcome of a repair; nil without one.
    public var repair: RepairOutcome?
    /// What a repair needs to find it.
    let spot: Spot?

    init(
        _ severity: Severity, _ kind: Kind, at spot: Spot, reason: Printable, lost: LostRanges? = nil
    ) {
        self.severity = severity
        self.kind = kind
        path = spot.path
        backingPath = spot.backingPath
        self.reason = reason
        self.lost = lost
        self.spot = spot
    }

    /// A finding about a file in the vault's folder.
    init(_ severity: Severity, _ kind: Kind, _ backingName: String, reason: Printable) {
        self.severity = severity
        self.kind = kind
        backingPath = Array(backingName.utf8)
        self.reason = reason
        spot = nil
    }
}

/// The outcome of a repair, in words in which names are escaped.
public enum RepairOutcome: Sendable, Hashable {
    case done(Printable)
    /// Nothing has changed. The text says why, and what would help.
    case failed(Printable)
}

extension Finding {
    /// `lk.keybag` does not open, and the previous keybag is used.
    public static func previousKeybag(isPutBack: Bool) -> Finding {
        var finding = Finding(
            .damage, .keybag, BackingName.keybag,
            reason: "it is missing or damaged; \(BackingName.oldKeybag) opens in its place")
        if isPutBack { finding.repair = .done("\(BackingName.oldKeybag) was put back") }
        return finding
    }
}

/// The ranges of a file's plaintext that cannot be read.
public struct LostRanges: Sendable, Hashable {
    /// How many ranges are kept.
    static let limit = 1000

    /// In order, not adjacent; at most the first `limit`.
    public private(set) var ranges: [Range<UInt64>] = []
    /// The number of all lost bytes, also outside the kept ranges.
    public private(set) var byteCount: UInt64 = 0
    public private(set) var isComplete = true

    public var isEmpty: Bool { byteCount == 0 }

    /// Adds a range that overlaps no other.
    mutating func add(_ range: Range<UInt64>) {
        byteCount += UInt64(range.count)
        if let last = ranges.last, last.upperBound == range.lowerBound {
            ranges[ranges.count - 1] = last.lowerBound..<range.upperBound
            return
        }
        let index = ranges.firstIndex { $0.lowerBound > range.lowerBound } ?? ranges.endIndex
        ranges.insert(range, at: index)
        if index + 1 < ranges.count, ranges[index].upperBound == ranges[index + 1].lowerBound {
            ranges[index] = range.lowerBound..<ranges.remove(at: index + 1).upperBound
        }
        if index > 0, ranges[index - 1].upperBound == ranges[index].lowerBound {
            ranges[index - 1] = ranges[index - 1].lowerBound..<ranges.remove(at: index).upperBound
        }
        guard ranges.count > Self.limit else { return }
        ranges.removeLast()
        isComplete = false
    }

    mutating func add(_ other: LostRanges) {
        for range in other.ranges { add(range) }
        byteCount += other.byteCount - other.ranges.reduce(0) { $0 + UInt64($1.count) }
        isComplete = isComplete && other.isComplete
    }
}
