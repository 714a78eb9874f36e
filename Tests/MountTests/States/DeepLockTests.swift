import Foundation
import TestSupport
import Testing

extension MountTests {
    /// A deep lock takes the key of class C as well: all is as before the first unlock, and programs keep running.
    @Suite struct DeepLock {
        private func expectOnlyD(_ mount: MountedVault, sourceLocation: SourceLocation = #_sourceLocation) throws {
            let status = try mount.status()
            #expect(status.state == "before-first-unlock", sourceLocation: sourceLocation)
            #expect(status.classKeys == ["none"], sourceLocation: sourceLocation)
        }

        private func json(_ mount: MountedVault) throws -> [String: Any] {
            let outcome = try mount.latchkey("status", mount.path, "--json").succeeded()
            return try #require(JSONSerialization.jsonObject(with: Data(outcome.output)) as? [String: Any])
        }

        /// From each state there is one way into it; what it says, and what the next unlock gives back.
        @Test func fromEveryState() throws {
            try withScene(grace: 300) { scene in
                let mount = scene.mount
                let contents = [UInt8](seed: 1, count: 100_000)
                try scene.makeFile("service", contents)
                try scene.makeFile("free", class: ProtectionClass.none, contents)
                try scene.probe.open(0, scene.path("service"), "rw").required()
                let deep = ["lock", mount.path, "--deep", "--now", "--wait"]
                let steps: [(state: String, before: [[String]])] = [
                    ("unlocked", []), ("in the grace period", [["lock", mount.path]]),
                    ("in the grace period of a deep lock", [["lock", mount.path, "--deep"]]),
                    ("locked", [["lock", mount.path, "--now", "--wait"]]),
                ]
                for (state, before) in steps {
                    for command in before { try mount.latchkey(command).succeeded() }
                    #expect(try scene.probe.pread(0, 0, 100_000).bytes() == contents, "\(state)")
                    let outcome = try mount.latchkey(deep).succeeded()
                    #expect(outcome.text.contains("is locked deeply: the keys of A, B and C are gone"), "\(outcome)")
                    try expectOnlyD(mount)
                    #expect(try scene.probe.pread(0, 0, 100) == .noKey, "\(state)")
                    #expect(try scene.probe.pwrite(0, 0, [1]) == .noKey, "\(state)")
                    #expect(try scene.contents("free") == contents, "\(state)")
                    let again = try mount.latchkey(deep).succeeded()
                    #expect(again.text.contains("is locked deeply"), "\(again)")
                    let text = try mount.latchkey("status", mount.path).succeeded().text
                    #expect(text.contains("locked deeply: only class D can be read"), "\(text)")
                    try mount.unlock()
                    #expect(try scene.probe.pread(0, 0, 100_000).bytes() == contents, "\(state): the handle")
                    #expect(try scene.contents("service") == contents, "\(state)")
                }
            }
        }

        /// The grace period's end does not move, and the lock that was to leave class C takes it.
        @Test func aLockUnderWayGrowsDeeper() throws {
            try withScene(grace: 1) { scene in
                try scene.makeFile("service")
                try scene.mount.latchkey("lock", scene.mount.path).succeeded()
                let before = try json(scene.mount)
                try scene.mount.latchkey("lock", "--deep", "--wait", scene.mount.path).succeeded()
                let after = try json(scene.mount)
                try expectOnlyD(scene.mount)
                #expect(before["deep"] == nil && after["deep"] as? Bool == true)
                #expect(before["deadline"] != nil)
                // From the deadline of the first lock, not from that of the second.
                #expect(try #require(after["lastLockDuration"] as? Double) < 1)
                #expect(try scene.probe.open(1, scene.path("service")) == .noKey)
                let words = try scene.mount.explain("service")
                let actions = try #require(words["actions"] as? [[String: Any]])
                let open = try #require(actions.first { $0["name"] as? String == "open" })
                #expect(open["reason"] as? String == "the class key is not in memory until the next unlock")
                try scene.mount.unlock()
                #expect(try json(scene.mount)["deep"] == nil)
            }
        }

        /// What write(2) and fsync have accepted is there after the daemon has ended without an unlock.
        @Test func acknowledgedBytesOutliveTheMount() throws {
            let vault = try Vault()
            let contents = [UInt8](seed: 2, count: 300_000)
            let probe = try Probe()
            let mount = try MountedVault(vault)
            try probe.open(0, mount.file("service"), "rw,creat").required()
            try probe.pwrite(0, 0, contents).required()
            try probe.open(1, mount.file("synced"), "rw,creat").required()
            try probe.pwrite(1, 0, contents).required()
            try probe.fsync(1).required()
            try probe.pwrite(1, 5000, [7, 7, 7]).required()
            try mount.lockDeeply()
            for handle in 0...1 {
                #expect(try probe.fsync(handle) == .ok())
                #expect(try probe.close(handle) == .ok())
            }
            try mount.untilNothingIsOpen()
            try mount.unmount()
            try withMount(vault) { mount in
                let service = try probe.contents(mount.file("service"))
                #expect(service == contents)
                var synced = contents
                synced.replaceSubrange(5000..<5003, with: [7, 7, 7])
                let read = try probe.contents(mount.file("synced"))
                #expect(read == synced)
            }
        }

        /// A locked mount forgets class C by itself, whether programs use its files or not; an unlock in time keeps it.
        @Test func forgetsByItself() throws {
            try withScene(options: ["--forget-after", "3s"]) { scene in
                try scene.makeFile("service")
                try scene.probe.open(0, scene.path("service"), "rw").required()
                #expect(try json(scene.mount)["forgetTime"] == nil)
                try scene.mount.lockNow()
                let locked = try json(scene.mount)
                #expect(locked["forgetAfter"] as? Double == 3 && locked["forgetTime"] != nil)
                try scene.mount.unlock()
                #expect(try json(scene.mount)["forgetTime"] == nil)
                try scene.mount.lockNow()
                let end = ContinuousClock.now + .seconds(30)
                while try scene.mount.status().state == "locked", ContinuousClock.now < end {
                    _ = try scene.probe.pwrite(0, 0, [4, 5, 6])
                }
                // The eviction may be under way.
                while try scene.mount.status().state == "locking", ContinuousClock.now < end {}
                try expectOnlyD(scene.mount)
                #expect(try scene.probe.pread(0, 0, 3) == .noKey)
                #expect(try scene.probe.open(1, scene.path("service")) == .noKey)
                let text = try scene.mount.latchkey("status", scene.mount.path).succeeded().text
                #expect(text.contains("class C after 3 s locked"), "\(text)")
                try scene.mount.unlock()
                #expect(try scene.probe.pread(0, 0, 3).bytes() == [4, 5, 6])
            }
        }

        /// Hours, or a time with its unit.
        @Test(arguments: [("72", 259_200.0), ("90m", 5400), ("8760", 31_536_000), ("1", 3600)])
        func theTimeIsTyped(_ typed: String, _ seconds: Double) throws {
            try withMount(try Vault(), options: ["--forget-after", typed]) { mount in
                let found = try json(mount)["forgetAfter"] as? Double
                #expect(found == seconds)
            }
        }

        @Test(arguments: ["0", "8761", "366d", "-1", "", "d", "1.5", "3w", "99999999999999999999h", "٣"])
        func anotherTimeIsRefused(_ typed: String) throws {
            let vault = try Vault()
            let outcome = try vault.latchkey(["mount", "--forget-after=\(typed)", vault.path, vault.folder.path("m")])
            #expect(outcome.status == 2 && outcome.errors.contains("forget-after"), "\(outcome)")
        }
    }
}
