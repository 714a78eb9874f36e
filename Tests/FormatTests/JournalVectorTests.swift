import Testing

@testable import Format

/// Tests/Vectors/journal.json: the journal's head and records, as docs/FORMAT.md says.
@Suite struct JournalVectorTests {
    // The vectors keep the field names of the time when they were made.
    private struct Journal: Decodable {
        enum CodingKeys: String, CodingKey {
            case heads, records
            case tombstones = "asides"
        }

        let heads: Vectors<Head, Refused>
        let records: Vectors<Record, Refused>
        let tombstones: Vectors<Tombstone, Refused>
    }

    private struct Head: Decodable {
        enum CodingKeys: String, CodingKey {
            case parts, runs, opened, windows, head
            case partSize = "halfSize"
            case nextEpoch = "nextLap"
        }

        let partSize: UInt64
        let parts: Int?
        let runs: Bool?
        let opened: UInt64
        let nextEpoch: UInt64
        let windows: [Window]
        let head: String
    }

    private struct Window: Decodable {
        let from: UInt64
        let to: UInt64
    }

    private struct Record: Decodable {
        enum CodingKeys: String, CodingKey {
            case type, position, fileID, generation, number, payload, record
            case epoch = "lap"
        }

        let type: UInt8
        let epoch: UInt64
        let position: UInt64
        let fileID: String
        let generation: UInt64
        let number: UInt64
        let payload: String
        let record: String
    }

    private struct Tombstone: Decodable {
        enum CodingKeys: String, CodingKey {
            case folder, name, payload
            case tombstone = "aside"
        }

        let folder: String
        let tombstone: String
        let name: String
        let payload: String
    }

    private struct Refused: Decodable {
        let why: String
        let by: String
        let head: String?
        let record: String?
        let payload: String?
    }

    @Test func heads() throws {
        for item in (try vectors("journal") as Journal).heads.cases {
            let raw = bytes(item.head)
            let head = try unsafe JournalHead(decoding: raw.span.bytes)
            #expect(head.partSize == item.partSize)
            #expect(head.parts == item.parts ?? 2)
            #expect(head.hasBlockRuns == item.runs ?? false)
            #expect(head.opened == item.opened)
            #expect(head.nextEpoch == item.nextEpoch)
            #expect(head.windows == item.windows.map { JournalHead.Window(from: $0.from, to: $0.to) })
            #expect(head.offset(ofPart: 1) == 4096 + item.partSize)
            var encoded = [UInt8](repeating: 0xFF, count: JournalHead.signedByteCount)
            var elements = encoded.mutableSpan
            var span = unsafe elements.mutableBytes
            head.encode(into: &span)
            #expect(encoded == Array(raw.prefix(JournalHead.signedByteCount)))
        }
    }

    @Test func refusedHeads() throws {
        for item in (try vectors("journal") as Journal).heads.refused where item.by == "fields" {
            let raw = bytes(try #require(item.head))
            #expect(throws: FormatError.self, "\(item.why)") { try unsafe JournalHead(decoding: raw.span.bytes) }
        }
    }

    @Test func records() throws {
        for item in (try vectors("journal") as Journal).records.cases {
            let raw = bytes(item.record)
            let payload = bytes(item.payload)
            let record = try unsafe JournalRecord(decoding: raw.span.bytes)
            #expect(record.kind.rawValue == item.type)
            #expect(record.epoch == item.epoch)
            #expect(record.position == item.position)
            #expect(record.file.bytes == bytes(item.fileID))
            #expect(record.generation == item.generation)
            #expect(record.number == item.number)
            #expect(record.payloadCount == payload.count)
            #expect(record.byteCount == raw.count)
            #expect(Array(raw[JournalRecord.prefixByteCount...].prefix(payload.count)) == payload)
            // Everything but the payload and the MAC.
            var encoded = raw
            for index in 0..<JournalRecord.prefixByteCount { encoded[index] = 0xFF }
            for index in JournalRecord.prefixByteCount + payload.count..<raw.count - JournalRecord.tagByteCount {
                encoded[index] = 0xFF
            }
            var elements = encoded.mutableSpan
            var span = unsafe elements.mutableBytes
            record.encode(into: &span)
            let signed = raw.count - JournalRecord.tagByteCount
            #expect(encoded.prefix(signed) == raw.prefix(signed))
        }
    }

    @Test func refusedRecords() throws {
        for item in (try vectors("journal") as Journal).records.refused where item.by == "fields" {
            let raw = bytes(try #require(item.record))
            #expect(throws: FormatError.self, "\(item.why)") { try unsafe JournalRecord(decoding: raw.span.bytes) }
        }
    }

    @Test func tombstoneNotes() throws {
        let vectors = (try vectors("journal") as Journal).tombstones
        for item in vectors.cases {
            let note = try TombstoneNote(decoding: bytes(item.payload))
            #expect(note.path == Array(item.folder.utf8))
            #expect(note.tombstone == Array(item.tombstone.utf8))
            #expect(note.name == Array(item.name.utf8))
            #expect(note.encoded == bytes(item.payload))
        }
        for item in vectors.refused where item.by == "form" {
            let raw = bytes(try #require(item.payload))
            #expect(throws: FormatError.self, "\(item.why)") { try TombstoneNote(decoding: raw) }
        }
    }
}
