import Glibc
import Posix
import TestSupport
import Testing

extension FuseTests {
    @Test func readsAndWrites() throws {
        let mounted = try Mounted()
        var expected = [UInt8](seed: 1, count: 3_000_001)
        let file = try mounted.root.open("file", O_RDWR | O_CREAT | O_EXCL, mode: 0o600)
        for start in stride(from: 0, to: expected.count, by: 70_001) {
            try file.write(Array(expected[start..<min(start + 70_001, expected.count)]), at: Int64(start))
        }
        let patch = [UInt8](seed: 2, count: 10_000)
        expected.replaceSubrange(4090..<4090 + patch.count, with: patch)
        try file.write(patch, at: 4090)
        #expect(try file.contents(expected.count + 10) == expected)
        #expect(try mounted.source.contents(of: "file") == expected)

        try file.truncate(to: 100_003)
        #expect(try mounted.root.contents(of: "file") == Array(expected[..<100_003]))
        try file.truncate(to: 100_010)
        #expect(
            try file.contents(100, at: 100_000) == Array(expected[100_000..<100_003]) + [UInt8](repeating: 0, count: 7))
        try mounted.root.create("file", [1, 2, 3])
        #expect(try mounted.source.contents(of: "file") == [1, 2, 3])
    }

    @Test func appendsFromTwoHandles() throws {
        let mounted = try Mounted()
        try mounted.root.create("log")
        let one = try mounted.root.open("log", O_WRONLY | O_APPEND)
        let other = try mounted.root.open("log", O_WRONLY | O_APPEND)
        var expected: [UInt8] = []
        for round in UInt8(0)..<100 {
            let line = [UInt8](repeating: round, count: 77)
            unsafe try (round.isMultiple(of: 2) ? one : other).write(line.span.bytes)
            expected += line
        }
        #expect(try mounted.source.contents(of: "log") == expected)
    }

    @Test func writesAndReadsManyMebibytesAtOnce() throws {
        let mounted = try Mounted()
        #expect(mounted.greeting.hasSuffix("write=1048576"))
        let expected = [UInt8](seed: 1, count: 20 << 20)
        let file = try mounted.root.open("big", O_RDWR | O_CREAT, mode: 0o600)
        try file.write(expected, at: 5)
        try file.synchronize(dataOnly: false)
        #expect(try mounted.source.open("big", O_RDONLY).contents(expected.count, at: 5) == expected)
        _ = try mounted.ask("invalidate")
        #expect(try file.contents(expected.count, at: 5) == expected)
    }

    @Test func allocatesPunchesAndSeeks() throws {
        let mounted = try Mounted()
        let file = try mounted.root.open("sparse", O_RDWR | O_CREAT, mode: 0o600)
        try file.write([UInt8](seed: 1, count: 1 << 20), at: 0)
        try file.allocate(mode: FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset: 65_536, length: 65_536)
        #expect(try file.contents(65_536, at: 65_536) == [UInt8](repeating: 0, count: 65_536))
        let backing = try mounted.source.open("sparse", O_RDONLY)
        #expect(lseek(file.number, 0, SEEK_HOLE) == lseek(backing.number, 0, SEEK_HOLE))
        #expect(lseek(file.number, 65_536, SEEK_DATA) == lseek(backing.number, 65_536, SEEK_DATA))
        try file.allocate(mode: 0, offset: 0, length: 2 << 20)
        #expect(try file.status().size == 2 << 20)
    }

    @Test func mapsFiles() throws {
        let mounted = try Mounted()
        let expected = [UInt8](seed: 1, count: 300_000)
        try mounted.root.create("mapped", expected)
        #expect(try mounted.ask("page-writes") == "page-writes 0", "write(2) is no write of a page")

        let file = try mounted.root.open("mapped", O_RDWR)
        let mapping = try Mapping(file, size: expected.count)
        #expect((0..<expected.count).allSatisfy { mapping[$0] == expected[$0] })
        mapping[0] = 42
        mapping[299_999] = 43
        try mapping.synchronize()
        let backing = try mounted.source.contents(of: "mapped")
        #expect(backing[0] == 42 && backing[299_999] == 43 && backing[1..<299_999] == expected[1..<299_999])
        #expect(try mounted.ask("page-writes") != "page-writes 0")
        // What write(2) writes, the mapping sees.
        try file.write([7, 7, 7], at: 8190)
        #expect(mapping[8190] == 7 && mapping[8192] == 7)
    }

    /// The worker's buffer is the only place in which the binding itself holds written bytes.
    @Test func wipesWhatWasMarkedSecret() throws {
        let mounted = try Mounted()
        let secret = [UInt8](seed: 99, count: 5000)
        try mounted.root.create("secret", secret)
        let memory = try ProcessMemory(mounted.program.process.pid)
        #expect(try memory.contains(Array("mounted protocol".utf8)), "the search finds what is there")
        #expect(try !memory.contains(Array(secret[100..<164])))
        #expect(try !memory.contains(Array(secret[4800..<4864])))
    }
}
