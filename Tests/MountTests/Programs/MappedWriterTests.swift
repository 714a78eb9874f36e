import TestSupport
import Testing

extension MountTests {
    /// Programs that write through mappings.
    @Suite struct MappedWriters {
        @Test func storesAreReadBack() throws {
            let vault = try Vault(["--default-class", "complete"])
            let contents = [UInt8](seed: 1, count: 1 << 20)
            let probe = try Probe()
            try withMount(vault) { mount in
                let path = mount.file("file")
                try probe.open(0, path, "rw,creat").required()
                try probe.ask("ftruncate", "0", "\(contents.count)").required()
                try probe.map(0, 0, contents.count).required()
                try probe.store(0, 0, contents).required()
                #expect(try probe.pread(0, 5000, 100).bytes() == Array(contents[5000..<5100]), "before msync")
                try probe.ask("msync", "0").required()
                try probe.pwrite(0, 4000, [7, 7, 7]).required()
                #expect(try probe.touch(0, 4000, 3).bytes() == [7, 7, 7], "a write shows in the mapping")
                try probe.ask("munmap", "0").required()
                try probe.close(0).required()
            }
            try withMount(vault) { mount in
                var expected = contents
                expected.replaceSubrange(4000..<4003, with: [7, 7, 7])
                let read = try probe.contents(mount.file("file"))
                #expect(read == expected)
            }
        }

        /// A lock accepts stores that were not synced before it, and they are there after the unlock.
        @Test(arguments: [ProtectionClass.complete, .completeUntilFirstUserAuthentication])
        func dirtyPagesSurviveTheLock(_ protection: ProtectionClass) throws {
            try withScene(["--default-class", protection.rawValue]) { scene in
                let contents = [UInt8](seed: 2, count: 400_000)
                try scene.makeFile("file", [UInt8](repeating: 0, count: contents.count))
                try scene.probe.open(0, scene.path("file"), "rw").required()
                try scene.probe.map(0, 0, contents.count).required()
                try scene.probe.store(0, 0, contents).required()
                try scene.mount.lock(closing: protection)
                #expect(try scene.probe.touch(0, 0, 1) == .bus)
                #expect(try scene.probe.ask("msync", "0") == .ok(), "all stores were made before the lock")
                #expect(try scene.probe.fsync(0) == .ok())
                try scene.mount.unlock()
                #expect(try scene.probe.touch(0, 0, contents.count).bytes() == contents)
                #expect(try scene.contents("file") == contents)
            }
        }

        /// Pages that mlock(2) holds in memory are removed all the same.
        @Test(arguments: [ProtectionClass.complete, .completeUntilFirstUserAuthentication])
        func mlockDoesNotKeepThePlaintext(_ protection: ProtectionClass) throws {
            try withScene(["--default-class", protection.rawValue]) { scene in
                try scene.makeFile("file", [UInt8](seed: 3, count: 8192))
                try scene.probe.open(0, scene.path("file"), "rw").required()
                try scene.probe.map(0, 0, 8192).required()
                try scene.probe.ask("mlock", "0").required("mlock")
                try scene.mount.lock(closing: protection)
                #expect(try scene.probe.touch(0, 0, 16) == .bus)
                #expect(try scene.probe.touch(0, 4096, 16) == .bus)
                try scene.mount.unlock()
                #expect(try scene.probe.touch(0, 0, 8192).bytes() == [UInt8](seed: 3, count: 8192))
            }
        }
    }
}
