import Foundation
import TestSupport
import Testing

extension MountTests {
    /// Programs that write during a lock: no acknowledged write is lost, and none is accepted after it.
    @Suite struct LockUnderLoad {
        /// The second one in a deep lock.
        private static let classes = [ProtectionClass.complete, .completeUntilFirstUserAuthentication]

        private func counters(_ bytes: [UInt8]) -> [UInt64] {
            stride(from: 0, to: bytes.count - 7, by: 8).map { start in
                bytes[start..<start + 8].reversed().reduce(0) { $0 << 8 | UInt64($1) }
            }
        }

        @Test(arguments: Self.classes) func acknowledgedWritesAreThere(_ protection: ProtectionClass) throws {
            try withScene(["--default-class", protection.rawValue]) { scene in
                for turn in 0..<5 {
                    let writer = try Probe()
                    let name = "file-\(turn)"
                    try writer.open(0, scene.path(name), "rw,creat").required()
                    try writer.send(["writeloop", "0"])
                    Thread.sleep(forTimeInterval: 0.1)
                    try scene.mount.lock(closing: protection)
                    let words = try writer.answer().words()
                    #expect(words[1] == "ENOKEY", "turn \(turn): why the writer stopped: \(words)")
                    let acknowledged = Int(words[0]) ?? 0
                    #expect(acknowledged > 0)
                    #expect(try writer.fsync(0) == .ok(), "fsync succeeds for all that write(2) returned")
                    #expect(try writer.close(0) == .ok())
                    try scene.mount.unlock()
                    let written = counters(try scene.contents(name))
                    #expect(written.count == acknowledged, "turn \(turn)")
                    #expect(written == (0..<UInt64(written.count)).map { $0 }, "turn \(turn)")
                    writer.process.send(9)
                    writer.process.wait()
                }
            }
        }

        /// A store that returned before the page was removed is kept; later ones raise SIGBUS.
        @Test(arguments: Self.classes)
        func storesThroughAMappingAreKeptUpToTheSIGBUS(_ protection: ProtectionClass) throws {
            try withScene(["--default-class", protection.rawValue]) { scene in
                for turn in 0..<4 {
                    let writer = try Probe()
                    let name = "file-\(turn)"
                    try scene.makeFile(name, [UInt8](repeating: 0, count: 4096 * 64))
                    try writer.open(0, scene.path(name), "rw").required()
                    try writer.map(0, 0, 4096 * 64).required()
                    try writer.send(["storeloop", "0"])
                    Thread.sleep(forTimeInterval: 0.1)
                    try scene.mount.lock(closing: protection)
                    let stored = try writer.answer().number()
                    #expect(stored > 64)
                    let synced = [try writer.ask("msync", "0"), try writer.fsync(0)]
                    #expect(try writer.touch(0, 0, 1) == .bus)
                    try scene.mount.unlock()
                    let pages = counters(try scene.contents(name)).enumerated().filter { $0.offset % 512 == 0 }
                    let last = pages.map(\.element).max() ?? 0
                    // msync or fsync reports stores that were refused late; without a report no store is missing.
                    if synced.contains(.noKey) {
                        #expect(last <= UInt64(stored))
                    } else {
                        #expect(synced == [.ok(), .ok()], "turn \(turn): \(synced)")
                        #expect(Int(last) == stored - 1, "turn \(turn): a store was lost without a word")
                    }
                    writer.process.send(9)
                    writer.process.wait()
                }
            }
        }

        /// sync(1) of everything returns while dirty files are locked.
        @Test(arguments: Self.classes) func syncComesBackWhileLocked(_ protection: ProtectionClass) throws {
            try withScene(["--default-class", protection.rawValue]) { scene in
                try scene.makeFile("file", [UInt8](seed: 1, count: 100_000))
                try scene.probe.open(0, scene.path("file"), "rw").required()
                try scene.probe.map(0, 0, 100_000).required()
                try scene.probe.store(0, 0, [UInt8](seed: 2, count: 100_000)).required()
                try scene.mount.lock(closing: protection)
                let start = ContinuousClock.now
                try run("sync", ["-f", scene.mount.path], within: 20).succeeded()
                #expect(ContinuousClock.now - start < .seconds(5))
                try scene.mount.unlock()
                #expect(try scene.contents("file") == [UInt8](seed: 2, count: 100_000))
            }
        }

        /// 2,000 files of the strict class, looked up, read and closed: all of them lock.
        @Test(arguments: Self.classes) func manyClosedFilesLock(_ protection: ProtectionClass) throws {
            try withScene(["--default-class", protection.rawValue]) { scene in
                try shell(
                    "i=0; while [ $i -lt 2000 ]; do echo contents $i > f$i; i=$((i+1)); done; cat f* | wc -l",
                    in: scene.mount.path
                ).succeeded()
                let start = ContinuousClock.now
                try scene.mount.lock(closing: protection)
                let took = ContinuousClock.now - start
                #expect(took < .seconds(3), "\(took)")
                let readable = try shell(
                    "n=0; for f in f*; do if cat $f > /dev/null 2>&1; then n=$((n+1)); fi; done; echo $n",
                    in: scene.mount.path)
                #expect(readable.text == "0\n")
            }
        }
    }
}
