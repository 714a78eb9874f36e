import TestSupport
import Testing

extension MountTests {
    /// Class B is asymmetric: its public key makes files at any time, its private key reads them when unlocked.
    @Suite struct ClassB {
        @Test(arguments: [LockState.beforeFirstUnlock, .locked])
        func isWrittenWhileLockedAndReadAfterTheUnlock(_ state: LockState) throws {
            let vault = try Vault(["--default-class", "complete-unless-open"])
            let contents = [UInt8](seed: 7, count: 300_000)
            let probe = try Probe()
            try withMount(vault, unlocked: state == .locked) { mount in
                if state == .locked {
                    try mount.lockNow()
                }
                let path = mount.file("mail")
                try probe.open(0, path, "rw,creat,excl").required("creating while locked")
                try probe.pwrite(0, 0, contents).required("writing while locked")
                #expect(try probe.pread(0, 0, 300_000).bytes() == contents, "the handle reads what it wrote")
                #expect(try probe.open(1, path) == .noKey, "another handle")
                try probe.fsync(0).required("fsync")
                try probe.close(0).required("close")

                // The last close has dropped the file key.
                #expect(try probe.open(1, path) == .noKey)
                #expect(try probe.open(1, path, "w") == .noKey)
                #expect(try probe.ask("truncate", path, "0") == .noKey)
                #expect(try probe.size(path) == contents.count)

                try mount.unlock()
                #expect(try probe.contents(path) == contents)
            }
        }

        /// Also after a remount: nothing of the file was only in memory.
        @Test func isReadAfterARemount() throws {
            let vault = try Vault(["--default-class", "B"])
            let contents = [UInt8](seed: 8, count: 70_000)
            let probe = try Probe()
            try withMount(vault, unlocked: false) { mount in
                try probe.write(mount.file("mail"), contents)
            }
            try withMount(vault) { mount in
                let read = try probe.contents(mount.file("mail"))
                #expect(read == contents)
            }
        }

        /// While a handle is open the file key stays; the last close drops it, and the file's pages in the kernel's
        /// cache.
        @Test func staysOpenUntilItsLastClose() throws {
            let vault = try Vault(["--default-class", "B"])
            let contents = [UInt8](seed: 9, count: 50_000)
            let probe = try Probe()
            try withMount(vault) { mount in
                let path = mount.file("mail")
                try probe.write(path, contents)
                try probe.open(0, path, "rw").required()
                try probe.open(1, path, "r").required()
                try mount.lockNow()
                try probe.close(0).required()
                #expect(try probe.pread(1, 0, 50_000).bytes() == contents)
                try probe.close(1).required()
                #expect(try probe.open(0, path) == .noKey)
                try mount.unlock()
                #expect(try probe.contents(path) == contents)
            }
        }

        /// A mapping keeps the file key as a handle does.
        @Test func aMappingHoldsIt() throws {
            let vault = try Vault(["--default-class", "B"])
            let contents = [UInt8](seed: 10, count: 8192)
            let probe = try Probe()
            try withMount(vault) { mount in
                let path = mount.file("mail")
                try probe.write(path, contents)
                try probe.open(0, path, "rw").required()
                try probe.map(0, 0, 8192).required()
                try probe.close(0).required()
                try mount.lockNow()
                #expect(try probe.touch(0, 0, 8192).bytes() == contents)
                #expect(try probe.store(0, 4096, [1, 2, 3]) == .ok())
                #expect(try probe.ask("msync", "0") == .ok())
                try probe.ask("munmap", "0").required()
                #expect(try probe.open(0, path) == .noKey)
                try mount.unlock()
                #expect(try Array(probe.contents(path)[4096..<4099]) == [1, 2, 3])
            }
        }
    }
}
