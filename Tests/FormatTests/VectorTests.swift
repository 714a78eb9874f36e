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
