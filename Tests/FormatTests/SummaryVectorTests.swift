import Testing

@testable import Format

@Suite struct SummaryVectorTests {
    private struct Case: Decodable {
        let place: String
        let size: UInt64
        let stamp: Int64
        let `class`: UInt8
        let explicit: Bool
        let fileID: String
        let generation: UInt64
        let length: UInt64
        let modified: [Int64]
        let changed: [Int64]
        let written: [Int64]
        let summary: String
    }

    private struct Refused: Decodable {
        let why: String
        let summary: String
    }

    private struct File: Decodable {
        let cases: [Case]
        let refused: [Refused]
    }

    private func time(_ pair: [Int64]) -> FileTime { FileTime(seconds: pair[0], nanoseconds: UInt32(pair[1])) }

    @Test func areMadeAndRead() throws {
        let file: File = try vectors("summaries")
        for item in file.cases {
            var header = FileHeader(
                volume: VolumeIdentifier([UInt8](1...16)), file: FileIdentifier(bytes(item.fileID)),
                protection: FileProtection(
                    protectionClass: ProtectionClass(rawValue: item.class)!, isExplicit: item.explicit,
                    wrapAlgorithm: 1, wrap: []),
                binding: NameBinding(bytes(item.place)))
            header.generation = item.generation
            header.modified = time(item.modified)
            header.changed = time(item.changed)
            header.written = time(item.written)
            let made = try #require(FileSummary(header))
            let signed = made.signed(at: header.bindings[0], size: item.size, stamp: item.stamp)
            #expect(unsafe signed.span.bytes.array(0..<50) == Array(bytes(item.summary).prefix(50)))
            #expect(unsafe NameBinding(signed.span.bytes, at: 50) == header.bindings[0])

            let read = try unsafe FileSummary(decoding: bytes(item.summary).span.bytes)
            #expect(read == made)
            #expect(read.shownTime == header.modified)
            for backing in [header.written, FileTime(seconds: header.written.seconds + 1, nanoseconds: 999_999_999)] {
                #expect(read.shownChange(of: backing) == header.shownChange(of: backing))
            }
            #expect(BlockGeometry.storedLength(forBackingSize: item.size) == item.length)
            #expect(BlockGeometry.backingSize(forLength: item.length) == item.size)
        }
    }

    /// The faults that a check of the summary alone finds; the MAC is the reader's and the vault's to check.
    @Test(arguments: ["a byte short", "a byte long", "empty", "version 2", "class 0", "class 5"])
    func whatIsNoneIsRefused(_ why: String) throws {
        let file: File = try vectors("summaries")
        let item = try #require(file.refused.first { $0.why == why })
        #expect(throws: FormatError.self) { try unsafe FileSummary(decoding: bytes(item.summary).span.bytes) }
    }

    /// Without a whole binding, and without times in range, there is no summary.
    @Test func aHeaderThatSaysMoreHasNone() {
        var header = FileHeader(
            volume: VolumeIdentifier([UInt8](1...16)), file: FileIdentifier([UInt8](1...16)),
            protection: FileProtection(protectionClass: .none, isExplicit: false, wrapAlgorithm: 1, wrap: []),
            binding: NameBinding([UInt8](1...16)))
        #expect(FileSummary(header) != nil)
        for seconds in [Int64.max, .min, 9_223_372_037, -9_223_372_038] as [Int64] {
            header.modified.seconds = seconds
            #expect(FileSummary(header) == nil)
        }
        header.modified = .zero
        header.bindings.append(NameBinding([UInt8](2...17)))
        #expect(FileSummary(header) == nil)
        header.pending = header.protection
        #expect(FileSummary(header) == nil)
        header.pending = nil
        header.bindings = []
        #expect(FileSummary(header) == nil)
    }
}
