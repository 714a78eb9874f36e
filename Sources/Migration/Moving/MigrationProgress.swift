import Synchronization

/// How far a migration has come. Any thread may read it at any time.
public final class MigrationProgress: Sendable {
    private let entryCount = Atomic<Int>(0)
    private let byteCount = Atomic<Int64>(0)

    /// Files, links and nodes that are at the destination, by names.
    public var entries: Int { entryCount.load(ordering: .relaxed) }
    /// Bytes of contents that were copied.
    public var bytes: Int64 { byteCount.load(ordering: .relaxed) }

    public init() {}

    func add(entries: Int) { entryCount.add(entries, ordering: .relaxed) }
    func add(bytes: Int64) { byteCount.add(bytes, ordering: .relaxed) }
}
