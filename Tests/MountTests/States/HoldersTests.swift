import Glibc
import TestSupport
import Testing

extension MountTests {
    /// `status --holders`: which programs have which files open or mapped.
    @Suite struct HolderTests {
        private func holders(_ scene: Scene) throws -> MountStatus {
            let outcome = try scene.mount.latchkey("status", scene.mount.path, "--holders", "--json").succeeded()
            return try MountStatus(json: outcome.output)
        }

        private func holder(_ process: Child, in status: MountStatus) throws -> MountStatus.Holder? {
            try #require(status.holders).first { $0.pid == Int(process.pid) }
        }

        @Test func openAndMappedFilesAreCountedByClass() throws {
            try withScene { scene in
                for kind in ProtectionClass.allCases { try scene.makeFile("file-\(kind)", class: kind) }
                try scene.makeFolder("folder")
                let other = try Probe()
                try scene.probe.open(0, scene.path("file-A"), "rw").required()
                try scene.probe.open(1, scene.path("file-A")).required()
                try scene.probe.open(2, scene.path("file-C")).required()
                try scene.probe.open(3, scene.path("folder"), "r,dir").required()
                try scene.probe.map(0, 0, 3, "shared", "r").required()
                // Only mapped, and only in another process.
                try other.open(0, scene.path("file-B")).required()
                try other.map(0, 0, 3, "private", "r").required()
                try other.close(0).required()

                let status = try holders(scene)
                let first = try #require(try holder(scene.probe.process, in: status))
                #expect(first.name == "probe")
                #expect(first.openFiles == ["complete": 1, "complete-until-first-user-authentication": 1])
                #expect(first.mappedFiles == ["complete": 1])
                let second = try #require(try holder(other.process, in: status))
                #expect(second.openFiles == [:])
                #expect(second.mappedFiles == ["complete-unless-open": 1])
                #expect(status.unseenProcesses != nil)

                // The command also answers while locked, and for an unlinked file.
                try scene.probe.ask("unlink", scene.path("file-A")).required()
                try scene.mount.lockNow()
                #expect(try holder(scene.probe.process, in: try holders(scene)) == first)
                let text = try scene.mount.latchkey("status", scene.mount.path, "--holders").succeeded().text
                let line = "\(scene.probe.process.pid) (probe): A: 1 open, 1 mapped; C: 1 open; 1 folder\n"
                #expect(text.contains(line), "\(text)")

                other.process.send(SIGKILL)
                other.process.wait()
                #expect(try holder(other.process, in: try holders(scene)) == nil)
            }
        }

        @Test func withoutHoldersNoneIsListed() throws {
            try withScene { scene in
                try scene.makeFile("file")
                #expect(try holders(scene).holders == [])
                let text = try scene.mount.latchkey("status", scene.mount.path, "--holders").succeeded().text
                #expect(text.contains("no process"))
            }
        }
    }
}
