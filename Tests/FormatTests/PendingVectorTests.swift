import Testing

@testable import Format

@Suite struct PendingVectorTests {
    private struct Case: Decodable {
        let fileID: String
        let generation: UInt64
        let places: [String]
        let value: String
    }

    private struct Refused: Decodable {
        let why: String
        let value: String
    }

    private struct File: Decodable {
        let cases: [Case]
        let refused: [Refused]
    }

    @Test func areMadeAndRead() throws {
        let file: File = try vectors("pending")
        for item in file.cases {
            let places = item.places.map { NameBinding(bytes($0)) }
            let made = PendingBindings(places, upTo: item.generation)
            let identifier = FileIdentifier(bytes(item.fileID))
            #expect(made.signed(of: identifier).dropLast(16) == bytes(item.value).dropLast(16))
            #expect(made.signed(of: identifier).suffix(16) == bytes(item.fileID)[...])

            let read = try unsafe PendingBindings(decoding: bytes(item.value).span.bytes)
            #expect(read == made)
            #expect(bytes(item.value).count <= PendingBindings.mostBytes)
            var header = FileHeader(
                volume: VolumeIdentifier([UInt8](1...16)), file: identifier,
                protection: FileProtection(protectionClass: .none, isExplicit: false, wrapAlgorithm: 1, wrap: []),
                binding: NameBinding([UInt8](1...16)))
            header.generation = item.generation
            #expect(places.allSatisfy { read.hold($0, for: header) })
            #expect(!read.hold(header.bindings[0], for: header))
            guard item.generation < .max else { continue }
            header.generation += 1
            #expect(!read.hold(places[0], for: header))
        }
    }

    /// The faults that a look at the value alone finds; the MAC is the reader's and the vault's to check.
    @Test(arguments: [
        "a byte short", "a byte long", "empty", "version 1", "version 3", "no bindings", "14 bindings",
        "more bindings than it says", "fewer bindings than it says",
    ]) func whatIsNoneIsRefused(_ why: String) throws {
        let file: File = try vectors("pending")
        let item = try #require(file.refused.first { $0.why == why })
        #expect(throws: FormatError.self) { try unsafe PendingBindings(decoding: bytes(item.value).span.bytes) }
    }
}
