import Format

/// The journal's head, its records and their payloads; the MACs are ignored.
///
/// The first byte of an input says which of them the other bytes are.
final class JournalParser: FuzzedParser {
    init() {}

    func run(_ input: [UInt8]) throws(Finding) {
        guard let kind = input.first else { return }
        let payload = Array(input.dropFirst())
        switch kind % 3 {
        case 0: try readHead(payload)
        case 1: try readRecord(payload)
        default: try readNote(payload)
        }
    }

    private func readHead(_ bytes: [UInt8]) throws(Finding) {
        guard let head = try? unsafe JournalHead(decoding: bytes.span.bytes) else { return }
        let again = encoding(JournalHead.signedByteCount) { head.encode(into: &$0) }
        try demand(again == Array(bytes.prefix(JournalHead.signedByteCount)), "a head that is written otherwise")
        try demand(
            head.partSize % 4096 == 0 && 1...JournalHead.largestPart ~= head.partSize, "a part of \(head.partSize)")
        try demand(head.offset(ofPart: 0) == 4096 && head.offset(ofPart: head.parts) < 1 << 33, "parts out of reach")
    }

    private func readRecord(_ bytes: [UInt8]) throws(Finding) {
        guard let record = try? unsafe JournalRecord(decoding: bytes.span.bytes) else { return }
        try demand(
            record.byteCount % 8 == 0 && record.byteCount >= 96 + record.payloadCount
                && record.byteCount
                    <= JournalRecord.byteCount(payload: JournalRecord.largestPayload(of: record.kind)),
            "a record of \(record.byteCount) bytes with \(record.payloadCount)")
        let again = encoding(record.byteCount) { record.encode(into: &$0) }
        try demand(
            again.prefix(JournalRecord.prefixByteCount) == bytes.prefix(JournalRecord.prefixByteCount),
            "a record that is written otherwise")
    }

    private func readNote(_ bytes: [UInt8]) throws(Finding) {
        if let note = try? DuplicateNote(decoding: bytes) {
            try demand(note.encoded == bytes, "a duplicate that is written otherwise")
        }
        guard let note = try? TombstoneNote(decoding: bytes) else { return }
        try demand(note.encoded == bytes, "a note that is written otherwise")
    }

    private func encoding(_ count: Int, _ encode: (inout MutableRawSpan) -> Void) -> [UInt8] {
        var bytes = [UInt8](repeating: 0xEE, count: count)
        var elements = bytes.mutableSpan
        var span = unsafe elements.mutableBytes
        encode(&span)
        return bytes
    }
}
