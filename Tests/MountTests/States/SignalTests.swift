import Foundation
import TestSupport
import Testing

extension MountTests {
    /// What reaches the daemon from outside: signals, lost clients, a lost socket, its own death.
    @Suite struct Signals {
        @Test func userSignalLocks() throws {
            try withScene(["--default-class", "complete"], grace: 1) { scene in
                try scene.makeFile("file")
                scene.mount.daemon.send(SIGUSR1)
                // The signal has no answer; a lock that waits has one, and does not move the deadline.
                try scene.mount.latchkey("lock", scene.mount.path, "--wait").succeeded()
                #expect(try scene.mount.status().state == "locked")
                #expect(try scene.probe.open(0, scene.path("file")) == .noKey)
            }
        }

        /// Also without a command that locks.
        @Test func userSignalAloneLocks() throws {
            try withScene(["--default-class", "complete"], grace: 1) { scene in
                try scene.makeFile("file")
                try scene.probe.open(0, scene.path("file"), "rw").required()
                scene.mount.daemon.send(SIGUSR1)
                let end = ContinuousClock.now + .seconds(3)
                while try scene.probe.pread(0, 0, 3).succeeded, ContinuousClock.now < end {
                    Thread.sleep(forTimeInterval: 0.05)
                }
                #expect(try scene.probe.pread(0, 0, 3) == .noKey, "3 s after SIGUSR1 with a grace of 1 s")
                #expect(try scene.mount.status().state == "locked")
            }
        }

        @Test func terminationUnmounts() throws {
            let vault = try Vault(["--default-class", "complete"])
            let probe = try Probe()
            let mount = try MountedVault(vault)
            try probe.open(0, mount.file("file"), "rw,creat").required()
            try probe.pwrite(0, 0, [1, 2, 3]).required()
            try probe.close(0).required()
            mount.daemon.send(SIGTERM)
            mount.expectEnded(status: 0)
            try withMount(vault) { mount in
                let contents = try probe.contents(mount.file("file"))
                #expect(contents == [1, 2, 3])
            }
        }

        /// The end of a login sends both at once: the daemon goes on for the program that uses the mount.
        @Test(arguments: [[SIGTERM, SIGHUP], [SIGHUP, SIGTERM]])
        func aHangupIsNoSecondRequest(_ signals: [Int32]) throws {
            let vault = try Vault()
            let probe = try Probe()
            let mount = try MountedVault(vault)
            defer { mount.detach() }
            try probe.open(0, mount.file("file"), "rw,creat").required()
            for signal in signals {
                mount.daemon.send(signal)
                // Taken by the daemon before the next one.
                let end = ContinuousClock.now + .seconds(10)
                while !mountLines(of: mount.path).isEmpty, ContinuousClock.now < end { usleep(1000) }
            }
            #expect(try probe.pwrite(0, 0, [1, 2, 3]).succeeded)
            #expect(try probe.pread(0, 0, 3).bytes() == [1, 2, 3])
            try probe.close(0).required()
            mount.expectEnded(status: 0)
        }

        /// The daemon also ends when umount(8) unmounts it.
        @Test func umountEndsTheDaemon() throws {
            let mount = try MountedVault(try Vault())
            try run("umount", [mount.path]).succeeded()
            mount.expectEnded(status: 0)
        }

        @Test func aKilledClientChangesNothing() throws {
            try withScene(["--default-class", "complete"], grace: 2) { scene in
                try scene.makeFile("file")
                let nowhere = try StreamFile()
                // A command that waits for the lock is killed: the lock goes on.
                let locking = try Child(
                    Built.latchkey, ["lock", scene.mount.path, "--wait"], environment: scene.mount.vault.environment,
                    input: nowhere.descriptor, output: nowhere.descriptor, errors: nowhere.descriptor)
                let end = ContinuousClock.now + .seconds(5)
                while try scene.mount.status().state == "unlocked", ContinuousClock.now < end {}
                locking.send(SIGKILL)
                locking.wait()
                try scene.mount.latchkey("lock", scene.mount.path, "--wait").succeeded()
                #expect(try scene.mount.status().state == "locked")

                // A command that has not yet sent its passcode.
                var unlocking: Child? = try Child(
                    "sh", ["-c", "sleep 60 | exec \(Built.latchkey) unlock \(scene.mount.path)"],
                    environment: scene.mount.vault.environment,
                    input: nowhere.descriptor, output: nowhere.descriptor, errors: nowhere.descriptor)
                Thread.sleep(forTimeInterval: 0.2)
                unlocking?.send(SIGKILL)
                unlocking?.wait()
                unlocking = nil
                #expect(try scene.mount.status().state == "locked")
                try scene.mount.unlock()
                #expect(try scene.contents("file") == [1, 2, 3])
            }
        }

        /// Without its socket the mount works, and still locks and ends by signals.
        @Test func aLostSocketChangesNothing() throws {
            let mount = try MountedVault(try Vault(["--default-class", "complete"]), grace: 0)
            let probe = try Probe()
            try probe.write(mount.file("file"), [1, 2, 3])
            try probe.open(0, mount.file("file"), "rw").required()
            let socket = try mount.socket()
            try FileManager.default.removeItem(atPath: socket)
            #expect(try probe.contents(mount.file("file")) == [1, 2, 3])
            mount.daemon.send(SIGUSR1)
            let end = ContinuousClock.now + .seconds(3)
            while try probe.pread(0, 0, 3).succeeded, ContinuousClock.now < end {
                Thread.sleep(forTimeInterval: 0.02)
            }
            #expect(try probe.pread(0, 0, 3) == .noKey)
            probe.process.send(9)
            probe.process.wait()
            mount.daemon.send(SIGTERM)
            mount.expectEnded(status: 0)
        }

        /// A client that sends invalid bytes or half a message, or closes at once.
        @Test(arguments: ["", "{\"method\":\"io.latchkey.Lo", "garbage\\0", "{}\\0", "\\0\\0\\0", "[[[[[[\\0"])
        func aBrokenClientChangesNothing(_ message: String) throws {
            try withScene { scene in
                try scene.makeFile("file")
                try run(
                    "python3",
                    [
                        "-c",
                        """
                        import socket, sys
                        s = socket.socket(socket.AF_UNIX)
                        s.settimeout(5)
                        s.connect(sys.argv[1])
                        s.sendall(sys.argv[2].encode().decode('unicode_escape').encode())
                        s.close()
                        """, scene.mount.socket(), message,
                    ]
                ).succeeded()
                #expect(try scene.mount.status().state == "unlocked")
                #expect(try scene.contents("file") == [1, 2, 3])
            }
        }
    }
}
