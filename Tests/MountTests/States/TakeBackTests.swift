import Glibc
import TestSupport
import Testing

extension MountTests {
    /// `lock` at a terminal: says what happens to whom, counts down, and Ctrl-C takes the lock back.
    @Suite struct TakeBack {
        private static let offer = "Ctrl-C takes the lock back"

        @Test func controlC() throws {
            try withScene(["--default-class", "complete"], grace: 300) { scene in
                try scene.makeFile("mapped")
                try scene.makeFile("opened")
                try scene.makeFile("service", class: .completeUntilFirstUserAuthentication)
                let (mapper, other) = (try Probe(), try Probe())
                try mapper.open(0, scene.path("mapped")).required()
                try mapper.map(0, 0, 3, "shared", "r").required()
                try mapper.close(0).required()
                try scene.probe.open(0, scene.path("opened")).required()
                try other.open(0, scene.path("service")).required()
                let outcome = try scene.mount.vault.latchkey(
                    ["lock", scene.mount.path], answering: [(Self.offer, "\u{3}")])
                #expect(outcome.status != 0 && outcome.text.contains("its lock is taken back"), "\(outcome)")
                #expect(outcome.text.contains("lose files of class A when \(scene.mount.path) locks"), "\(outcome)")
                let killed = "\(mapper.process.pid) (probe): 1 file mapped, its next access kills it (SIGBUS)"
                let failing = "\(scene.probe.process.pid) (probe): 1 file open, reads and writes fail"
                #expect(outcome.text.contains(killed) && outcome.text.contains(failing), "\(outcome)")
                #expect(!outcome.text.contains("\(other.process.pid) (probe)"), "\(outcome)")
                #expect(outcome.text.contains("the keys will be gone in "), "\(outcome)")
                #expect(try scene.mount.status().state == "unlocked")
                #expect(try scene.contents("opened") == [1, 2, 3])
                for probe in [mapper, other] {
                    probe.process.send(9)
                    probe.process.wait()
                }
            }
        }

        /// A deep lock names the programs that lose files of class C as well, and is taken back whole.
        @Test func controlCOfADeepLock() throws {
            try withScene(["--default-class", "complete"], grace: 300) { scene in
                try scene.makeFile("opened")
                try scene.makeFile("service", class: .completeUntilFirstUserAuthentication)
                try scene.makeFile("free", class: ProtectionClass.none)
                let (service, other) = (try Probe(), try Probe())
                try scene.probe.open(0, scene.path("opened")).required()
                try service.open(0, scene.path("service")).required()
                try other.open(0, scene.path("free")).required()
                let outcome = try scene.mount.vault.latchkey(
                    ["lock", "--deep", scene.mount.path], answering: [(Self.offer, "\u{3}")])
                #expect(outcome.status != 0 && outcome.text.contains("its lock is taken back"), "\(outcome)")
                let title = "lose files of classes A and C when \(scene.mount.path) locks"
                #expect(outcome.text.contains(title), "\(outcome)")
                for process in [scene.probe, service] {
                    #expect(outcome.text.contains("\(process.process.pid) (probe): 1 file open"), "\(outcome)")
                }
                #expect(!outcome.text.contains("\(other.process.pid) (probe)"), "\(outcome)")
                let status = try scene.mount.status()
                #expect(status.state == "unlocked" && status.classKeys.count == 4)
                #expect(try scene.contents("service") == [1, 2, 3])
                for probe in [service, other] {
                    probe.process.send(9)
                    probe.process.wait()
                }
            }
        }

        /// To its end: the command returns when the keys are gone. With `--now` there is nothing to take back.
        @Test func countsToTheEnd() throws {
            try withMount(Vault(["--default-class", "complete"]), grace: 1) { mount in
                let outcome = try mount.vault.latchkey(["lock", mount.path], answering: [])
                #expect(outcome.status == 0 && outcome.text.contains("is locked: the keys are gone"), "\(outcome)")
                #expect(try mount.status().state == "locked")
                try mount.unlock()
                let now = try mount.vault.latchkey(["lock", "--now", mount.path], answering: [])
                #expect(now.status == 0 && !now.text.contains(Self.offer), "\(now)")
            }
        }

        /// Another process's lock during the countdown stands: the command says so, and a second Ctrl-C only ends it.
        @Test func anotherLockMeanwhile() throws {
            try withMount(Vault(), grace: 300) { mount in
                let person = """
                    import os, pty, subprocess, sys
                    latchkey, point = sys.argv[1:]
                    child, terminal = pty.fork()
                    if child == 0:
                        os.execv(latchkey, [latchkey, "lock", point])
                    heard = b""
                    def until(text):
                        while text not in heard:
                            some = os.read(terminal, 4096)
                            if not some: sys.exit("ended: " + heard.decode())
                            yield some
                    for text in [b"Ctrl-C takes the lock back", b"goes on: its time is over, or another lock"]:
                        for some in until(text): heard += some
                        if b"goes on" not in text:
                            subprocess.run([latchkey, "lock", point], stdin=subprocess.DEVNULL, check=True)
                        os.write(terminal, b"\\x03")
                    sys.exit(0 if os.WTERMSIG(os.waitpid(child, 0)[1]) == 2 else "not by the signal")
                    """
                try run(
                    "python3", ["-c", person, Built.latchkey, mount.path], environment: mount.vault.environment)
                #expect(try mount.status().state == "locking")
                try mount.unlock()
            }
        }

        /// A lock is taken back by the connection that asked for it, and the grace ends when none stands.
        @Test func onlyItsOwn() throws {
            try withMount(Vault(), grace: 300) { mount in
                try mount.latchkey("lock", mount.path).succeeded()
                // Ctrl-C ends the command, and the lock goes on.
                let outcome = try mount.vault.latchkey(
                    ["lock", mount.path], answering: [(" s", "\u{3}")])
                #expect(outcome.status != 0 && !outcome.text.contains(Self.offer), "\(outcome)")
                #expect(try mount.status().state == "locking")
                try mount.unlock()

                let script = """
                    import json, socket, sys
                    def connect():
                        connection = socket.socket(socket.AF_UNIX)
                        connection.connect(sys.argv[1])
                        return connection
                    def call(connection, method):
                        message = {"method": "io.latchkey." + method, "parameters": {}}
                        connection.sendall(json.dumps(message).encode() + b"\\0")
                        reply = b""
                        while not reply.endswith(b"\\0"):
                            reply += connection.recv(65536)
                        return json.loads(reply[:-1])["parameters"]["status"]["state"]
                    one, other = connect(), connect()
                    print(call(one, "TakeBackLock"), call(one, "Lock"), call(other, "TakeBackLock"))
                    print(call(one, "TakeBackLock"), call(one, "TakeBackLock"))
                    print(call(one, "Lock"), call(other, "Lock"))
                    print(call(one, "TakeBackLock"), call(one, "TakeBackLock"), call(other, "TakeBackLock"))
                    # A second lock over one connection takes the place of the first; one of a connection that has
                    # ended stands.
                    print(call(one, "Lock"), call(one, "Lock"), call(one, "TakeBackLock"))
                    print(call(one, "Lock"), call(other, "Lock"), other.close(), call(one, "TakeBackLock"))
                    """
                let said = try run("python3", ["-c", script, try mount.socket()]).text
                let expected = [
                    "unlocked locking locking", "unlocked unlocked", "locking locking", "locking locking unlocked",
                    "locking locking unlocked", "locking locking None locking",
                ]
                #expect(said == expected.map { $0 + "\n" }.joined())
            }
        }
    }
}
