import Synchronization
import Vault

/// The progress of a check. Any thread may read it at any time.
public final class CheckProgress: Sendable {
    /// The share of the whole tree. Each directory divides its share equally among its entries.
    static let whole: UInt64 = 1 << 62

    private let fileCount = Atomic<Int>(0)
    private let directoryCount = Atomic<Int>(0)
    private let verified = Atomic<UInt64>(0)
    private let share = Atomic<UInt64>(0)
    private let skipped = Atomic<Int>(0)
    private let damageCount = Atomic<Int>(0)
    private let orphanCount = Atomic<Int>(0)
    private let noteCount = Atomic<Int>(0)
    private let uncheckedCount = Atomic<Int>(0)
    private let repairedCount = Atomic<Int>(0)

    /// Files, symbolic links and nodes.
    public var files: Int { fileCount.load(ordering: .relaxed) }
    public var directories: Int { directoryCount.load(ordering: .relaxed) }
    /// Bytes of stored blocks that were read and decrypted.
    public var bytes: UInt64 { verified.load(ordering: .relaxed) }
    /// The share that is done, 0 to 1: an estimate, since the tree has not been counted.
    public var fraction: Double { Double(share.load(ordering: .relaxed)) / Double(Self.whole) }
    /// Files whose contents were not read because the ring does not have the key of their class.
    public var lockedFiles: Int { skipped.load(ordering: .relaxed) }
    public var damaged: Int { damageCount.load(ordering: .relaxed) }
    public var orphans: Int { orphanCount.load(ordering: .relaxed) }
    public var notes: Int { noteCount.load(ordering: .relaxed) }
    /// Findings that were repaired.
    public var repaired: Int { repairedCount.load(ordering: .relaxed) }
    /// Notes that something could not be checked.
    public var unchecked: Int { uncheckedCount.load(ordering: .relaxed) }

    func countRepaired() { repairedCount.add(1, ordering: .relaxed) }
    func countFile() { fileCount.add(1, ordering: .relaxed) }
    func countDirectory() { directoryCount.add(1, ordering: .relaxed) }
    func countLocked() { skipped.add(1, ordering: .relaxed) }
    func count(bytes: Int) { verified.add(UInt64(bytes), ordering: .relaxed) }
    func advance(by part: UInt64) { share.add(part, ordering: .relaxed) }

    func count(_ finding: Finding) {
        switch finding.severity {
        case .damage: damageCount.add(1, ordering: .relaxed)
        case .orphan: orphanCount.add(1, ordering: .relaxed)
        case .note: noteCount.add(1, ordering: .relaxed)
        }
        if case .done = finding.repair { countRepaired() }
        if finding.kind == .unchecked { uncheckedCount.add(1, ordering: .relaxed) }
    }
}
