import Testing

@testable import Format

@Suite struct AttributeSidecarTests {
    private struct Attribute: Decodable {
        let name: String
        let value: String
    }

    private struct Case: Decodable {
        let owner: String
        let name: String
        let attributes: [Attribute]
        let shared: Bool
        let plain: String
    }

    private struct Refused: Decodable {
        let why: String
        let plain: String
    }

    @Test func areMadeAndRead() throws {
        for item in try Vectors<Case, Refused>(file: "sidecars").cases {
            var made = AttributeSidecar()
            made.isShared = item.shared
            // In another order than they are written.
            for attribute in item.attributes.reversed() { made[Array(attribute.name.utf8)] = bytes(attribute.value) }
            #expect(made.encoded == bytes(item.plain))
            #expect(made.encodedCount == made.encoded.count)
            #expect(try unsafe AttributeSidecar(decoding: bytes(item.plain).span.bytes) == made)
            #expect(BackingName.attributesOwner(Array(item.name.utf8)) == bytes(item.owner))
        }
    }

    @Test func whatIsNoneIsRefused() throws {
        for item in try Vectors<Case, Refused>(file: "sidecars").refused {
            #expect(throws: FormatError.self, "\(item.why)") {
                try unsafe AttributeSidecar(decoding: bytes(item.plain).span.bytes)
            }
        }
    }

    @Test func attributesAreReplacedAndRemoved() {
        var sidecar = AttributeSidecar()
        for name in ["c", "a", "b"] { sidecar[Array(name.utf8)] = [1] }
        sidecar[Array("b".utf8)] = [2, 3]
        #expect(sidecar.attributes.map(\.name) == ["a", "b", "c"].map { Array($0.utf8) })
        #expect(sidecar[Array("b".utf8)] == [2, 3] && sidecar[Array("d".utf8)] == nil)
        sidecar[Array("a".utf8)] = nil
        sidecar[Array("d".utf8)] = nil
        #expect(sidecar.attributes.map(\.name) == ["b", "c"].map { Array($0.utf8) })
    }

    @Test(arguments: [
        "lk.attributes", "lk.attributes.", "lk.attributes.00", "lk.attributes.0000000000000000000000000000000",
        "lk.attributes.000000000000000000000000000000000", "lk.attributes.0000000000000000000000000000000G",
        "lk.attributes.000000000000000000000000000000AA", "lk.target.00000000000000000000000000000000",
    ]) func otherNamesHaveNoOwner(name: String) {
        #expect(BackingName.attributesOwner(Array(name.utf8)) == nil)
    }

    @Test func theFolderIsTheVaults() {
        #expect(BackingName(Array("lk.attributes".utf8)) == .reserved)
        #expect(BackingName(Array("lk.attributes.00000000000000000000000000000000".utf8)) == .foreign)
    }
}
