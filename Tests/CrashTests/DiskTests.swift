import Posix
import TestStores
import TestSupport
import Testing

@testable import CrashSimulator

/// What the model of a disk allows a power loss to leave.
@Suite struct DiskTests {
    let file = RecordedInode(number: 1)
    let other = RecordedInode(number: 2)
    let folder = RecordedInode(number: 3)

    func disk(_ order: SimulatedDisk.Order, _ records: [Record]) -> SimulatedDisk {
        var disk = SimulatedDisk(order: order, holding: [])
        for record in records { disk.append(record) }
        return disk
    }

    func create(_ name: Name, _ inode: RecordedInode, in directory: RecordedInode = .root) -> Record {
        Record(.create(name, in: directory, mode: 0o600), made: inode)
    }

    func write(_ bytes: [UInt8], at offset: Int64 = 0, to file: RecordedInode? = nil) -> Record {
        Record(.write(bytes, to: file ?? self.file, at: offset))
    }

    func rename(_ old: Name, to new: Name, from: RecordedInode = .root, into: RecordedInode = .root) -> Record {
        Record(.rename(old, in: from, to: new, newDirectory: into, flags: 0))
    }

    var flush: Record { Record(.synchronize(file, dataOnly: true)) }
    var flushRoot: Record { Record(.synchronize(.root, dataOnly: false)) }
    let flushAll = Record(.synchronizeAll)

    /// All states; they must be few.
    func states(_ disk: SimulatedDisk) throws -> Set<DiskImage> {
        var random = SeededRandom(1)
        let (choices, areAll) = StateSampler(disk).choices(limit: 20_000, &random)
        try #require(areAll)
        #expect(Set(choices).count == choices.count)
        return Set(choices.map { disk.image(of: $0) })
    }

    func contents(_ disk: SimulatedDisk) throws -> Set<[UInt8]> {
        Set(try states(disk).map { $0.inodes[file]!.bytes.array })
    }

    func names(_ disk: SimulatedDisk) throws -> Set<[String]> {
        Set(try states(disk).map { $0.inodes[.root]!.entries.keys.map(\.description).sorted() })
    }

    func sectors(_ values: UInt8...) -> [UInt8] {
        values.flatMap { [UInt8](repeating: $0, count: 512) }
    }
}
