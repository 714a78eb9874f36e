import Testing

@testable import Format

@Suite struct GeometryTests {
    @Test(arguments: [0, 1, 100, 4095, 4096, 4097, 8191, 8192, 8193, 1 << 40] as [UInt64])
    func sizesMirrorEachOther(length: UInt64) {
        let size = BlockGeometry.backingSize(forLength: length)
        #expect(BlockGeometry.storedLength(forBackingSize: size) == length)
    }

    @Test func blocksLieBehindTheHeader() {
        #expect(BlockGeometry.backingSize(forLength: 0) == 512)
        #expect(BlockGeometry.backingSize(forLength: 1) == 545)
        #expect(BlockGeometry.backingSize(forLength: 4096) == 4640)
        #expect(BlockGeometry.backingOffset(ofBlock: 2) == 8768)
        #expect(BlockGeometry.blockCount(forLength: 4096) == 1)
        #expect(BlockGeometry.blockCount(forLength: 4097) == 2)
    }

    @Test(arguments: [0, 17, 511, 512, 513, 544] as [UInt64])
    func aTailWithoutPlaintextStoresNone(size: UInt64) {
        #expect(BlockGeometry.storedLength(forBackingSize: size) == 0)
    }
}

@Suite struct NameTests {
    @Test func base64URLOfTheRFC() {
        for (plain, text) in [
            ("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg"), ("fooba", "Zm9vYmE"),
            ("foobar", "Zm9vYmFy"),
        ] {
            #expect(Base64URL.encode(Array(plain.utf8)) == Array(text.utf8))
            #expect(Base64URL.decode(Array(text.utf8)) == Array(plain.utf8))
            #expect(Base64URL.encodedCount(plain.utf8.count) == text.utf8.count)
        }
        #expect(Base64URL.encode([0xFB, 0xFF]) == Array("-_8".utf8))
    }

    @Test(arguments: ["Z", "Zg==", "Zh", "Zm9=", "Zm 9", "Z+8", "Zm9v\n"])
    func base64URLRefuses(text: String) {
        #expect(Base64URL.decode(Array(text.utf8)) == nil)
    }

    @Test func namesAreSorted() {
        let hash = String(repeating: "A", count: 43)
        #expect(BackingName(Array("lk.dir".utf8)) == .reserved)
        #expect(BackingName(Array("lk.keybag".utf8)) == .reserved)
        #expect(BackingName(Array("lk.tmp.x".utf8)) == .temporary)
        #expect(BackingName(Array("lk.long.\(hash)".utf8)) == .longEntry)
        #expect(BackingName(Array("lk.long.\(hash).name".utf8)) == .sidecar)
        #expect(BackingName(Array("lk.long.\(hash).nam".utf8)) == .foreign)
        #expect(BackingName(Array("lk.long.short".utf8)) == .foreign)
        #expect(BackingName(Array("README.md".utf8)) == .foreign)
        #expect(BackingName(Array("short".utf8)) == .foreign)
        let ciphertext = [UInt8](repeating: 3, count: 17)
        #expect(BackingName(Base64URL.encode(ciphertext)) == .entry(ciphertext: ciphertext))
        #expect(BackingName(Base64URL.encode([UInt8](repeating: 3, count: 16))) == .foreign)
    }

    @Test func classNames() {
        for protectionClass in ProtectionClass.allCases {
            for text in [protectionClass.name, protectionClass.letter, protectionClass.appleName] {
                #expect(ProtectionClass(attributeValue: text) == protectionClass)
            }
        }
        #expect(ProtectionClass(attributeValue: "a") == .complete)
        for text in ["", "E", "Complete", "complete ", "complete\0"] {
            #expect(ProtectionClass(attributeValue: text) == nil)
        }
        #expect(ProtectionClass.complete.isStricter(than: .completeUnlessOpen))
    }

    @Test func directoryRecordRoundTrip() throws {
        let record = DirectoryRecord(
            directory: DirectoryIdentifier([UInt8](1...16)), defaultClass: .complete, isExplicit: true, generation: 7)
        let bytes = record.encoded
        #expect(bytes.count == DirectoryRecord.byteCount)
        #expect(try unsafe DirectoryRecord(decoding: bytes.span.bytes) == record)
        #expect(Base64URL.encodedCount(bytes.count + 16) == DirectoryRecord.sealedTextCount)
        for (offset, value) in [(16, 0), (16, 5), (17, 2), (25, 0x81), (26, 1), (27, 1)] {
            var bad = bytes
            bad[offset] = UInt8(value)
            #expect(throws: FormatError.self) { try unsafe DirectoryRecord(decoding: bad.span.bytes) }
        }
    }
}
