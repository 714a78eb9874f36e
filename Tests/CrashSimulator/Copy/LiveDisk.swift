import TestStores

/// A folder as the running system sees it, after each record of its changes.
struct LiveDisk {
    private let records: [Record]
    private var disk: SimulatedDisk
    /// The number of records that have happened.
    private(set) var count: Int

    init(_ records: [Record], found: Int) {
        self.records = records
        disk = SimulatedDisk(order: .ordered, holding: records[..<found])
        count = found
    }

    var image: DiskImage { disk.durable }

    /// Not past the last record.
    mutating func advance(by steps: Int) {
        for record in records[count..<min(records.count, count + steps)] {
            disk.appendDurably(record)
            count += 1
        }
    }

    /// The disk after all records.
    static func image(of records: [Record]) -> DiskImage { SimulatedDisk(order: .ordered, holding: records).durable }
}

extension DiskImage {
    /// Makes each name a file of its own.
    mutating func splitLinks() {
        var seen: Set<RecordedInode> = []
        for (directory, inode) in inodes {
            for (name, child) in inode.entries where !seen.insert(child).inserted {
                let copy = RecordedInode(number: inodes.keys.map(\.number).max()! + 1)
                inodes[copy] = inodes[child]
                inodes[directory]!.entries[name] = copy
            }
        }
    }
}
