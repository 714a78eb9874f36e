import Glibc
import Posix
import Synchronization
import TestSupport
import Testing

extension FuseTests {
    @Test func invalidationDropsPages() throws {
        let mounted = try Mounted()
        let old = [UInt8](seed: 3, count: 100_000)
        let new = [UInt8](seed: 4, count: 100_000)
        try mounted.root.create("file", old)
        let file = try mounted.root.open("file", O_RDONLY)
        let mapping = try Mapping(file, size: old.count, protection: PROT_READ)
        #expect(try file.contents(old.count) == old)
        #expect(mapping[50_000] == old[50_000])

        // Without the kernel's knowledge.
        try mounted.source.open("file", O_WRONLY).write(new, at: 0)
        #expect(try file.contents(old.count) == old, "the page cache is kept, from one open to the next too")
        #expect(try mounted.root.contents(of: "file") == old)

        #expect(try mounted.ask("invalidate") == "done")
        #expect(try file.contents(new.count) == new)
        #expect((0..<new.count).allSatisfy { mapping[$0] == new[$0] })
    }

    @Test func invalidationWritesDirtyPagesBack() throws {
        let mounted = try Mounted()
        try mounted.root.create("file", [UInt8](repeating: 1, count: 8192))
        let file = try mounted.root.open("file", O_RDWR)
        let mapping = try Mapping(file, size: 8192)
        mapping[5000] = 9
        #expect(try mounted.ask("invalidate") == "done")
        #expect(try mounted.source.contents(of: "file")[5000] == 9)
        #expect(mapping[5000] == 9)
    }

    @Test func invalidationForgetsNames() throws {
        let mounted = try Mounted()
        // Names are kept for a second: on a slow machine one may have to try again to see it.
        for _ in 0..<20 {
            try mounted.source.create("name")
            _ = try mounted.root.status(of: "name")
            try mounted.source.unlink("name")
            guard (try? mounted.root.status(of: "name")) != nil else { continue }
            #expect(try mounted.ask("invalidate-entry name") == "done")
            #expect(throws: Errno.ENOENT) { try mounted.root.status(of: "name") }
            return
        }
        Issue.record("the kernel never kept a name")
    }

    @Test func invalidatingWhatTheKernelDoesNotKnowIsNoError() throws {
        let mounted = try Mounted()
        #expect(try mounted.ask("invalidate-entry nothing") == "done")
    }

    /// The notifications of a lock, while programs write by write(2) and through mappings.
    @Test func invalidatesUnderLoad() throws {
        let mounted = try Mounted()
        let root = mounted.root
        let names = (0..<4).map { Name(bytes: "file-\($0)".utf8)! }
        for name in names { try root.create(name, [UInt8](repeating: 0, count: 1 << 20)) }
        let isOver = Atomic<Bool>(false)
        let failures = Mutex<[String]>([])
        let expected = Mutex<[Int: [UInt8]]>([:])
        let threads = Threads(4) { worker in
            do {
                let file = try root.open(names[worker], O_RDWR)
                let mapping = try Mapping(file, size: 1 << 20)
                var bytes = [UInt8](repeating: 0, count: 1 << 20)
                var random = SystemRandomNumberGenerator()
                while !isOver.load(ordering: .relaxed) {
                    let offset = Int.random(in: 0..<(1 << 20) - 100, using: &random)
                    let value = UInt8.random(in: 1...255, using: &random)
                    if Bool.random(using: &random) {
                        mapping[offset] = value
                        bytes[offset] = value
                    } else {
                        try file.write([UInt8](repeating: value, count: 100), at: Int64(offset))
                        bytes.replaceSubrange(offset..<offset + 100, with: repeatElement(value, count: 100))
                    }
                    if mapping[offset] != value { throw HarnessError("lost a byte at \(offset)") }
                }
                try file.synchronize(dataOnly: false)
                expected.withLock { $0[worker] = bytes }
            } catch {
                failures.withLock { $0.append("\(error)") }
            }
        }
        do {
            // Also if this throws: the threads run as long.
            defer { isOver.store(true, ordering: .relaxed) }
            for _ in 0..<60 { #expect(try mounted.ask("invalidate") == "done") }
        }
        threads.join()
        #expect(failures.withLock { $0 } == [])
        for (worker, bytes) in expected.withLock({ $0 }) {
            #expect(try mounted.source.contents(of: names[worker]) == bytes)
        }
    }
}
