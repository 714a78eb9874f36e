import Foundation
import Testing

@testable import Format

/// Tests/Vectors: what docs/FORMAT.md says, worked out by tools/make-vectors.py without Latchkey.
@Suite struct VectorTests {
    private struct Vectors<Case: Decodable, Refused: Decodable>: Decodable {
        let cases: [Case]
        let refused: [Refused]

        init(file: String) throws {
            let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            let json = try Data(contentsOf: tests.appendingPathComponent("Vectors/\(file).json"))
            self = try JSONDecoder().decode(Self.self, from: json)
        }
    }

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

    private struct Header: Decodable {
        let `class`: UInt8
        let flags: UInt8
        let fileID: String
        let wrap: String
        let wrapAlgorithm: UInt8
        let place: String
        let secondPlace: String
        let length: UInt64
        let generation: UInt64
        let firstSparseBlock: UInt64
        let header: String
    }

    private struct RefusedHeader: Decodable {
        let why: String
        let by: String
        let header: String
    }

    @Test func headers() throws {
        let vectors = try Vectors<Header, RefusedHeader>(file: "headers")
        for item in vectors.cases {
            let raw = bytes(item.header)
            let header = try unsafe FileHeader(decoding: raw.span.bytes)
            #expect(header.file.bytes == bytes(item.fileID))
            #expect(header.protectionClass.rawValue == item.class)
            #expect(header.flags.rawValue == item.flags)
            #expect(header.wrapAlgorithm == item.wrapAlgorithm)
            #expect(header.wrap == bytes(item.wrap))
            #expect(header.place.bytes == bytes(item.place))
            #expect(header.secondPlace.bytes == bytes(item.secondPlace))
            #expect(header.length == item.length)
            #expect(header.generation == item.generation)
            #expect(header.firstSparseBlock == item.firstSparseBlock)
            var encoded = [UInt8](repeating: 0xFF, count: FileHeader.signedByteCount)
            var elements = encoded.mutableSpan
            var span = unsafe elements.mutableBytes
            header.encode(into: &span)
            #expect(encoded == Array(raw.prefix(FileHeader.signedByteCount)))
        }
        for item in vectors.refused where item.by == "fields" {
            let raw = bytes(item.header)
            #expect(throws: FormatError.self, "\(item.why)") { try unsafe FileHeader(decoding: raw.span.bytes) }
        }
    }

    private struct Record: Decodable {
        let directoryID: String
        let `class`: UInt8
        let explicit: Bool
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
            #expect(record.isExplicit == item.explicit)
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

    private func bytes(_ hexadecimal: String) -> [UInt8] {
        let digits = hexadecimal.utf8.compactMap { Character(Unicode.Scalar($0)).hexDigitValue.map(UInt8.init) }
        return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }
}
