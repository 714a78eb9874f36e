import Posix
import Store
import TestStores
import TestSupport
import Testing

@testable import CrashSimulator

// The states that are tried.

extension DiskTests {
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

    /// Each subset of the pending changes at each flush, with each torn write: no more states and no fewer.
    @Test(arguments: SimulatedDisk.Order.allCases) func aShortRunIsTriedWhole(order: SimulatedDisk.Order) throws {
        let records = [
            create("a", file), write(sectors(1, 1)), flushAll,
            write(sectors(2, 2)), flush,
            write(sectors(3)), create("b", other), rename("a", to: "c"), flushRoot,
        ]
        var states: [Int: Set<[String]>] = [:]
        let simulation = Simulation("short", order, budget: 1000)
        let report = try simulation.run(records, found: 3) { folder, crash in
            let state = try Self.contents(of: folder)
            #expect(states[crash, default: []].insert(state).inserted, "tried twice")
            return []
        }
        #expect(report.wholeCrashes == report.crashes)
        #expect(states.keys.sorted() == [4, 8, 9])
        let tears = ["a 11", "a 12", "a 21", "a 22"].map { [$0] }
        #expect(states[4] == Set(tears))
        let ordered = [["a"], ["a", "b"], ["b", "c"]]
        let names = order == .ordered ? ordered : ordered + [["c"]]
        let either = names.flatMap { names in
            ["22", "32"].map { bytes in names.map { $0 == "b" ? "b " : "\($0) \(bytes)" } }
        }
        #expect(states[8] == Set(either))
        #expect(states[9] == [["b ", "c 22"], ["b ", "c 32"]])
    }

    /// The files of a folder with the first byte of each sector.
    private static func contents(of folder: StateFolder) throws -> [String] {
        let store = try DirectoryStore(path: Path(folder.path))
        return try store.entries(of: store.root).map { entry in
            let file = try store.open(entry.name, in: store.root, 0)
            let bytes = try store.bytes(of: file, count: 4096, at: 0)
            return "\(entry.name) " + stride(from: 0, to: bytes.count, by: 512).map { "\(bytes[$0])" }.joined()
        }.sorted()
    }
}
