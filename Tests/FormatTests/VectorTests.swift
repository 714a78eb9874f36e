import Testing

@testable import Format

/// Tests/Vectors: the examples of docs/FORMAT.md, computed by tools/make-vectors.py without Latchkey.
@Suite struct VectorTests {
    private struct Text: Decodable {
        let why: String?
        let raw: String?
        let text: String
    }

    @Test func base64() throws {
        let vectors = try Vectors<Text, Text>(file: "base64url")
        for item in vectors.cases {
            let raw = try #require(item.raw.map(bytes))
            #expect(String(decoding: Base64URL.encode(raw), as: UTF8.self) == item.text)
            #expect(Base64URL.decode(Array(item.text.utf8)) == raw)
        }
        for item in vectors.refused {
            #expect(Base64URL.decode(Array(item.text.utf8)) == nil, "\(item.why ?? "")")
        }
    }

    private struct Protection: Decodable {
        let `class`: UInt8
        let explicit: Bool
        let wrapAlgorithm: UInt8
        let wrap: String
    }

    private struct Standing: Decodable {
        let place: String
        let `class`: UInt8
        let explicit: Bool
        let wrap: String
    }

    private struct Modified: Decodable {
        let seconds: Int64
        let nanoseconds: UInt32
        let stamp: Int64
        let shown: [Shown]
    }

    private struct Changed: Decodable {
        let seconds: Int64
        let nanoseconds: UInt32
        let written: [Int64]
        let shown: [Shown]
    }

    /// Pairs of seconds and nanoseconds.
    private struct Shown: Decodable {
        let backing: [Int64]
        let time: [Int64]
    }

    private struct Header: Decodable {
        let fileID: String
        let first: Protection
        let second: Protection?
        let places: [String]
        let length: UInt64
        let provisionalLength: UInt64
        let generation: UInt64
        let firstSparseBlock: UInt64
        let numbered: Bool
        let modified: Modified
        let changed: Changed
        let header: String
        let at: [Standing]
        let notAt: [String]
    }

    private struct RefusedHeader: Decodable {
        let why: String
        let by: String
        let header: String
    }

    private func time(_ parts: [Int64]) -> FileTime {
        FileTime(seconds: parts[0], nanoseconds: UInt32(parts[1]))
    }

    private func expect(_ protection: FileProtection, _ vector: Protection) {
        #expect(protection.protectionClass.rawValue == vector.class)
        #expect(protection.isExplicit == vector.explicit)
        #expect(protection.wrapAlgorithm == vector.wrapAlgorithm)
        #expect(protection.wrap == bytes(vector.wrap))
    }

    @Test func headers() throws {
        for item in try Vectors<Header, RefusedHeader>(file: "headers").cases {
            let raw = bytes(item.header)
            let header = try unsafe FileHeader(decoding: raw.span.bytes)
            #expect(header.file.bytes == bytes(item.fileID))
            expect(header.protection, item.first)
            #expect((header.pending == nil) == (item.second == nil))
            if let pending = header.pending, let second = item.second { expect(pending, second) }
            #expect(header.bindings.map(\.bytes) == item.places.map(bytes))
            #expect(header.length == item.length)
            #expect(header.provisionalLength == item.provisionalLength)
            #expect(header.generation == item.generation)
            #expect(header.firstSparseBlock == item.firstSparseBlock)
            #expect(header.numbersBlocks == item.numbered)
            let modified = FileTime(seconds: item.modified.seconds, nanoseconds: item.modified.nanoseconds)
            #expect(header.modified == modified && header.stamp == item.modified.stamp)
            for shown in item.modified.shown {
                #expect(header.shownTime(of: time(shown.backing)) == time(shown.time))
            }
            let changed = FileTime(seconds: item.changed.seconds, nanoseconds: item.changed.nanoseconds)
            #expect(header.changed == changed && header.written == time(item.changed.written))
            for shown in item.changed.shown {
                #expect(header.shownChange(of: time(shown.backing)) == time(shown.time))
            }
            var encoded = [UInt8](repeating: 0xFF, count: FileHeader.signedByteCount)
            var elements = encoded.mutableSpan
            var span = unsafe elements.mutableBytes
            header.encode(into: &span)
            #expect(encoded == Array(raw.prefix(FileHeader.signedByteCount)))
        }
    }

    @Test func whatAHeaderSaysWhereTheFileIsFound() throws {
        for item in try Vectors<Header, RefusedHeader>(file: "headers").cases {
            let raw = bytes(item.header)
            let header = try unsafe FileHeader(decoding: raw.span.bytes)
            for standing in item.at {
                let place = NameBinding(bytes(standing.place))
                #expect(header.belongs(at: place))
                let resolved = header.resolved(at: place)
                #expect(resolved.pending == nil)
                #expect(resolved.protectionClass.rawValue == standing.class)
                #expect(resolved.protection.isExplicit == standing.explicit)
                #expect(resolved.protection.wrap == bytes(standing.wrap))
            }
            for place in item.notAt { #expect(!header.belongs(at: NameBinding(bytes(place)))) }
        }
    }

    @Test func refusedHeaders() throws {
        for item in try Vectors<Header, RefusedHeader>(file: "headers").refused where item.by == "fields" {
            let raw = bytes(item.header)
            #expect(throws: FormatError.self, "\(item.why)") { try unsafe FileHeader(decoding: raw.span.bytes) }
        }
    }

    private struct Record: Decodable {
        let directoryID: String
        let `class`: UInt8
        let explicit: Bool
        let generation: UInt64
        let record: String
        let target: String
    }

    private struct RefusedRecord: Decodable {
        let target: String
    }

    @Test func directoryRecords() throws {
        for item in try Vectors<Record, RefusedRecord>(file: "directories").cases {
            let raw = bytes(item.record)
            let record = try unsafe DirectoryRecord(decoding: raw.span.bytes)
            #expect(record.directory.bytes == bytes(item.directoryID))
            #expect(record.defaultClass.rawValue == item.class)
            #expect(record.isExplicit == item.explicit && record.generation == item.generation)
            #expect(record.encoded == raw)
            #expect(item.target.utf8.count == DirectoryRecord.sealedTextCount)
        }
    }

    private struct BackingNameCase: Decodable {
        let backingName: String
        let sealed: String?
        let sidecar: String?
    }

    @Test func backingNames() throws {
        for item in try Vectors<BackingNameCase, BackingNameCase>(file: "names").cases {
            let name = Array(item.backingName.utf8)
            if item.sidecar == "" {
                #expect(BackingName(name) == .entry(ciphertext: bytes(item.sealed ?? "")))
            } else {
                #expect(BackingName(name) == .longEntry)
                #expect(BackingName(name + Array(".name".utf8)) == .sidecar)
            }
        }
    }
}
