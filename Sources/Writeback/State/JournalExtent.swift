/// Where a record's payload, or a block of it, lies in the journal.
package struct JournalExtent: Hashable, Sendable {
    package let offset: Int64
    /// In bytes.
    package let count: Int
    /// The number of its record, which is durable once the journal is flushed up to this number.
    package let sequence: UInt64

    package init(offset: Int64, count: Int, sequence: UInt64) {
        (self.offset, self.count, self.sequence) = (offset, count, sequence)
    }

    /// A part of the payload.
    package func part(at start: Int, _ count: Int) -> JournalExtent {
        JournalExtent(offset: offset + Int64(start), count: count, sequence: sequence)
    }
}
