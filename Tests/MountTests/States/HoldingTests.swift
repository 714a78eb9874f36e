import Foundation
import Glibc
import TestSupport
import Testing

extension MountTests {
    /// A lock waits for a command, as long as the policy allows.
    @Suite struct Holding {
        private func lock(_ mount: MountedVault) throws -> Outcome {
            try mount.latchkey("lock", mount.path).succeeded()
        }

        private func untilLocked(_ mount: MountedVault) throws {
            try until("the mount is locked") { try mount.status().state == "locked" }
        }

        @Test func aLockWaitsForTheEndOfTheCommand() throws {
            try withScene(["--default-class", "complete"], grace: 0) { scene in
                let mount = scene.mount
                try scene.makeFile("file")
                try scene.probe.open(0, scene.path("file"), "rw").required()
                let held = try HeldCommand(mount, options: ["--because", "nightly\nbackup"])
                let name = "sh (process \(held.child.pid)): nightly\\nbackup"
                let before = try mount.latchkey("status", mount.path).text
                #expect(
                    before.contains("  state       unlocked\n  holds       \(name), for at most 600 s"), "\(before)")

                let said = try lock(mount).text
                #expect(said.contains("is locking, held by \(name): the keys will be gone in at most "), "\(said)")
                let text = try mount.latchkey("status", mount.path).text
                #expect(text.contains("  state       locking, held by \(name)\n"), "\(text)")
                #expect(!text.contains("locked"), "\(text)")
                let status = try mount.status()
                #expect(status.state == "locking" && (590...600).contains(status.graceRemaining ?? 0))
                #expect(
                    status.holds == [
                        MountStatus.Hold(
                            pid: Int(held.child.pid), uid: geteuid(), command: "sh", because: "nightly\nbackup",
                            seconds: 600)
                    ])
                #expect(status.longestHold == 900)
                #expect(try scene.probe.pread(0, 0, 3).bytes() == [1, 2, 3])
                #expect(try scene.contents("file") == [1, 2, 3])
                try scene.makeFile("new")

                #expect(held.end() == 7)
                try untilLocked(mount)
                #expect(try scene.probe.pread(0, 0, 3) == .noKey)
                #expect(try mount.status().holds == nil)
                for line in ["hold begun", "the lock waits for a hold", "hold ended"] {
                    #expect(mount.messages.contains(line), "\(mount.messages)")
                }
                #expect(!mount.messages.contains("nightly\nbackup"), "a text of a client begins a line of the log")
            }
        }

        /// In the grace period a hold shows how long the keys stay at most; after its end the grace period is over as
        /// without it.
        @Test func theGraceIsAsLongAsWithoutIt() throws {
            try withMount(Vault(), grace: 300) { mount in
                let held = try HeldCommand(mount)
                let text = try lock(mount).text
                #expect(text.contains("is locking, held by sh"), "\(text)")
                #expect((890...900).contains(try mount.status().graceRemaining ?? 0))
                #expect(held.end() == 7)
                try until("the hold is gone") { try mount.status().holds == nil }
                let status = try mount.status()
                #expect(status.state == "locking" && (290...300).contains(status.graceRemaining ?? 0))
                try mount.unlock()
            }
        }

        /// The mount, which refuses contents at its deadline by itself, is told of a later one.
        @Test func aHoldThatComesInTheGrace() throws {
            try withScene(["--default-class", "complete"], grace: 4) { scene in
                try scene.makeFile("file")
                _ = try lock(scene.mount)
                let held = try HeldCommand(scene.mount)
                try until("the grace is over") { scene.mount.messages.contains("the lock waits for a hold") }
                #expect(try scene.contents("file") == [1, 2, 3])
                try scene.makeFile("new")
                #expect(held.end() == 7)
                try untilLocked(scene.mount)
                #expect(try scene.probe.open(0, scene.path("file")) == .noKey)
            }
        }

        @Test func aLockAtOnceDoesNotWait() throws {
            try withScene(["--default-class", "complete"], grace: 0) { scene in
                try scene.makeFile("file")
                for isLocking in [false, true] {
                    let held = try HeldCommand(scene.mount)
                    if isLocking { #expect(try lock(scene.mount).text.contains("held by")) }
                    try scene.mount.lockNow()
                    #expect(try scene.mount.status().state == "locked")
                    #expect(try scene.probe.open(0, scene.path("file")) == .noKey)
                    let told =
                        "latchkey: \(scene.mount.path): the hold has ended, because it was locked at once; sh goes on"
                    try until("told: \(held.said)") { held.said.contains(told) }
                    // It does not come alive again, although the command goes on.
                    try scene.mount.unlock()
                    #expect(try scene.mount.status().holds == nil)
                    _ = try lock(scene.mount)
                    try untilLocked(scene.mount)
                    #expect(held.end() == 7)
                    try scene.mount.unlock()
                }
            }
        }

        @Test func theTimeOfAHoldEnds() throws {
            try withScene(["--default-class", "complete"], grace: 0) { scene in
                try scene.makeFile("file")
                let long = try HeldCommand(scene.mount, time: "3s")
                let short = try HeldCommand(scene.mount, time: "1s")
                #expect(try lock(scene.mount).text.contains("held by 2 programs, first sh (process \(long.child.pid))"))
                try until("told: \(short.said)") { short.said.contains("because its time is over; sh goes on") }
                #expect(try scene.mount.status().holds?.map(\.pid) == [Int(long.child.pid)])
                #expect(try scene.contents("file") == [1, 2, 3])
                try untilLocked(scene.mount)
                try until("told: \(long.said)") { long.said.contains("because its time is over; sh goes on") }
                #expect(try scene.probe.open(0, scene.path("file")) == .noKey)
                #expect(long.end() == 7 && short.end() == 7)
            }
        }

        @Test func theLastOfTwoHoldsCounts() throws {
            try withMount(Vault(), grace: 0) { mount in
                let (one, two) = (try HeldCommand(mount), try HeldCommand(mount, time: "10m"))
                _ = try lock(mount)
                #expect(one.end() == 7)
                try until("one is left") { try mount.status().holds?.map(\.pid) == [Int(two.child.pid)] }
                #expect(try mount.status().state == "locking")
                #expect(two.end() == 7)
                try untilLocked(mount)
            }
        }

        /// The kernel closes the connection of a process that is killed, and its command has not inherited it.
        @Test func killed() throws {
            try withMount(Vault(), grace: 0) { mount in
                let held = try HeldCommand(mount, "echo $$ running; cat > /dev/null")
                try until("the command runs") { held.said.contains("running") }
                let command = try #require(held.said.split(separator: " ").first.flatMap { pid_t($0) })
                _ = try lock(mount)
                held.child.send(SIGKILL)
                #expect(held.child.wait() == 128 + SIGKILL)
                try untilLocked(mount)
                #expect(kill(command, 0) == 0, "the command goes on")
                held.endInput()
            }
        }

        /// In the grace period. After it Ctrl-C ends the countdown alone, which says so.
        @Test func aHoldGivesNoTimeToTakeALockBack() throws {
            try withMount(Vault(), grace: 0) { mount in
                let held = try HeldCommand(mount)
                let outcome = try mount.vault.latchkey(
                    ["lock", mount.path], answering: [("Ctrl-C ends only the countdown", "\u{3}")])
                #expect(outcome.status != 0 && !outcome.text.contains("takes the lock back"), "\(outcome)")
                #expect(try mount.status().state == "locking" && mount.status().holds?.count == 1)
                #expect(held.end() == 7)
                try untilLocked(mount)
            }
        }

        @Test func aLockIsTakenBackWhileItIsHeld() throws {
            try withMount(Vault(), grace: 60) { mount in
                let held = try HeldCommand(mount)
                let outcome = try mount.vault.latchkey(
                    ["lock", mount.path], answering: [("Ctrl-C takes the lock back", "\u{3}")])
                // What it says then, the terminal may drop, because it flushes its output at Ctrl-C.
                #expect(outcome.status != 0, "\(outcome)")
                let name = "The lock of \(mount.path) is held by sh (process \(held.child.pid)).\r\n"
                #expect(outcome.text.contains(name), "\(outcome)")
                #expect(outcome.text.contains("the keys will be gone in at most 660 s; Ctrl-C"), "\(outcome)")
                #expect(try mount.status().state == "unlocked")
                // The hold is for the next lock as well.
                _ = try lock(mount)
                #expect((600...660).contains(try mount.status().graceRemaining ?? 0))
                #expect(held.end() == 7)
                try mount.unlock()
            }
        }

        @Test func lockWithWaitSaysForWhat() throws {
            try withMount(Vault(), grace: 0) { mount in
                let held = try HeldCommand(mount)
                let output = try StreamFile()
                let waiting = try Child(
                    Built.latchkey, ["lock", "--wait", mount.path], environment: mount.vault.environment,
                    input: output.descriptor, output: output.descriptor, errors: output.descriptor)
                let name = "The lock of \(mount.path) is held by sh (process \(held.child.pid)).\n"
                try until("it says so") { String(decoding: output.contents, as: UTF8.self).contains(name) }
                #expect(held.end() == 7)
                #expect(waiting.wait() == 0)
                #expect(String(decoding: output.contents, as: UTF8.self).contains(" at the latest\n"))
                #expect(String(decoding: output.contents, as: UTF8.self).contains("is locked: the keys are gone"))
            }
        }

        @Test func everyChangeIsToldToThoseThatMonitor() throws {
            try withMount(Vault(), grace: 0) { mount in
                let output = try StreamFile()
                let monitor = try Child(
                    Built.latchkey, ["monitor", mount.path], environment: mount.vault.environment,
                    input: output.descriptor, output: output.descriptor, errors: output.descriptor)
                var events: [String] {
                    String(decoding: output.contents, as: UTF8.self).split(separator: "\n").map { line in
                        line.split(separator: " ").dropFirst(2).first.map { $0.filter { $0 != "," } } ?? ""
                    }
                }
                try until("it watches") { events.count == 1 }
                let held = try HeldCommand(mount)
                _ = try lock(mount)
                #expect(held.end() == 7)
                try untilLocked(mount)
                let expected = [
                    "unlocked", "did-begin-hold", "will-become-unavailable", "did-become-held", "did-end-hold",
                    "did-become-unavailable",
                ]
                try until("all are told") { events.count >= expected.count }
                #expect(events == expected)
                monitor.send(SIGKILL)
            }
        }

        @Test func thePolicyLimitsIt() throws {
            let vault = try Vault()
            let marker = vault.folder.path("marker")
            let policy = try vault.folder.write("longest-hold = 0\n", to: "policy.toml", mode: 0o644)
            try withMount(vault, grace: 0, options: ["--policy", policy]) { mount in
                let refused = try mount.latchkey("hold", "--for", "1s", "--vault", mount.path, "touch", marker)
                #expect(refused.status == 1 && !Disk.exists(marker), "\(refused)")
                let reason = "a hold of 1 second is longer than the 0 of \(policy), line 1"
                #expect(refused.errors.contains(reason), "\(refused)")
                #expect(try mount.status().longestHold == 0)
            }
            _ = try vault.folder.write("longest-hold = 1\n", to: "policy.toml", mode: 0o644)
            try withMount(vault, grace: 0, options: ["--policy", policy]) { mount in
                let held = try HeldCommand(mount)
                #expect(
                    held.said.contains("latchkey: \(mount.path): the policy allows a hold of 1 s\n"), "\(held.said)")
                #expect(try lock(mount).text.contains("held by sh"))
                try untilLocked(mount)
                try until("told: \(held.said)") { held.said.contains("because its time is over") }
                #expect(held.end() == 7)
                let checked = try mount.latchkey("policy", "check", "--policy", policy, mount.path)
                #expect(checked.text.contains("line 1  kept"), "\(checked)")
            }
            // A policy besides the machine's does not allow more than the machine's, whose default is 15 minutes.
            _ = try vault.folder.write("longest-hold = 86400\n", to: "policy.toml", mode: 0o644)
            try withMount(vault, grace: 0, options: ["--policy", policy]) { mount in
                let status = try mount.status()
                #expect(status.longestHold == 900)
                _ = try vault.folder.write("longest-hold = 60\n", to: "policy.toml", mode: 0o644)
                let checked = try mount.latchkey("policy", "check", "--policy", policy, mount.path)
                #expect(checked.status == 1 && checked.text.contains("line 1  broken"), "\(checked)")
                #expect(checked.errors.contains("a hold of 900 seconds is longer than the 60"), "\(checked)")
            }
        }

        @Test func anUnmountDoesNotWait() throws {
            let mount = try MountedVault(Vault(), grace: 300)
            let held = try HeldCommand(mount)
            _ = try lock(mount)
            try mount.unmount()
            try until("told: \(held.said)") { held.said.contains("because it was unmounted; sh goes on") }
            #expect(held.end() == 7)
        }

        private enum Way: CaseIterable { case lazily, bySignal, detached }

        /// Nor does one of a mount in use: the keys go at once, or after the grace period.
        @Test(arguments: Way.allCases) private func anUnmountInUseDoesNotWait(_ way: Way) throws {
            let mount = try MountedVault(try Vault(["--default-class", "complete"]), grace: 0)
            let probe = try Probe()
            try probe.open(0, mount.file("file"), "rw,creat").required()
            try probe.pwrite(0, 0, [1, 2, 3]).required()
            let held = try HeldCommand(mount)
            _ = try lock(mount)
            #expect(try probe.pread(0, 0, 3).bytes() == [1, 2, 3])
            switch way {
            case .lazily: try mount.latchkey("unmount", "--lazy", mount.path).succeeded()
            case .bySignal: mount.daemon.send(SIGTERM)
            case .detached: mount.detach()
            }
            let end = way == .lazily ? "because it was locked at once" : "because it was unmounted"
            try until("told: \(held.said)") { held.said.contains(end) }
            try until("locked") { try probe.pread(0, 0, 3) == .noKey }
            // A mount that is to end waits for no program.
            if way != .lazily {
                try mount.latchkey("unlock", mount.vault.path, "--passcode-file", mount.vault.passcodeFile).succeeded()
                let refused = try mount.vault.latchkey(["hold", "--for", "9s", "--vault", mount.vault.path, "true"])
                #expect(refused.status == 4 && refused.errors.contains("is unmounted, and ends when"), "\(refused)")
            }
            #expect(held.end() == 7)
            try probe.close(0).required()
            mount.expectEnded(status: 0)
            probe.process.send(9)
            probe.process.wait()
        }

        /// As many as there may be, and half a hundred silent clients besides: a lock is asked for all the same.
        @Test func heldConnectionsKeepNobodyFromLocking() throws {
            try withMount(Vault(), grace: 0) { mount in
                let script = """
                    import json, socket, subprocess, sys
                    def connect():
                        connection = socket.socket(socket.AF_UNIX)
                        connection.connect(sys.argv[1])
                        return connection
                    def call(connection, method, more=False, **parameters):
                        message = {"method": "io.latchkey." + method, "parameters": parameters, "more": more}
                        connection.sendall(json.dumps(message).encode() + b"\\0")
                        return answer(connection)
                    def answer(connection):
                        reply = b""
                        while not reply.endswith(b"\\0"):
                            some = connection.recv(65536)
                            if not some: return {}
                            reply += some
                        return json.loads(reply[:-1])
                    holding, refused = [], 0
                    for number in range(40):
                        connection = connect()
                        reply = call(connection, "Hold", True, seconds=1e300, command="x" * 1000)
                        if reply.get("continues"): holding.append(connection)
                        else: refused += 1
                    silent = [connect() for _ in range(40)]
                    status = call(connect(), "Status")["parameters"]["status"]
                    first = status["holds"][0]
                    print(len(holding), refused, len(status["holds"]), first["seconds"], len(first["command"]))
                    print(call(connect(), "Lock")["parameters"]["status"]["state"])
                    print(call(connect(), "Lock", now=True)["parameters"]["status"]["state"] in ("locking", "locked"))
                    print({json.dumps(answer(connection)) for connection in holding})
                    """
                let said = try run("python3", ["-c", script, try mount.socket()]).text
                let ended = #"{'{"parameters": {"ended": "locked", "seconds": 900}}'}"#
                #expect(said == "32 8 32 900 200\nlocking\nTrue\n\(ended)\n")
                try untilLocked(mount)
                #expect(try mount.status().holds == nil)
            }
        }
    }
}
