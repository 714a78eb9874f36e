import Foundation
import Glibc
import TestSupport
import Testing

extension MountTests {
    /// Ten seconds: the keys are in memory until the grace ends, and gone afterwards.
    @Suite struct Grace {
        private func wait(until instant: ContinuousClock.Instant) {
            Thread.sleep(forTimeInterval: max(0, (instant - .now) / .seconds(1)))
        }

        /// The default: the keys are in memory at 9 s, and gone at 11 s.
        @Test func tenSeconds() throws {
            let vault = try Vault(["--default-class", "complete"])
            let mount = try MountedVault(vault, grace: nil)
            let probe = try Probe()
            try probe.write(mount.file("file"), [1, 2, 3])
            try probe.open(0, mount.file("file"), "rw").required()
            try probe.map(0, 0, 3).required()
            let asked = ContinuousClock.now
            let said = try mount.latchkey("lock", mount.path).succeeded()
            let answered = ContinuousClock.now
            #expect(!said.text.isEmpty, "lock says when the keys will be gone")
            #expect(answered - asked < .seconds(1), "lock does not wait")
            let status = try mount.status()
            #expect(status.state == "locking")
            #expect((8.0...10.0).contains(status.graceRemaining ?? 0))

            wait(until: asked + .seconds(9))
            #expect(try probe.contents(mount.file("file")) == [1, 2, 3], "at 9 s")
            #expect(try probe.pread(0, 0, 3).bytes() == [1, 2, 3], "at 9 s")
            wait(until: answered + .seconds(11))
            #expect(try probe.open(1, mount.file("file")) == .noKey, "at 11 s")
            #expect(try probe.pread(0, 0, 3) == .noKey, "at 11 s")
            #expect(try probe.touch(0, 0, 3) == .bus, "at 11 s")
            #expect(try mount.status().state == "locked")
            probe.process.send(9)
            probe.process.wait()
            try mount.unmount()
        }

        /// The same on another scale, many times in one mount.
        @Test func manyTimes() throws {
            try withScene(["--default-class", "complete"], grace: 1) { scene in
                try scene.makeFile("file")
                try scene.probe.open(0, scene.path("file"), "rw").required()
                for turn in 1...6 {
                    let asked = ContinuousClock.now
                    try scene.mount.latchkey("lock", scene.mount.path).succeeded()
                    let answered = ContinuousClock.now
                    wait(until: asked + .milliseconds(850))
                    #expect(try scene.probe.pread(0, 0, 3).bytes() == [1, 2, 3], "turn \(turn)")
                    wait(until: answered + .milliseconds(1300))
                    #expect(try scene.probe.pread(0, 0, 3) == .noKey, "turn \(turn)")
                    #expect(try scene.probe.open(1, scene.path("file")) == .noKey, "turn \(turn)")
                    try scene.mount.unlock()
                    #expect(try scene.probe.pread(0, 0, 3).bytes() == [1, 2, 3], "turn \(turn)")
                }
            }
        }

        /// A machine that wakes up wakes all threads at once, the one that evicts the keys among them. To stop and
        /// continue the daemon is the nearest that a test comes to it.
        @Test func aDaemonThatWakesPastTheDeadlineServesNoRequest() throws {
            try withScene(["--default-class", "complete"], grace: 1) { scene in
                let probes = try (0..<12).map { _ in try Probe() }
                defer {
                    scene.mount.daemon.send(SIGCONT)
                    for probe in probes {
                        probe.process.send(SIGKILL)
                        probe.process.wait()
                    }
                }
                // Bypassing the page cache, each in a file of its own: every read is a request.
                for (number, probe) in probes.enumerated() {
                    try scene.makeFile("\(number)", [UInt8](seed: 1, count: 4096))
                    try probe.open(0, scene.path("\(number)"), "r,direct").required()
                }
                for turn in 0..<4 {
                    for probe in probes { #expect(try probe.pread(0, 0, 4096).succeeded) }
                    try scene.mount.latchkey("lock", scene.mount.path).succeeded()
                    let locked = ContinuousClock.now
                    try stop(scene.mount.daemon.pid)
                    for probe in probes { try probe.send(["pread", "0", "0", "4096"]) }
                    wait(until: locked + .milliseconds(1100))
                    scene.mount.daemon.send(SIGCONT)
                    for probe in probes { #expect(try probe.answer() == .noKey, "turn \(turn)") }
                    try scene.mount.unlock()
                }
            }
        }

        /// Returns when every thread of the process is stopped.
        private func stop(_ pid: pid_t) throws {
            kill(pid, SIGSTOP)
            let end = ContinuousClock.now + .seconds(10)
            while true {
                let tasks = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/task")
                let isStopped = try tasks.allSatisfy { task in
                    let text = try String(contentsOfFile: "/proc/\(pid)/task/\(task)/stat", encoding: .utf8)
                    return text.split(separator: ")").last?.hasPrefix(" T") == true
                }
                if isStopped { return }
                guard ContinuousClock.now < end else { throw HarnessError("\(pid) does not stop") }
            }
        }

        /// The boot clock runs while the machine is suspended.
        @Test(.enabled(if: geteuid() == 0, "only root may inspect the daemon")) func theTimerIsOfTheBootClock() throws {
            try withScene(grace: 3600) { scene in
                try scene.mount.latchkey("lock", scene.mount.path).succeeded()
                let folder = "/proc/\(scene.mount.daemon.pid)/fdinfo/"
                let timers = try FileManager.default.contentsOfDirectory(atPath: folder)
                    .compactMap { try? String(contentsOfFile: folder + $0, encoding: .utf8) }
                    .filter { $0.contains("clockid:") }
                let armed = timers.filter { !$0.contains("it_value: (0, 0)") }
                #expect(armed.count == 1, "\(timers)")
                #expect(armed.allSatisfy { $0.contains("clockid: \(CLOCK_BOOTTIME)\n") }, "\(timers)")
            }
        }

        @Test func unlockingCancels() throws {
            try withScene(["--default-class", "complete"], grace: 1) { scene in
                try scene.makeFile("file")
                try scene.mount.latchkey("lock", scene.mount.path).succeeded()
                try scene.mount.unlock()
                #expect(try scene.mount.status().state == "unlocked")
                wait(until: .now + .milliseconds(1500))
                #expect(try scene.mount.status().state == "unlocked")
                #expect(try scene.contents("file") == [1, 2, 3])
            }
        }

        @Test func aWrongPasscodeDoesNotCancel() throws {
            try withScene(["--default-class", "complete"], grace: 1) { scene in
                try scene.makeFile("file")
                try scene.mount.latchkey("lock", scene.mount.path).succeeded()
                let wrong = try scene.mount.vault.folder.write("wrong", to: "wrong")
                let outcome = try scene.mount.latchkey("unlock", scene.mount.path, "--passcode-file", wrong)
                #expect(outcome.status == 3)
                try scene.mount.latchkey("lock", scene.mount.path, "--wait").succeeded()
                #expect(try scene.probe.open(0, scene.path("file")) == .noKey)
            }
        }

        @Test func aSecondLockDoesNotMoveTheDeadline() throws {
            try withScene(["--default-class", "complete"], grace: 2) { scene in
                try scene.makeFile("file")
                try scene.mount.latchkey("lock", scene.mount.path).succeeded()
                let answered = ContinuousClock.now
                wait(until: answered + .milliseconds(1000))
                try scene.mount.latchkey("lock", scene.mount.path).succeeded()
                #expect(try scene.mount.status().state == "locking")
                wait(until: answered + .milliseconds(2400))
                #expect(try scene.probe.open(0, scene.path("file")) == .noKey)
                #expect(try scene.mount.status().state == "locked")
            }
        }

        @Test func nowSkipsItAlsoWhileItRuns() throws {
            try withScene(["--default-class", "complete"], grace: 3600) { scene in
                try scene.makeFile("file")
                try scene.mount.latchkey("lock", scene.mount.path).succeeded()
                #expect(try scene.mount.status().state == "locking")
                let start = ContinuousClock.now
                try scene.mount.lockNow()
                #expect(ContinuousClock.now - start < .seconds(3))
                #expect(try scene.probe.open(0, scene.path("file")) == .noKey)
            }
        }

        @Test func waitReturnsWhenTheKeysAreGone() throws {
            try withScene(["--default-class", "complete"], grace: 1) { scene in
                try scene.makeFile("file")
                let start = ContinuousClock.now
                try scene.mount.latchkey("lock", scene.mount.path, "--wait").succeeded()
                let took = ContinuousClock.now - start
                #expect(try scene.probe.open(0, scene.path("file")) == .noKey)
                #expect((Duration.milliseconds(950)...Duration.seconds(3)).contains(took), "\(took)")
            }
        }
    }
}
