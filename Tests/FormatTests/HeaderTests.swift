import Testing

@testable import Format

private func sampleHeader() -> FileHeader {
    var header = FileHeader(
        volume: VolumeIdentifier([UInt8](1...16)), file: FileIdentifier([UInt8](17...32)),
        protection: FileProtection(
            protectionClass: .completeUnlessOpen, isExplicit: true, wrapAlgorithm: 2,
            wrap: [UInt8](repeating: 0xA5, count: 72)),
        binding: NameBinding([UInt8](33...48)))
    header.length = 123_456_789
    header.provisionalLength = 123_456_789
    header.generation = 7
    header.modified = FileTime(seconds: 0x0102, nanoseconds: 0x0304)
    header.stamp = 0x0506
    header.changed = FileTime(seconds: 0x0708, nanoseconds: 0x090A)
    header.written = FileTime(seconds: 0x0B0C, nanoseconds: 0x0D0E)
    return header
}

private func encoded(_ header: FileHeader) -> [UInt8] {
    var bytes = [UInt8](repeating: 0xFF, count: FileHeader.byteCount)
    var elements = bytes.mutableSpan
    var span = unsafe elements.mutableBytes
    header.encode(into: &span)
    return bytes
}

private func decoded(_ bytes: [UInt8]) throws(FormatError) -> FileHeader {
    try unsafe FileHeader(decoding: bytes.span.bytes)
}

@Suite struct HeaderTests {
    @Test func roundTrip() throws {
        var header = sampleHeader()
        #expect(try decoded(encoded(header)) == header)
        header.bindings.append(NameBinding([UInt8](49...64)))
        header.pending = FileProtection(
            protectionClass: .none, isExplicit: false, wrapAlgorithm: 1, wrap: [UInt8](repeating: 0x5A, count: 40))
        header.firstSparseBlock = 5
        header.provisionalLength += 1
        header.modified = FileTime(seconds: -1, nanoseconds: 999_999_999)
        header.stamp = .min
        #expect(try decoded(encoded(header)) == header)
    }

    /// In the middle of a rename, when it is unknown under which name the file was.
    @Test(arguments: [ProtectionClass.complete, .none]) func theStricterClassHolds(pending: ProtectionClass) {
        var header = sampleHeader()
        header.pending = FileProtection(
            protectionClass: pending, isExplicit: false, wrapAlgorithm: 1, wrap: [UInt8](repeating: 0x5A, count: 40))
        header.resolveStrictly()
        #expect(header.protectionClass == (pending == .complete ? .complete : .completeUnlessOpen))
        #expect(header.protection.wrap.count == (pending == .complete ? 40 : 72))
        #expect(header.pending == nil)
    }

    @Test func fieldsLieWhereTheFormatSays() {
        let bytes = encoded(sampleHeader())
        #expect(Array(bytes[0..<8]) == Array("LKFILE\r\n".utf8))
        #expect(bytes[8...11] == [1, 0, 0, 2])
        #expect(Array(bytes[24..<40]) == [UInt8](1...16))
        #expect(Array(bytes[40..<56]) == [UInt8](17...32))
        #expect(bytes[56...63] == [2, 1, 2, 1, 72, 0, 0, 0])
        #expect(bytes[64] == 7)
        #expect(bytes[72...75] == [0x15, 0xCD, 0x5B, 0x07])
        #expect(bytes[88...91] == [0x15, 0xCD, 0x5B, 0x07])
        #expect(bytes[100...103] == [4, 3, 0, 0])
        #expect(Array(bytes[104..<120]) == [UInt8](33...48))
        #expect(bytes[312...327] == [8, 7, 0, 0, 0, 0, 0, 0, 0x0A, 9, 0, 0, 0, 0, 0, 0])
        #expect(bytes[328...343] == [0x0C, 0x0B, 0, 0, 0, 0, 0, 0, 0x0E, 0x0D, 0, 0, 0, 0, 0, 0])
        #expect(bytes[344...359] == [2, 1, 0, 0, 0, 0, 0, 0, 6, 5, 0, 0, 0, 0, 0, 0])
        #expect(bytes[360] == 0xA5 && bytes[431] == 0xA5 && bytes[432] == 0)
    }

    @Test(arguments: [
        0, 8, 10, 20, 56, 57, 59, 61, 62, 63, 79, 95, 96, 97, 98, 103, 120, 311, 323, 324, 327, 339, 340, 343, 432, 479,
    ])
    func refusesAForeignByte(at offset: Int) {
        var bytes = encoded(sampleHeader())
        bytes[offset] = 0x77
        #expect(throws: FormatError.self) { try decoded(bytes) }
    }

    @Test func showsWhatItKeepsWhileTheBackingFileHasTheStamp() {
        let header = sampleHeader()
        #expect(header.shownTime(of: FileTime(seconds: 0x0506, nanoseconds: 0)) == header.modified)
        for other in [(0x0506, 1), (0x0507, 0), (0x0102, 0x0304), (0, 0)] as [(Int64, UInt32)] {
            let other = FileTime(seconds: other.0, nanoseconds: other.1)
            #expect(header.shownTime(of: other) == other)
        }
        var fresh = sampleHeader()
        (fresh.modified, fresh.stamp) = (.zero, 0)
        #expect(fresh.shownTime(of: .zero) == .zero)
    }

    @Test func showsTheTimeOfChangeThatItKeepsRightBehindItsWriting() {
        var header = sampleHeader()
        for (seconds, nanoseconds) in [(0x0B0C, 0x0D0E), (0x0B0C, 999_999_999), (0x0B0D, 0x0D0E)] as [(Int64, UInt32)] {
            let backing = FileTime(seconds: seconds, nanoseconds: nanoseconds)
            #expect(header.shownChange(of: backing) == header.changed)
        }
        for (seconds, nanoseconds) in [(0x0B0C, 0x0D0D), (0x0B0D, 0x0D0F), (0x0B0E, 0), (0, 0)] as [(Int64, UInt32)] {
            let backing = FileTime(seconds: seconds, nanoseconds: nanoseconds)
            #expect(header.shownChange(of: backing) == backing)
        }
        // A change in that second would not show, also where the file system's clock lags behind.
        for seconds in 0x0B0B...0x0B0E as ClosedRange<Int64> {
            #expect(header.hidesChange(now: FileTime(seconds: seconds, nanoseconds: 0)))
        }
        for seconds in [0x0B0A, 0x0B0F, .min, .max] as [Int64] {
            #expect(!header.hidesChange(now: FileTime(seconds: seconds, nanoseconds: 0)))
        }
        for end in [Int64.min, .max] {
            header.written = FileTime(seconds: end, nanoseconds: 1)
            #expect(header.shownChange(of: header.written) == header.changed)
            #expect(header.shownChange(of: .zero) == .zero)
        }
    }

    /// By two and even: FAT stores only even seconds, and rsync is told to forgive one.
    @Test func aStampIsAnotherSecondThanAnyThatWasSeen() {
        func stamp(_ seen: Int64...) -> Int64 {
            FileHeader.stamp(after: seen, now: 1000)
        }
        #expect(stamp(7, 998) == 1000)
        #expect(stamp(999) == 1002)
        #expect(stamp(1000) == 1002)
        #expect(stamp(1001, 3) == 1004)
        #expect(stamp(4599) == 4602)
        #expect(stamp(4600) == 4602)
        #expect(stamp(4603) == 4606)
        // The stamp of another clock, also at the ends of the range.
        #expect(stamp(1000 + 86_400) == 1002)
        #expect(stamp(.max) == 1002)
        #expect(stamp(.max, 1000) == 1002)
        #expect(stamp(.min) == 1000)
        #expect(FileHeader.stamp(after: [0], now: 1001) == 1002)
        #expect(FileHeader.stamp(after: [-5], now: -5) == -2)
        // A stamp an hour ahead waits to be replaced by a checkpoint.
        func isSpent(_ stamp: Int64) -> Bool { FileHeader.isSpent(stamp, now: 1000) }
        #expect(!isSpent(4598) && isSpent(4600) && isSpent(87_398) && !isSpent(87_400) && !isSpent(.max))
    }

    @Test func refusesAShortHeader() {
        let bytes = Array(encoded(sampleHeader()).dropLast())
        #expect(throws: FormatError.tooShort) { try decoded(bytes) }
    }

    @Test func isBoundToItsNamesOnly() {
        var header = sampleHeader()
        let first = header.bindings[0]
        let elsewhere = NameBinding([UInt8](repeating: 9, count: 16))
        #expect(header.belongs(at: first))
        #expect(!header.belongs(at: elsewhere))
        #expect(!header.belongs(at: .zero))
        header.bindings.append(elsewhere)
        #expect(header.belongs(at: elsewhere) && header.belongs(at: first))
        header.bindings = []
        #expect(header.belongs(at: .zero) && header.flags.contains(.manyLinks))
    }

    @Test func thePendingProtectionHoldsAtTheLastBinding() {
        var header = sampleHeader()
        let (first, last) = (header.bindings[0], NameBinding([UInt8](repeating: 9, count: 16)))
        let pending = FileProtection(
            protectionClass: .complete, isExplicit: false, wrapAlgorithm: 1, wrap: [UInt8](repeating: 1, count: 40))
        header.bindings.append(last)
        header.pending = pending
        #expect(header.resolved(at: last).protection == pending)
        #expect(header.resolved(at: first).protection == header.protection)
        #expect(header.resolved(at: first).pending == nil)
    }
}
