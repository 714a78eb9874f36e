import Format
import Testing

/// A machine's copy of a directory's record, without its cipher.
@Suite struct RecordCopyTests {
    private static func record(_ number: UInt8, _ generation: UInt64 = 3) -> DirectoryRecord {
        DirectoryRecord(
            directory: DirectoryIdentifier([UInt8](repeating: number, count: 16)), defaultClass: .complete,
            isExplicit: true, generation: generation)
    }

    private static let tag = [UInt8](repeating: 0xEE, count: 16)

    @Test func roundTrip() throws {
        var copy = RecordCopy(
            record: Self.record(1), others: [Self.record(2), Self.record(1)], moment: 0x0102_0304_0506_0708)
        #expect(copy.others == [Self.record(2)])
        let noted = [[1, 2, 3], [4], [4]].map { copy.note(longName: $0) }
        #expect(noted == [true, true, false])
        let file = copy.encoded(sealed: copy.plain + Self.tag)
        let parts = try #require(RecordCopy.parts(of: file))
        #expect(parts.sealed == copy.plain + Self.tag)
        #expect(try RecordCopy(plain: copy.plain, longNames: parts.longNames) == copy)
        #expect(copy.plain.prefix(9) == [8, 7, 6, 5, 4, 3, 2, 1, 1])
    }

    /// Of too many, the earliest go.
    @Test func bounds() throws {
        var copy = RecordCopy(record: Self.record(0), moment: 0)
        for number in UInt8(1)...40 { copy.note(Self.record(number)) }
        #expect(copy.others.map(\.directory) == (26...40).map { Self.record($0).directory })
        for number in 0..<300 {
            let isNew = copy.note(longName: [UInt8](repeating: UInt8(number & 0xFF), count: 300 + number / 256))
            #expect(isNew)
        }
        #expect(copy.longNames.count == 100 && copy.longNames.last?.count == 301)
        let file = copy.encoded(sealed: copy.plain + Self.tag)
        #expect(file.count <= RecordCopy.largestSize && RecordCopy.parts(of: file)?.longNames == copy.longNames)
    }

    @Test func whatIsNone() {
        let copy = RecordCopy(record: Self.record(1), moment: 7, longNames: [[1, 2, 3]])
        let file = copy.encoded(sealed: copy.plain + Self.tag)
        for count in 0..<file.count where count != file.count - 5 {
            #expect(RecordCopy.parts(of: Array(file.prefix(count))) == nil, "\(count)")
        }
        #expect(RecordCopy.parts(of: file + [0]) == nil)
        #expect(RecordCopy.parts(of: file + [0, 0]) == nil)
        #expect(RecordCopy.parts(of: file + [UInt8](repeating: 1, count: 40_000)) == nil)
        for count in [0, 8, 35, 37, 63, 8 + 17 * 28] {
            #expect(throws: FormatError.self) {
                try RecordCopy(plain: [UInt8](repeating: 1, count: count), longNames: [])
            }
        }
    }

    @Test(arguments: [
        ("lk.dir.0123456789abcdef", true), ("lk.dir.0123456789ABCDEF", false), ("lk.dir.0123456789abcde", false),
        ("lk.dir.new", false), ("lk.dir", false), ("lk.dir.0123456789abcdef0", false),
    ])
    func names(name: String, isCopy: Bool) {
        #expect((BackingName.machine(ofRecordCopy: Array(name.utf8)) != nil) == isCopy)
        #expect(
            BackingName(Array(name.utf8)) == (isCopy || ["lk.dir", "lk.dir.new"].contains(name) ? .reserved : .foreign))
    }

    @Test func journals() {
        #expect(
            BackingName.machine(ofJournal: Array("lk.journal.0123456789abcdef".utf8))?.description == "0123456789abcdef"
        )
        #expect(BackingName(Array("lk.journal.0123456789abcdef".utf8)) == .reserved)
        #expect(BackingName.machine(ofJournal: Array("lk.journal".utf8)) == nil)
    }

    @Test func numbers() {
        #expect(MachineTag([1, 2, 3, 4, 5, 6, 7, 8]).number == 0x0403_0201)
        #expect(MachineTag([0, 0, 0, 0, 5, 6, 7, 8]).number == 1)
    }
}
