/// Versions of one thing on the disk: a crash finds one of them.
struct Versions<Value: Hashable>: Hashable {
    /// The one that was flushed, and those that were written since, in order.
    private(set) var all: [Value]
    /// So many versions came before those.
    private var gone = 0

    init(_ value: Value) { all = [value] }

    /// What the page cache has.
    var current: Value { all[all.count - 1] }
    var isFlushed: Bool { all.count == 1 }

    mutating func write(_ value: Value) { all.append(value) }

    /// So many versions there have been.
    var count: Int { gone + all.count }

    /// Flushes what was written when there had been `count` versions.
    mutating func flush(_ count: Int) {
        let old = max(0, count - gone - 1)
        all.removeFirst(old)
        gone += old
    }

    mutating func flush() { flush(count) }

    /// Counts anew: nothing knows of an earlier count.
    mutating func forgetCount() { gone = 0 }

    /// What a crash may find.
    var possible: [Value] { isFlushed ? all : Array(Set(all)) }
}

/// A backing file, its name and the journal, with what was flushed and what was not.
struct Disk: Hashable {
    var cells = [Versions<Cell>](repeating: Versions(.absent), count: blockCount)
    /// The size of the backing file, in units.
    var size = Versions(0)
    /// Nil if there is none, or none as a whole.
    var header: Versions<ModelHeader?> = Versions(nil)
    var metadata = Versions(Metadata(name: 0, pending: nil))
    private(set) var records: [Record] = []
    /// So many records are durable.
    private(set) var flushedRecords = 0
    /// So many may be overwritten by others at any time.
    private(set) var releasedRecords = 0
    let isOrdered: Bool

    init(isOrdered: Bool) { self.isOrdered = isOrdered }

    // MARK: The backing file

    mutating func write(_ sealed: Sealed, block: Int) {
        cells[block].write(.sealed(sealed))
        let end = block * unitsPerBlock + sealed.count
        if end > size.current { size.write(end) }
    }

    mutating func truncate(to end: Int) {
        size.write(end)
        for block in cells.indices {
            let left = end - block * unitsPerBlock
            guard case .sealed(let sealed) = cells[block].current, left < sealed.count else { continue }
            cells[block].write(left <= 0 ? .absent : .torn)
        }
    }

    /// How much had been written when a flush began.
    struct Mark: Hashable {
        fileprivate let cells: [Int]
        fileprivate let size: Int
        fileprivate let header: Int
        fileprivate let metadata: Int
    }

    var mark: Mark {
        Mark(
            cells: cells.map(\.count), size: size.count, header: header.count, metadata: metadata.count)
    }

    /// No flush is under way.
    mutating func forgetCounts() {
        for block in cells.indices { cells[block].forgetCount() }
        size.forgetCount()
        header.forgetCount()
        metadata.forgetCount()
    }

    /// A flush that began at `mark`. With `all`, a store that keeps the order of its metadata commits that too.
    mutating func flush(_ mark: Mark, all: Bool) {
        for block in cells.indices { cells[block].flush(mark.cells[block]) }
        size.flush(mark.size)
        header.flush(mark.header)
        if all, isOrdered { metadata.flush(mark.metadata) }
    }

    /// A flush of the folder that began at `mark`.
    mutating func flushNames(_ mark: Mark) { metadata.flush(mark.metadata) }

    mutating func flush(all: Bool) { flush(mark, all: all) }

    // MARK: The journal

    /// Returns the record's sequence number.
    mutating func append(_ record: Record) -> UInt64 {
        records.append(record)
        return UInt64(records.count)
    }

    mutating func flushJournal(upTo sequence: UInt64) { flushedRecords = max(flushedRecords, Int(sequence)) }

    mutating func release(upTo sequence: UInt64) {
        releasedRecords = max(releasedRecords, Int(min(sequence, UInt64(records.count))))
    }
}
