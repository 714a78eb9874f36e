import Posix
import TestStores
import Testing

@testable import CrashSimulator

// Contents of files.

extension DiskTests {
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
        let short = sectors(1) + [UInt8](repeating: 1, count: 88)
        #expect(
            try contents(disk) == [sectors(1, 1), short, short + [UInt8](repeating: 0, count: 424)])
    }

    @Test func aWriteBehindATruncationIsNotInTheOldFile() throws {
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
}
