import Glibc
import TestSupport
import Testing

extension MountTests {
    /// The daemon as a service of systemd: what it tells its manager, and where its passcode comes from.
    @Suite struct Services {
        private func python(_ script: String, _ vault: Vault, _ arguments: [String] = []) throws {
            let words = [Built.latchkey, vault.path, try vault.folder.makeFolder("dir"), vault.passcodeFile]
            try attempt(
                "python3", ["-c", prelude + script] + words + arguments, environment: vault.environment
            ).succeeded()
        }

        @Test(arguments: ["path", "abstract"]) func tellsItsManager(_ kind: String) throws {
            try python(
                """
                name = f"\\0latchkey-test-{os.getpid()}" if sys.argv[5] == "abstract" else dir + ".notify"
                manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
                manager.bind(name)
                manager.settimeout(60)
                daemon = subprocess.Popen(
                    [latchkey, "mount", "--foreground", vault, dir],
                    env=os.environ | {"NOTIFY_SOCKET": name.replace("\\0", "@")})
                ready = manager.recv(4096).decode().split("\\n")
                assert ready == ["READY=1", f"MAINPID={daemon.pid}", f"STATUS={dir}: before-first-unlock"], ready
                assert os.path.ismount(dir)
                run("unlock", "--passcode-file", passcode, dir)
                assert manager.recv(4096).decode() == f"STATUS={dir}: unlocked"
                run("lock", "--now", "--wait", dir)
                assert manager.recv(4096).decode() == f"STATUS={dir}: locking"
                assert manager.recv(4096).decode() == f"STATUS={dir}: locked"
                daemon.terminate()
                assert manager.recv(4096).decode() == "STOPPING=1"
                assert daemon.wait(60) == 0
                """, try Vault(), [kind])
        }

        /// A detached daemon is not the process that a manager has started.
        @Test func aDetachedDaemonTellsNothing() throws {
            try python(
                """
                manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
                manager.bind(dir + ".notify")
                manager.setblocking(False)
                os.environ["NOTIFY_SOCKET"] = dir + ".notify"
                run("mount", vault, dir)
                run("unmount", dir)
                try:
                    sys.exit(f"it said {manager.recv(4096)}")
                except BlockingIOError:
                    pass
                """, try Vault())
        }

        @Test(arguments: ["latchkey.passcode", "latchkey.key-file"]) func aCredentialUnlocks(_ name: String) throws {
            try python(
                """
                folder = dir + ".credentials"
                os.mkdir(folder)
                if sys.argv[5] == "latchkey.passcode":
                    shutil.copy(passcode, f"{folder}/{sys.argv[5]}")
                else:
                    key = f"{folder}/{sys.argv[5]}"
                    run("slot", "add", "key-file", "--new-file", key, "--passcode-file", passcode, vault)
                os.environ["CREDENTIALS_DIRECTORY"] = folder
                run("mount", vault, dir)
                assert state() == "unlocked", state()
                run("unmount", dir)
                with open(f"{folder}/{sys.argv[5]}", "w") as file: file.write("wrong")
                wrong = subprocess.run([latchkey, "mount", vault, dir], capture_output=True)
                assert wrong.returncode == 3, wrong
                # Of another service.
                os.rename(f"{folder}/{sys.argv[5]}", folder + "/other")
                run("mount", vault, dir)
                assert state() == "before-first-unlock", state()
                run("unmount", dir)
                """, try Vault(), [name])
        }

        /// systemd-ask-password(1) asks, and an agent answers over its socket; three times, as at a terminal.
        @Test(
            .enabled(if: geteuid() == 0, "only root may ask"),
            .enabled(if: Disk.exists("/run/systemd/ask-password"), "systemd's folder of questions is needed"))
        func asksThroughAnAgent() throws {
            try python(
                """
                answered = []
                def answer(child, reply, again):
                    for _ in range(3000):
                        if child.poll() is not None: return
                        for file in glob.glob("/run/systemd/ask-password/ask.*"):
                            try:
                                lines = open(file).read().split("\\n")
                                fields = dict(line.split("=", 1) for line in lines if "=" in line)
                                parent = open(f"/proc/{fields['PID']}/stat").read().rsplit(")", 1)[1].split()[1]
                            except (FileNotFoundError, KeyError):
                                continue
                            if int(parent) != child.pid: continue
                            assert fields["Id"] == "latchkey" and "latchkey" in fields["Message"], fields
                            if fields["Socket"] in answered: continue
                            answered.append(fields["Socket"])
                            assert vault in fields["Message"], fields
                            assert ("The passcode is wrong" in fields["Message"]) == again, fields
                            agent = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
                            agent.sendto(reply, fields["Socket"])
                            return
                        time.sleep(0.02)
                    sys.exit("no question came")
                def mount(*replies):
                    command = [latchkey, "mount", "--unlock", "--ask-password", vault, dir]
                    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
                    for number, reply in enumerate(replies): answer(child, reply, number > 0)
                    return child.communicate(timeout=60)[1].decode(), child.returncode
                said, status = mount(b"-")
                assert status == 1 and "no answer" in said, (status, said)
                said, status = mount(b"+wrong", b"+wrong", b"+wrong")
                assert status == 3 and len(answered) == 4, (status, said)
                said, status = mount(b"+wrong", b"+" + open(passcode, "rb").read().rstrip(b"\\n"))
                assert status == 0, (status, said)
                assert state() == "unlocked", state()
                run("unmount", dir)
                """, try Vault())
        }
    }
}

private let prelude = """
    import glob, json, os, shutil, socket, subprocess, sys, time
    latchkey, vault, dir, passcode = sys.argv[1:5]
    def run(*words):
        subprocess.run([latchkey, *words], check=True, stdout=subprocess.DEVNULL, timeout=60)
    def state():
        said = subprocess.run([latchkey, "status", "--json", dir], check=True, capture_output=True).stdout
        found = json.loads(said)
        return (found[0] if isinstance(found, list) else found)["state"]

    """
