import Crypto
import Foundation
import Format
import Posix
import TestSupport
import Testing

@testable import Freshness

/// The vectors that tools/make-vectors.py writes by docs/FORMAT.md alone.
@Suite struct MarkVectorTests {
    private struct Vectors: Decodable {
        struct Record: Decodable {
            let record: String
            let key: String
            let generation: UInt64
            let blocks: UInt32
            let digest: UInt32
            let time: UInt32
            let `class`: UInt8
            let gone: Bool
            let kind: UInt8
        }
        struct Run: Decodable {
            let record: String
            let key: String
            let number: UInt64
            let count: UInt32
            let first: UInt64
        }
        struct Flaw: Decodable {
            let why: String
            let marks: String
            let read: Int
        }
        let volumeID: String
        let marksKey: String
        let fileID: String
        let place: String
        let key: String
        let records: [Record]
        let whole: String
        let damaged: [Flaw]
        let runs: [Run]
        let wholeRuns: String
    }

    private let vectors: Vectors
    private let folder = try! TemporaryFolder()

    init() throws {
        try SecureHeap.initialize()
        let url = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../Vectors/marks.json")
        vectors = try JSONDecoder().decode(Vectors.self, from: Data(contentsOf: url))
    }

    private func bytes(_ text: String) -> [UInt8] {
        stride(from: 0, to: text.count, by: 2).map { at in
            let start = text.index(text.startIndex, offsetBy: at)
            return UInt8(text[start..<text.index(start, offsetBy: 2)], radix: 16)!
        }
    }

    private func read(_ text: String) throws -> [MarkEntry] {
        let path = folder.path("marks")
        try Data(bytes(text)).write(to: URL(filePath: path))
        var found: [MarkEntry] = []
        _ = try MarkFile(
            path: Path(path), volume: VolumeIdentifier(bytes(vectors.volumeID)),
            cipher: DeterministicCipher(key: Secret(copying: unsafe bytes(vectors.marksKey).span.bytes)), most: 100
        ) { found.append($0) }
        return found
    }

    private func decoded() throws -> [MarkRecord] {
        try vectors.records.map { item in
            let record = unsafe MarkRecord(bytes(item.record).span.bytes, at: 0)
            return try #require(record)
        }
    }

    private func number(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) } }

    @Test func records() throws {
        for (record, item) in zip(try decoded(), vectors.records) {
            #expect(record.mark.generation == item.generation && record.mark.blocks == item.blocks)
            #expect(
                record.mark.digest == item.digest && record.mark.time == item.time && record.mark.isGone == item.gone)
            #expect(record.mark.protectionClass.rawValue == item.class && record.mark.kind.rawValue == item.kind)
            #expect(record.key.first == number(bytes(item.key)[..<8]))
            var encoded = [UInt8](repeating: 0xEE, count: MarkRecord.byteCount)
            do {
                var elements = encoded.mutableSpan
                var span = unsafe elements.mutableBytes
                record.store(into: &span, at: 0)
            }
            #expect(encoded == bytes(item.record))
        }
        let key = MarkKey(FileIdentifier(bytes(vectors.fileID)), at: NameBinding(bytes(vectors.place)))
        #expect(key.first == number(bytes(vectors.key)[..<8]))
        #expect(UInt64(key.second) == number(bytes(vectors.key)[8...]))
    }

    private func decodedRuns() throws -> [BlockRecord] {
        try vectors.runs.map { item in
            let record = unsafe BlockRecord(bytes(item.record).span.bytes, at: 0)
            return try #require(record)
        }
    }

    @Test func recordsOfBlocks() throws {
        for (record, item) in zip(try decodedRuns(), vectors.runs) {
            #expect(record.run == BlockRun(first: item.first, count: item.count, number: item.number))
            let key = bytes(item.key)
            #expect(record.key == MarkKey(number(key[..<8]), UInt32(number(key[8...]))))
            var encoded = [UInt8](repeating: 0xEE, count: MarkRecord.byteCount)
            do {
                var elements = encoded.mutableSpan
                var span = unsafe elements.mutableBytes
                record.store(into: &span, at: 0)
            }
            #expect(encoded == bytes(item.record))
            let mark = unsafe MarkRecord(encoded.span.bytes, at: 0)
            #expect(mark == nil)
        }
    }

    @Test func wholeFilesOfBlocks() throws {
        let (found, expected) = (try read(vectors.wholeRuns), try decodedRuns().map { MarkEntry.blocks($0) })
        #expect(found == expected)
    }

    @Test func wholeFiles() throws {
        let (found, expected) = (try read(vectors.whole), try decoded().map { MarkEntry.mark($0.key, $0.mark) })
        #expect(found == expected)
    }

    @Test func damagedFiles() throws {
        for item in vectors.damaged {
            let count = try read(item.marks).count
            #expect(count == item.read, "\(item.why)")
        }
    }
}
