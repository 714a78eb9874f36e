import Posix
import Store
import Testing

@testable import CrashSimulator

/// What the model of a disk says a power cut may leave.
@Suite struct DiskTests {
    private let file = RecordedInode(number: 1)
    private let other = RecordedInode(number: 2)
    private let folder = RecordedInode(number: 3)

    private func disk(_ order: SimulatedDisk.Order, _ records: [Record]) -> SimulatedDisk {
        var disk = SimulatedDisk(order: order, holding: [])
        for record in records { disk.append(record) }
        return disk
    }

    private func create(_ name: Name, _ inode: RecordedInode, in directory: RecordedInode = .root) -> Record {
        Record(.create(name, in: directory, mode: 0o600), made: inode)
    }

    private func write(_ bytes: [UInt8], at offset: Int64 = 0, to file: RecordedInode? = nil) -> Record {
        Record(.write(bytes, to: file ?? self.file, at: offset))
    }

    private func rename(_ old: Name, to new: Name, from: RecordedInode = .root, into: RecordedInode = .root) -> Record {
        Record(.rename(old, in: from, to: new, newDirectory: into, flags: 0))
    }

    private var flush: Record { Record(.synchronize(file, dataOnly: true)) }
    private var flushRoot: Record { Record(.synchronize(.root, dataOnly: false)) }
    private let flushAll = Record(.synchronizeAll)

    /// All states, of which there must be few.
    private func states(_ disk: SimulatedDisk) throws -> Set<DiskImage> {
        var random = SeededRandom(1)
        let (choices, areAll) = StateSampler(disk).choices(limit: 20_000, &random)
        try #require(areAll)
        #expect(Set(choices).count == choices.count)
        return Set(choices.map { disk.image(of: $0) })
    }

    private func contents(_ disk: SimulatedDisk) throws -> Set<[UInt8]> {
        Set(try states(disk).map { $0.inodes[file]!.bytes.array })
    }

    private func names(_ disk: SimulatedDisk) throws -> Set<[String]> {
        Set(try states(disk).map { $0.inodes[.root]!.entries.keys.map(\.description).sorted() })
    }

    private func sectors(_ values: UInt8...) -> [UInt8] {
        values.flatMap { [UInt8](repeating: $0, count: 512) }
    }

    // MARK: Contents

    @Test(arguments: SimulatedDisk.Order.allCases) func aWriteTearsAtEachSector(order: SimulatedDisk.Order) throws {
        let disk = disk(order, [create("a", file), write(sectors(1, 1, 1)), flushAll, write(sectors(2, 2, 2))])
        let expected = (0..<8).map { bits in
            sectors(bits & 1 == 0 ? 1 : 2, bits & 2 == 0 ? 1 : 2, bits & 4 == 0 ? 1 : 2)
        }
        #expect(try contents(disk) == Set(expected))
    }

    @Test func aSectorShowsAnyMomentButNoWriteWithoutThoseBefore() throws {
        let disk = disk(
            .ordered, [create("a", file), write([1, 1]), flushAll, write([2]), write([3], at: 1), write([4])])
        #expect(try contents(disk) == [[1, 1], [2, 1], [2, 3], [4, 3]])
    }

    @Test func aLengthAndItsBytesAreApart() throws {
        let disk = disk(.ordered, [create("a", file), write([1]), flushAll, write([2, 2], at: 1)])
        #expect(try contents(disk) == [[1], [1, 0, 0], [1, 2, 2]])
    }

    @Test(arguments: SimulatedDisk.Order.allCases) func flushedContentsStay(order: SimulatedDisk.Order) throws {
        let disk = disk(order, [create("a", file), write([1]), flushAll, write([2]), flush])
        #expect(try contents(disk) == [[2]])
    }

    @Test func aFlushOfAnotherFileHelpsNot() throws {
        let disk = disk(
            .unordered,
            [create("a", file), create("b", other), flushAll, write([1]), Record(.synchronize(other, dataOnly: false))])
        #expect(try contents(disk) == [[], [0], [1]])
    }

    @Test(arguments: SimulatedDisk.Order.allCases)
    func aTruncateMayHaveHappenedAndItsZerosTo(order: SimulatedDisk.Order) throws {
        let disk = disk(
            order, [create("a", file), write(sectors(1, 1)), flushAll, Record(.truncate(file, to: 600))])
        let cut = sectors(1) + [UInt8](repeating: 1, count: 88)
        #expect(
            try contents(disk) == [sectors(1, 1), cut, cut + [UInt8](repeating: 0, count: 424)])
    }

    @Test func whatIsWrittenBehindACutIsNotInTheOldFile() throws {
        let page = [UInt8](repeating: 1, count: 8192)
        let disk = disk(
            .ordered,
            [create("a", file), write(page), flushAll, Record(.truncate(file, to: 0)), write([2], at: 5000)])
        for contents in try contents(disk) {
            if contents.count == 8192 { #expect(contents == page) }
            #expect([0, 5001, 8192].contains(contents.count))
            if contents.count == 5001 { #expect(contents.dropLast().allSatisfy { $0 == 0 }) }
        }
    }

    @Test func punchedHolesAreZerosOrNot() throws {
        let disk = disk(
            .ordered,
            [
                create("a", file), write(sectors(1, 1)), flushAll,
                Record(.allocate(file, mode: 3, offset: 512, length: 5000)),
                Record(.allocate(file, mode: 1, offset: 0, length: 5000)),
            ])
        #expect(try contents(disk) == [sectors(1, 1), sectors(1, 0)])
    }

    // MARK: Names

    @Test func orderedNamesComeInTheirOrder() throws {
        let disk = disk(.ordered, [create("a", file), create("b", other), rename("a", to: "c")])
        #expect(try names(disk) == [[], ["a"], ["a", "b"], ["b", "c"]])
    }

    @Test func unorderedNamesComeAsTheyCan() throws {
        let disk = disk(.unordered, [create("a", file), create("b", other), rename("a", to: "c")])
        #expect(try names(disk) == [[], ["a"], ["b"], ["a", "b"], ["c"], ["b", "c"]])
    }

    @Test(arguments: SimulatedDisk.Order.allCases) func aRenameIsAllOrNothing(order: SimulatedDisk.Order) throws {
        let disk = disk(
            order,
            [
                create("a", file), create("b", other),
                Record(.makeDirectory("d", in: .root, mode: 0o700), made: folder),
                flushAll, rename("a", to: "b", into: folder),
            ])
        let places = try states(disk).map { image in
            [image[Slot("a", in: .root)], image[Slot("b", in: folder)]].map { $0 == file }
        }
        #expect(Set(places) == [[true, false], [false, true]])
    }

    @Test func aFlushOfAFileIsForItsNameWhereMetadataHasAnOrder() throws {
        let records = [create("a", file), create("b", other), write([1]), flush]
        #expect(try names(disk(.ordered, records)) == [["a", "b"]])
        #expect(try names(disk(.unordered, records)) == [[], ["a"], ["b"], ["a", "b"]])
        #expect(try states(disk(.unordered, records)).allSatisfy { $0.inodes[file]!.bytes.array == [1] })
    }

    /// ext4: nothing that the inode needs is in the running transaction, so that fdatasync(2) commits none.
    @Test func aFlushOfAnOverwriteBringsNoOtherMetadata() throws {
        let disk = disk(.ordered, [create("a", file), write([1]), flushAll, create("b", other), write([2]), flush])
        #expect(try names(disk) == [["a"], ["a", "b"]])
        #expect(try contents(disk) == [[2]])
    }

    @Test func aFlushOfADirectoryIsForItsEntries() throws {
        let disk = disk(
            .unordered,
            [
                Record(.makeDirectory("d", in: .root, mode: 0o700), made: folder), create("t", file, in: folder),
                create("u", other), rename("t", to: "a", from: folder), flushRoot,
            ])
        // What "a" was before is part of it.
        #expect(try names(disk) == [["a", "d", "u"]])
        #expect(try states(disk).allSatisfy { $0.inodes[folder]!.entries.isEmpty })
    }

    @Test func aDirectoryThatIsDurablyGoneWasDurablyEmptied() throws {
        let disk = disk(
            .unordered,
            [
                Record(.makeDirectory("d", in: .root, mode: 0o700), made: folder), create("a", file, in: folder),
                flushAll, Record(.unlink("a", in: folder)), Record(.removeDirectory("d", in: .root)), flushRoot,
            ])
        #expect(try names(disk) == [[]])
    }

    @Test func withoutFlushesNothingIsSafe() throws {
        var disk = SimulatedDisk(order: .unordered, holding: [create("a", file)])
        disk.ignoresFlushes = true
        for record in [write([1]), flush, flushAll] { disk.append(record) }
        #expect(try contents(disk) == [[], [0], [1]])
    }

    // MARK: Sampling

    @Test(arguments: SimulatedDisk.Order.allCases)
    func aSampleIsTheSameEachTimeAndHoldsTheExtremes(order: SimulatedDisk.Order) throws {
        var records = [create("a", file), flushAll]
        for step in 0..<40 {
            records += [write([UInt8](repeating: 1, count: 4096), at: Int64(step) * 4096)]
            records += [create(Name(bytes: "n\(step)".utf8)!, RecordedInode(number: 10 + step))]
        }
        let disk = disk(order, records)
        var (one, two) = (SeededRandom(7), SeededRandom(7))
        let (choices, areAll) = StateSampler(disk).choices(limit: 500, &one)
        #expect(!areAll && choices.count == 500 && Set(choices).count == 500)
        #expect(StateSampler(disk).choices(limit: 500, &two).choices == choices)
        let images = choices.map { disk.image(of: $0) }
        #expect(images.contains(disk.current))
        #expect(images.contains { $0.inodes[.root]!.entries.count == 1 && $0.inodes[file]!.bytes.count == 0 })
    }
}
