import Posix
import TestStores
import Testing

@testable import CrashSimulator

// Names.

extension DiskTests {
    @Test func orderedNamesBecomeDurableInOrder() throws {
        let disk = disk(.ordered, [create("a", file), create("b", other), rename("a", to: "c")])
        #expect(try names(disk) == [[], ["a"], ["a", "b"], ["b", "c"]])
    }

    @Test func unorderedNamesBecomeDurableInAnyPossibleOrder() throws {
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
        let found = try states(disk).map { image in
            [image[Slot("a", in: .root)], image[Slot("b", in: folder)]].map { $0 == file }
        }
        #expect(Set(found) == [[true, false], [false, true]])
    }

    @Test func aFlushOfAFileIsForItsNameWhereMetadataHasAnOrder() throws {
        let records = [create("a", file), create("b", other), write([1]), flush]
        #expect(try names(disk(.ordered, records)) == [["a", "b"]])
        #expect(try names(disk(.unordered, records)) == [[], ["a"], ["b"], ["a", "b"]])
        #expect(try states(disk(.unordered, records)).allSatisfy { $0.inodes[file]!.bytes.array == [1] })
    }

    /// ext4: the running transaction holds nothing that the inode needs, so fdatasync(2) does not commit it.
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
        // The flush includes the earlier change of the name "a".
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
}
