import Foundation
import Glibc
import TestSupport
import Testing

extension MountTests {
    /// A vault on a disk that does not answer: only requests that need the disk wait.
    @Suite(.enabled(if: geteuid() == 0, "root alone sees what waits for a file system")) struct SlowDisk {
        private func withStoppableVault(_ body: (StoppableDisk, MountedVault, Probe) throws -> Void) throws {
            let disk = try StoppableDisk()
            let vault = try Vault(["--default-class", "complete"], at: disk.path + "/vault")
            try withMount(vault) { mount in
                let probe = try Probe()
                defer {
                    disk.go()
                    probe.process.send(SIGKILL)
                    probe.process.wait()
                }
                try body(disk, mount, probe)
            }
            withExtendedLifetime(disk) {}
        }

        /// The last close of an unlinked file removes it from the disk: the daemon waits with the node's lock held.
        @Test func aRequestThatIsStuckDelaysNeitherStatusNorLock() throws {
            try withStoppableVault { disk, mount, probe in
                try probe.write(mount.file("file"), [1, 2, 3])
                try probe.open(0, mount.file("file"), "rw").required()
                try probe.pread(0, 0, 3).required()
                try probe.open(1, mount.path, "rw,tmpfile").required()
                #expect(try mount.status().openFiles["complete"] == 2)

                try disk.stop()
                try probe.close(1).required()
                try disk.untilWaiting(1)
                let status = try mount.status()
                #expect(status.state == "unlocked")
                #expect(status.openFiles["complete"] == 1)

                mount.daemon.send(SIGUSR1)
                try mount.latchkey("lock", mount.path, "--wait").succeeded()
                let locked = try mount.status()
                #expect(locked.state == "locked")
                #expect(locked.fileKeysInMemory == 0)
                #expect(!locked.classKeys.contains("complete"))
                #expect(disk.waiting > 0, "the disk has stood still all the time")
                #expect(try probe.pread(0, 0, 3) == .noKey)
            }
        }

        /// A second SIGTERM makes all durable first: until the disk answers, the lock goes on.
        @Test func aSecondSignalDelaysNoLock() throws {
            let disk = try StoppableDisk()
            let vault = try Vault(["--default-class", "complete"], at: disk.path + "/vault")
            let mount = try MountedVault(vault, grace: 1)
            let probe = try Probe()
            defer {
                disk.go()
                probe.process.send(SIGKILL)
                probe.process.wait()
                mount.detach()
            }
            try probe.write(mount.file("file"), [1, 2, 3])
            try probe.open(0, mount.file("file"), "rw").required()
            try probe.pwrite(0, 0, [4]).required()
            try disk.stop()
            mount.daemon.send(SIGTERM)
            let end = ContinuousClock.now + .seconds(20)
            while !mountLines(of: mount.path).isEmpty, ContinuousClock.now < end { usleep(1000) }
            mount.daemon.send(SIGTERM)
            while try probe.pread(0, 0, 3).succeeded, ContinuousClock.now < end { usleep(10_000) }
            #expect(try probe.pread(0, 0, 3) == .noKey)
            disk.go()
            _ = mount.daemon.wait(seconds: 20)
            withExtendedLifetime(disk) {}
        }

        /// A request that is inside its class's gate: opening the gates must not wait for it.
        @Test func aRequestThatIsStuckDelaysNoUnlock() throws {
            try withStoppableVault { disk, mount, probe in
                let other = try Probe()
                defer {
                    disk.go()
                    other.process.send(SIGKILL)
                    other.process.wait()
                }
                try probe.write(mount.file("file"), [UInt8](seed: 1, count: 100_000))
                try probe.setClass("none", of: mount.file("file")).required()
                try probe.open(0, mount.file("file"), "rw").required()
                try mount.lockNow()

                try disk.stop()
                // Not in the page cache: the daemon must read the block that is partly overwritten.
                try probe.send(["pwrite", "0", "50000", "010203"])
                try disk.untilWaiting(1)
                try mount.unlock()
                #expect(try mount.status().state == "unlocked")
                try mount.latchkey("lock", mount.path, "--now", "--wait").succeeded()
                #expect(try mount.status().state == "locked")
                #expect(disk.waiting > 0, "the disk has stood still all the time")
                disk.go()
                #expect(try probe.answer().succeeded)
            }
        }
    }
}
