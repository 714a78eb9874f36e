import Format

/// Where a record's payload lies in the journal.
package struct JournalExtent: Hashable, Sendable {
    package let offset: Int64
    /// In bytes.
    package let count: Int
    /// The number of its record, which is durable once the journal is flushed up to this number.
    package let sequence: UInt64

    package init(offset: Int64, count: Int, sequence: UInt64) {
        (self.offset, self.count, self.sequence) = (offset, count, sequence)
    }

    /// Bytes from the beginning of this payload to that of the next record's, if one follows at once.
    package var stride: Int { JournalRecord.byteCount(payload: count) }
}
