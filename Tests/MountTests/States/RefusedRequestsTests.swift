import Foundation
import Glibc
import TestSupport
import Testing

extension MountTests {
    /// Programs that repeat refused calls.
    @Suite struct RefusedRequests {
        /// A refused write must not leave its page in the cache, where a mapping would see it.
        @Test func aRefusedWriteLeavesNoPage() throws {
            try withScene(["--default-class", "complete"]) { scene in
                let contents = [UInt8](seed: 1, count: 64 * 4096)
                try scene.makeFile("file", contents)
                try scene.probe.open(0, scene.path("file"), "rw").required()
                try scene.probe.map(0, 0, contents.count).required()
                try scene.mount.lockNow()
                for page in 0..<64 {
                    #expect(try scene.probe.ask("fill", "0", "\(page * 4096)", "4096", "7") == .noKey, "page \(page)")
                    #expect(try scene.probe.touch(0, page * 4096, 1) == .bus, "page \(page)")
                    #expect(try scene.probe.pread(0, page * 4096, 1) == .noKey, "page \(page)")
                }
                try scene.mount.unlock()
                #expect(try scene.contents("file") == contents)
            }
        }

        /// Offsets near the largest possible one: no file is so long, locked or not.
        @Test(arguments: [ProtectionClass.complete, .none]) func aWriteBehindEverything(_ protection: ProtectionClass)
            throws
        {
            try withScene(["--default-class", protection.rawValue]) { scene in
                try scene.makeFile("file", [1, 2, 3])
                try scene.probe.open(0, scene.path("file"), "rw").required()
                for isLocked in [false, true] {
                    if isLocked { try scene.mount.lockNow() }
                    for offset in [Int.max - 4096, Int.max - 4095, Int.max - 1, Int.max / 2 + 1] {
                        let answer = try scene.probe.pwrite(0, offset, [1])
                        #expect(answer == .refused("EFBIG"), "\(offset)")
                    }
                    #expect(!(try scene.probe.ask("fallocate", "0", "0", "\(Int.max - 5)", "5").succeeded))
                    #expect(!(try scene.probe.ask("ftruncate", "0", "\(Int.max)").succeeded))
                }
                try scene.mount.unlock()
                #expect(try scene.contents("file") == [1, 2, 3])
            }
        }

        /// A mapping that is populated or mlocked while locked makes the kernel repeat its request: neither the daemon
        /// nor other programs may suffer.
        @Test(arguments: ["populate", "mlock"])
        func populatingALockedMappingBurnsNoProcessor(_ way: String) throws {
            try withScene(["--default-class", "complete"]) { scene in
                try scene.makeFile("file", [UInt8](seed: 1, count: 1 << 20))
                try scene.makeFile("other", class: ProtectionClass.none, [4, 5, 6])
                let mapper = try Probe()
                try mapper.open(0, scene.path("file"), "rw").required()
                try mapper.map(1, 0, 1 << 20).required()
                try scene.mount.lockNow()
                let (before, start) = (try requests(to: scene.mount.daemon.pid), ContinuousClock.now)
                try mapper.send(
                    way == "mlock" ? ["mlock", "1"] : ["mmap", "0", "0", "\(1 << 20)", "shared,populate", "rw"])
                Thread.sleep(forTimeInterval: 1)
                let count = Double(try requests(to: scene.mount.daemon.pid) - before)
                let seconds = (ContinuousClock.now - start) / .seconds(1)
                // The kernel does repeat it; and at most four times in two milliseconds, some for other reasons.
                #expect(count > 20 && count < 3000 * seconds, "\(count) requests in \(seconds) s")
                #expect(try scene.contents("other") == [4, 5, 6])
                // Neither the unlock nor the next lock waits for it.
                try scene.mount.unlock()
                #expect(try mapper.answer(within: 10, to: [way]).succeeded)
                try scene.mount.lockNow()
                mapper.process.send(SIGKILL)
                #expect(mapper.process.wait(seconds: 10) != nil, "the program can be killed")
            }
        }

        /// The daemon's calls of read(2), each of which receives a request from the kernel.
        /// A thread that receives a request has slept before, by either way.
        private func requests(to pid: pid_t) throws -> Int {
            let threads = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/task")
            return threads.reduce(0) { sum, thread in
                let status = (try? String(contentsOfFile: "/proc/\(pid)/task/\(thread)/status", encoding: .utf8)) ?? ""
                let line = status.split(separator: "\n").first { $0.hasPrefix("voluntary_ctxt_switches:") }
                return sum + (line.flatMap { Int($0.split(separator: "\t").last ?? "") } ?? 0)
            }
        }

        /// The kernel keeps the last page of a short write locked until the answer arrives: the code that drops the
        /// pages of one refused write must not delay the answer to the next.
        @Test func refusedWritesInARowAreAllAnswered() throws {
            try withScene(["--default-class", "complete"]) { scene in
                try scene.makeFile("file", [UInt8](seed: 1, count: 100))
                let writers = [try Probe(), try Probe()]
                for writer in writers { try writer.open(0, scene.path("file"), "rw").required() }
                try scene.mount.lockNow()
                for turn in 0..<100 {
                    let count = turn % 2 == 0 ? "100" : "5000"
                    for writer in writers { try writer.send(["fill", "0", "0", count, "7"]) }
                    for writer in writers { #expect(try writer.answer() == .noKey) }
                }
                for writer in writers {
                    writer.process.send(9)
                    writer.process.wait()
                }
            }
        }

        /// The kernel holds a page locked that a write covers in part, and the inode for every write: refusing several
        /// at once, of any size, must not wait for any of them.
        @Test func manyRefusedWritersDoNotHang() throws {
            try withScene(["--default-class", "complete"]) { scene in
                let contents = [UInt8](seed: 1, count: 100)
                try scene.makeFile("file", contents)
                try scene.makeFile("other", class: ProtectionClass.none)
                let writers = try [(0, 100), (10, 100), (0, 5000), (4000, 12_000), (0, 1 << 20)].map { offset, count in
                    let writer = try Probe()
                    try writer.open(0, scene.path("file"), "rw").required()
                    return (writer, ["refusedloop", "0", "\(offset)", "\(count)", "1500"])
                }
                try scene.mount.lockNow()
                for (writer, loop) in writers {
                    try writer.send(loop)
                }
                // A lock, and other files in the mount, while the programs repeat their calls.
                try scene.mount.lockNow()
                #expect(try scene.contents("other") == [1, 2, 3])
                for (writer, loop) in writers {
                    let words = try writer.answer(within: 10, to: loop).words()
                    #expect(words[1] == "ENOKEY" && words[0] != "0", "\(loop): \(words)")
                }
                for (writer, _) in writers {
                    writer.process.send(SIGKILL)
                    writer.process.wait()
                }
                try scene.mount.unlock()
                #expect(try scene.contents("file") == contents)
            }
        }

        /// The same while locks and unlocks alternate: some writes are accepted, and ENOKEY is the only error.
        @Test func writersAcrossManyLocks() throws {
            try withScene(["--default-class", "complete"]) { scene in
                let writers = try (0..<4).map { number in
                    let writer = try Probe()
                    try writer.open(0, scene.path("file-\(number % 2)"), "rw,creat").required()
                    return (writer, ["refusedloop", "0", "\(number * 1000)", "\(3000 + 3000 * number)", "2500"])
                }
                for (writer, loop) in writers {
                    try writer.send(loop)
                }
                let end = ContinuousClock.now + .milliseconds(2000)
                while ContinuousClock.now < end {
                    try scene.mount.lockNow()
                    try scene.mount.unlock()
                }
                for (writer, loop) in writers {
                    let words = try writer.answer(within: 10, to: loop).words()
                    #expect(["ENOKEY", "nothing"].contains(words[1]), "\(loop): \(words)")
                    #expect(try writer.fsync(0) == .ok())
                    writer.process.send(SIGKILL)
                    writer.process.wait()
                }
                for number in 0..<2 {
                    let written = try scene.contents("file-\(number)").drop { $0 == 0 }
                    #expect(!written.isEmpty && written.allSatisfy { $0 == UInt8(ascii: "w") })
                }
            }
        }
    }
}
