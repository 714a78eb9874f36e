import Format

/// A record of a file of marks.
enum MarkEntry: Hashable, Sendable {
    case mark(MarkKey, Mark)
    case blocks(BlockRecord)

    /// Decodes the record at an offset; nil if a field has a value that none can have.
    init?(_ bytes: RawSpan, at offset: Int) {
        if let record = MarkRecord(bytes, at: offset) {
            self = .mark(record.key, record.mark)
        } else if let record = BlockRecord(bytes, at: offset) {
            self = .blocks(record)
        } else {
            return nil
        }
    }

    /// Writes 40 bytes at an offset; traps if they do not fit.
    func store(into bytes: inout MutableRawSpan, at offset: Int) {
        switch self {
        case .mark(let key, let mark): MarkRecord(key, mark).store(into: &bytes, at: offset)
        case .blocks(let record): record.store(into: &bytes, at: offset)
        }
    }
}

extension BlockBounds {
    /// The records that say the same of a name.
    func entries(of key: MarkKey) -> [MarkEntry] {
        var entries: [MarkEntry] = []
        entries.reserveCapacity(count)
        forEachRun { entries.append(.blocks(BlockRecord(key, $0))) }
        return entries
    }
}
