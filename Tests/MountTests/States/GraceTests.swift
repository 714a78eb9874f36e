import Foundation
import Testing

extension MountTests {
    /// Ten seconds: the keys are there until the grace ends, and gone when it has.
    @Suite struct Grace {
        private func wait(until instant: ContinuousClock.Instant) {
            Thread.sleep(forTimeInterval: max(0, (instant - .now) / .seconds(1)))
        }

        /// The default: there at 9 s, gone at 11 s.
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

        /// The same at another scale, many times over one mount.
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
