import Foundation
import Glibc
import TestSupport
import Testing

extension MountTests {
    /// A mount that is lazily unmounted while programs use it: its keys do not stay in memory out of sight.
    @Suite struct LazyUnmount {
        private func makeScene(_ body: (MountedVault, Probe) throws -> Void) throws {
            let vault = try Vault(["--default-class", "complete"])
            let probe = try Probe()
            let mount = try MountedVault(vault, options: [])
            defer {
                probe.process.send(SIGKILL)
                probe.process.wait()
                mount.detach()
                _ = mount.daemon.wait(seconds: 20)
                mount.daemon.send(SIGKILL)
            }
            try probe.open(0, mount.file("strict"), "rw,creat").required()
            try probe.pwrite(0, 0, [1, 2, 3]).required()
            try probe.write(mount.file("loose"), [4, 5, 6])
            try mount.latchkey("class", "set", "none", mount.file("loose")).succeeded()
            try probe.open(1, mount.file("loose"), "rw").required()
            try body(mount, probe)
        }

        private func expectLocked(_ mount: MountedVault, _ probe: Probe) throws {
            #expect(try probe.pread(0, 0, 3) == .noKey)
            #expect(try probe.pwrite(0, 3, [4]) == .noKey)
            #expect(try probe.pread(1, 0, 3).bytes() == [4, 5, 6])
            let said = try mount.latchkey("status", mount.vault.path).succeeded()
            #expect(said.text.contains("ending: \(mount.path) is unmounted"), "\(said)")
            #expect(said.text.contains("\(probe.process.pid) (probe): A: 1 open; D: 1 open"), "\(said)")
            #expect(said.text.contains("locked: A and closed files of B"), "\(said)")
        }

        /// Acknowledged writes are there, and the daemon ends with the last user.
        private func expectEnd(_ mount: MountedVault, _ probe: Probe) throws {
            try probe.close(0).required()
            try probe.close(1).required()
            mount.expectEnded(status: 0)
            try withMount(mount.vault) { mount in
                let contents = try probe.contents(mount.file("strict"))
                #expect(contents == [1, 2, 3])
            }
        }

        @Test func itLocksWithoutGraceAndNamesItsUsers() throws {
            try makeScene { mount, probe in
                let said = try mount.latchkey("unmount", "--lazy", mount.path).succeeded()
                #expect(said.text.contains("\(mount.path) is ending"), "\(said)")
                #expect(said.text.contains("\(probe.process.pid) (probe): A: 1 open; D: 1 open"), "\(said)")
                try expectLocked(mount, probe)
                // Also by the path of the former mount point.
                let status = try mount.latchkey("status", mount.path, "--json").succeeded()
                #expect(status.text.contains(#""ending" : true"#), "\(status)")

                let again = try mount.latchkey("unmount", mount.path)
                #expect(again.status == 1 && again.errors.contains("(probe)"), "\(again)")
                try mount.latchkey("unmount", "--lazy", mount.path).succeeded()

                let other = try mount.latchkey("mount", mount.vault.path, mount.path)
                #expect(
                    other.status == 1 && other.errors.contains("programs use its files:\n")
                        && other.errors.contains("(probe)"), "\(other)")
                try expectEnd(mount, probe)
            }
        }

        /// Handles that stay open obey a lock and an unlock.
        @Test func itUnlocksForItsUsers() throws {
            try makeScene { mount, probe in
                try mount.latchkey("unmount", "--lazy", mount.path).succeeded()
                try mount.latchkey("unlock", mount.vault.path, "--passcode-file", mount.vault.passcodeFile).succeeded()
                #expect(try probe.pread(0, 0, 3).bytes() == [1, 2, 3])
                try mount.latchkey("lock", "--now", "--wait", mount.path).succeeded()
                try expectLocked(mount, probe)
                try expectEnd(mount, probe)
            }
        }

        /// By umount(8), which sends the daemon no request.
        @Test func takenAwayByTheKernelItLocks() throws {
            try makeScene { mount, probe in
                try #require(unsafe umount2(mount.path, Int32(MNT_DETACH)) == 0)
                try untilLocked(mount)
                try expectLocked(mount, probe)
                try expectEnd(mount, probe)
            }
        }

        @Test func endedByASignalItLocks() throws {
            try makeScene { mount, probe in
                mount.daemon.send(SIGTERM)
                try untilLocked(mount)
                try expectLocked(mount, probe)
                try expectEnd(mount, probe)
            }
        }

        /// A shell whose working folder is in the mount counts as a user.
        @Test func aWorkingFolderIsNamed() throws {
            let vault = try Vault()
            let mount = try MountedVault(vault)
            defer { mount.detach() }
            let streams = try StreamFile()
            let shell = try Child(
                "/bin/sh", ["-c", "cd \"$0\" && exec sleep 30", mount.path], environment: vault.environment,
                input: streams.descriptor, output: streams.descriptor, errors: streams.descriptor)
            defer { shell.send(SIGKILL) }
            let end = ContinuousClock.now + .seconds(10)
            var said = try mount.latchkey("status", "--holders", mount.path).succeeded()
            while !said.text.contains("\(shell.pid) (sleep): 1 folder"), ContinuousClock.now < end {
                said = try mount.latchkey("status", "--holders", mount.path).succeeded()
            }
            #expect(said.text.contains("\(shell.pid) (sleep): 1 folder"), "\(said)")
            shell.send(SIGKILL)
            shell.wait()
            try mount.unmount()
        }

        private func untilLocked(_ mount: MountedVault) throws {
            let end = ContinuousClock.now + .seconds(20)
            while true {
                let said = try mount.latchkey("status", mount.vault.path, "--json").succeeded()
                if said.text.contains(#""state" : "locked""#), said.text.contains(#""ending" : true"#) { return }
                guard ContinuousClock.now < end else { throw HarnessError("not locked: \(said)") }
                usleep(20_000)
            }
        }
    }
}
