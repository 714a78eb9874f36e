import TestSupport
import Testing

extension MountTests {
    /// Files that a sync program replaces while the vault is mounted.
    @Suite struct ReplacedFiles {
        /// A file of the same ID and another class, before the kernel has looked it up again.
        @Test func aStricterClassThanTheKernelKnows() throws {
            try withScene { scene in
                try scene.makeFile("file", class: .complete, [1, 2, 3])
                let backing = try scene.mount.backingPath("file")
                try shell("sync; cp -p '\(backing)' '\(backing).tmp'").succeeded()
                try scene.setClass(.completeUntilFirstUserAuthentication, of: "file")
                #expect(try scene.contents("file") == [1, 2, 3])
                try shell("mv '\(backing).tmp' '\(backing)'").succeeded()
                try scene.probe.open(0, scene.path("file"), "rw").required()
                #expect(try scene.probe.pread(0, 0, 3).bytes() == [1, 2, 3])
                try scene.mount.lockNow()
                #expect(try scene.probe.pread(0, 0, 3) == .noKey)
                #expect(try scene.mount.status().fileKeysInMemory == 0)
            }
        }
    }
}
