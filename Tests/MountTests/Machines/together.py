"""Machines with one vault mounted at the same time, by scene: together.py STORING PROGRAM FOLDER SCENE.

Each machine has a mount namespace and an identity of its own. Fails with an assertion.
"""

import concurrent.futures
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

storing, program, folder, scene = sys.argv[1:]
sys.path.insert(0, storing)
import machines  # noqa: E402

folder = pathlib.Path(folder)
passcode = folder / "passcode"
LEASE = 1
LOCK = """
import fcntl, os, sys
path, how, wait = sys.argv[1:]
file = os.open(path, os.O_RDWR)
flags = fcntl.LOCK_EX | (0 if wait == "wait" else fcntl.LOCK_NB)
try:
    fcntl.flock(file, flags) if how == "flock" else fcntl.lockf(file, flags, 10, 5)
except BlockingIOError:
    sys.exit(print("locked"))
print("held" if wait == "wait" else "free", flush=True)
if wait == "wait":
    sys.stdin.read()
"""
FOLLOW = """
import sys
file = open(sys.argv[1])
for _ in sys.stdin:
    print(file.read(), end="|", flush=True)
"""
EXTEND = """
import sys
file = open(sys.argv[1], "a")
for line in sys.stdin:
    file.write(line)
    file.flush()
    print("ok", flush=True)
"""
KEEP = """
import sys
file = open(sys.argv[1])
print("open", flush=True)
sys.stdin.read()
print(file.read())
"""
MAKE = """
import os, sys
made = 0
for number in range(60):
    try:
        os.mkdir(f"{sys.argv[1]}/{number}")
        made += 1
    except FileExistsError:
        pass
    open(f"{sys.argv[1]}/f{number}", "a").write(sys.argv[2])
print(made)
"""
APPEND = """
import os, sys
file = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND)
for number in range(100):
    os.write(file, (sys.argv[2] * (number * 37 % 9000) + "\\n").encode())
"""
NAMELESS = """
import os, sys
file = os.open(sys.argv[1], os.O_TMPFILE | os.O_RDWR)
os.write(file, b"nameless")
# Without a folder it would be link(2), which does not follow symbolic links.
os.link(f"/proc/self/fd/{file}", sys.argv[1] + "/named", src_dir_fd=os.open("/", os.O_RDONLY))
os.write(file, b" no more")
"""
SYNC = """
import os, sys
file = os.open(sys.argv[1], os.O_RDWR)
os.pwrite(file, b"S", 0)
os.fsync(file)
print("ok", flush=True)
sys.stdin.read()
"""

SIGN = """
import fcntl, struct, sys
file = open(sys.argv[1], "r+b")
# struct flock on 64 bits; F_OFD_SETLK is 37. docs/FORMAT.md, "Leases": the region of the signs, 58 bits of the number.
byte = (3 << 60) + (int(sys.argv[2], 16) & ((1 << 58) - 1))
fcntl.fcntl(file, 37, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, byte, 1, 0))
print("held", flush=True)
sys.stdin.read()
"""


class Machine:
    def __init__(self, number: int) -> None:
        self.machine = machines.Machine(number, folder)
        self.machine.boot()
        self.run("mount", "--bind", folder / "store", self.machine.store)
        self.run("mkdir", "-p", "-m", "700", "/run/latchkey")
        self.point = self.machine.mount
        self.key = self.machine.folder / "key"

    def attempt(self, *words, seconds: float = 60):
        return self.machine.run(*words, seconds=seconds)

    def run(self, *words, seconds: float = 60) -> str:
        done = self.attempt(*words, seconds=seconds)
        assert done.status == 0, (words, done.output)
        return done.output

    def shell(self, script: str, seconds: float = 60) -> str:
        """Runs a script in the mount."""
        return self.run("bash", "-euc", f"cd {self.point}; {script}", seconds=seconds)

    def latchkey(self, *words, seconds: float = 60):
        return self.attempt(program, *words, seconds=seconds)

    def try_mount(self, *options: str, seconds: float = 100):
        return self.latchkey(
            "mount", "--unlock", "--passcode-file", passcode, "--grace", "0", "--lease", f"{LEASE}",
            "--device-key", self.key, *options, self.machine.store, self.point, seconds=seconds)

    def mount(self, *options: str) -> None:
        done = self.try_mount(*options)
        assert done.status == 0, done.output

    def mount_again(self) -> None:
        self.latchkey("unmount", "--lazy", self.point)
        self.mount("--shared")

    def unmount(self) -> None:
        done = self.latchkey("unmount", self.point)
        assert done.status == 0, done.output

    def status(self) -> dict:
        return json.loads(self.run(program, "status", "--json", self.point))

    def kill(self) -> None:
        found = self.machine.daemon(self.machine.store)
        assert found, "no daemon"
        for process in found:
            self.machine.kill(process)
        end = time.monotonic() + 20
        while self.machine.daemon(self.machine.store):
            assert time.monotonic() < end
            time.sleep(0.02)

    def python(self, script: str, *words) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            self.machine.inside(sys.executable, "-c", script, *words), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True)

    def lock(self, how: str) -> str:
        """Whether a program gets the lock at once."""
        return self.run(sys.executable, "-c", LOCK, self.point / "f", how, "try").strip()


def say(process, text: str = "") -> None:
    process.stdin.write(text + "\n")
    process.stdin.flush()


def read_until(process, mark: str) -> str:
    text = ""
    while not text.endswith(mark):
        more = process.stdout.read(1)
        assert more, text
        text += more
    return text


def close(*processes) -> None:
    for process in processes:
        process.stdin.close()
        process.wait(20)


KDF = ("--kdf-memory", "19", "--kdf-passes", "2")
made: list[Machine] = []


def begin() -> list[Machine]:
    machines.make_network()
    passcode.touch(0o600)
    passcode.write_text("correct horse battery staple\n")
    (folder / "store").mkdir()
    made.extend(Machine(number) for number in (1, 2))
    one, two = made
    one.run(program, "init", "--synchronised", "yes", "--passcode-file", passcode, *KDF, "--recovery-key-file",
            folder / "recovery", "--device-key", one.key, one.machine.store)
    one.run("cp", one.key, two.key)
    return made


def together() -> list[Machine]:
    for machine in begin():
        machine.mount("--shared")
    return made


def end(*mounted: Machine) -> None:
    for machine in mounted:
        machine.unmount()
    one = mounted[0]
    one.run(program, "fsck", "--passcode-file", passcode, "--device-key", one.key, one.machine.store)


def sees() -> None:
    one, two = together()
    one.shell("echo hello >f")
    assert two.shell("cat f") == "hello\n"
    two.shell("echo two >>f; chmod 640 f; setfattr -n user.a -v b f")
    assert one.shell("cat f; stat -c %a f; getfattr --only-values -n user.a f") == "hello\ntwo\n640\nb"
    # Of a file that programs have open, and without a close.
    reader, writer = two.python(FOLLOW, two.point / "f"), one.python(EXTEND, one.point / "f")
    say(reader)
    assert read_until(reader, "|") == "hello\ntwo\n|"
    say(writer, "three")
    assert writer.stdout.readline() == "ok\n"
    say(reader)
    assert read_until(reader, "|") == "three\n|"
    close(reader, writer)
    one.shell("head -c 3000000 /dev/urandom >big; truncate -s 50000 f")
    assert one.shell("sha256sum <big; sha256sum <f") == two.shell("sha256sum <big; sha256sum <f")
    two.shell("setfattr -n user.latchkey.class -v none f")
    assert one.shell("getfattr --only-values -n user.latchkey.class f") == "none"
    assert one.status()["shared"] is True
    end(one, two)


LIST = "find . | sort | tr '\\n' ' '"


def names() -> None:
    one, two = together()
    one.shell("mkdir -p d/e; echo x >d/e/g; ln -s g d/e/s; ln d/e/g d/h; mkfifo d/p")
    assert two.shell(f"cat d/e/s d/h; stat -c %h d/h; {LIST}") == "x\nx\n2\n. ./d ./d/e ./d/e/g ./d/e/s ./d/h ./d/p "
    two.shell("mv d dd; mv dd/e/g g2; rm dd/p; echo new >dd/new")
    assert one.shell(f"cat g2 dd/h; {LIST}") == "x\nx\n. ./dd ./dd/e ./dd/e/s ./dd/h ./dd/new ./g2 "
    # A program that has a file open keeps it.
    reader = one.python(KEEP, one.point / "g2")
    assert reader.stdout.readline() == "open\n"
    two.shell("echo other >t; mv t g2; rm dd/h")
    assert one.shell("cat g2") == "other\n"
    reader.stdin.close()
    assert reader.stdout.readline() == "x\n"
    reader.wait(20)
    one.shell("rm -r dd g2")
    assert two.shell("ls -A") == ""
    one.run(sys.executable, "-c", NAMELESS, one.point)
    assert two.shell("cat named; rm named") == "nameless no more"
    # Both make the same: one of them does, and the other one finds it.
    makers = [machine.python(MAKE, machine.point, word) for machine, word in ((one, "1"), (two, "2"))]
    assert sum(int(maker.communicate(timeout=100)[0]) for maker in makers) == 60
    assert two.shell("cat f* | wc -c; ls | wc -l") == "120\n120\n"
    end(one, two)


def appends() -> None:
    one, two = together()
    one.shell("touch log")
    writers = [machine.python(APPEND, machine.point / "log", word) for machine, word in ((one, "1"), (two, "2"))]
    for writer in writers:
        assert writer.wait(100) == 0
    wanted = {word: [word * (number * 37 % 9000) for number in range(100)] for word in "12"}
    for machine in (one, two):
        lines = machine.shell("cat log").split("\n")[:-1]
        assert sorted(lines) == sorted(wanted["1"] + wanted["2"]), "a line is lost or torn"
        for word in "12":
            assert [line for line in lines if line.startswith(word)] == wanted[word][1:]
    end(one, two)


def locks() -> None:
    one, two = together()
    one.shell("touch f")
    for how, other in (("fcntl", "flock"), ("flock", "fcntl")):
        holder = one.python(LOCK, one.point / "f", how, "wait")
        assert holder.stdout.readline() == "held\n"
        for machine in (one, two):
            assert (machine.lock(how), machine.lock(other)) == ("locked", "free")
        waiter = two.python(LOCK, two.point / "f", how, "wait")
        close(holder)
        assert waiter.stdout.readline() == "held\n", "it gets the lock when the other one ends"
        assert one.lock(how) == "locked"
        # The locks of a machine that dies are free.
        two.kill()
        assert one.lock(how) == "free"
        close(waiter)
        two.mount_again()
    # A program that waits can be interrupted.
    holder = one.python(LOCK, one.point / "f", "fcntl", "wait")
    assert holder.stdout.readline() == "held\n"
    done = two.attempt("timeout", "1", sys.executable, "-c", LOCK, two.point / "f", "fcntl", "wait", seconds=20)
    assert done.status == 124, done
    close(holder)
    end(one, two)


def gone() -> None:
    """What is removed needs no lease any more: stores search a list of all locks."""
    one, two = together()
    leases = (folder / "store" / "lk.leases").stat().st_ino

    def locks() -> int:
        return sum(f":{leases} " in line for line in pathlib.Path("/proc/locks").read_text().splitlines())

    before = locks()
    one.shell("mkdir d; for i in $(seq 60); do echo x >d/$i; done")
    assert locks() > before + 60, locks()
    # One that is open, one that has another name first, and one whose name goes to another file.
    one.shell("exec 3<d/1; ln d/2 d/name; mv d/3 d/4; rm -r d; test ! -e d")
    end_of_wait = time.monotonic() + 30
    while locks() > before + 5:
        assert time.monotonic() < end_of_wait, locks()
        time.sleep(0.05)
    assert two.shell("ls") == one.shell("ls")
    end(one, two)


def dies() -> None:
    one, two = together()
    one.shell("mkdir d; echo synced >d/f; sync d/f; echo closed >g")
    # Its encrypted name lies in a file of its own.
    long = "long" * 50
    one.shell(f"echo synced >d/{long}; sync d/{long}")
    holders = [one.python(SYNC, one.point / "d" / name) for name in ("f", long)]
    for holder in holders:
        assert holder.stdout.readline() == "ok\n"
    # The journal of the first machine does not know of this.
    two.shell("mkdir above; mv d above/e; mkdir d; echo other >d/f")
    # Nor, for a while, of these.
    one.shell("mkdir x; echo gone >x/gone; sync x/gone; rm x/gone; echo gone >gone; sync gone; rm gone")
    # Of a rename, the header still has both names.
    one.shell("echo renamed >r; sync r; mv r s")
    one.kill()
    assert two.shell(f"cat above/e/f above/e/{long} d/f g s") == "Synced\nSynced\nother\nclosed\nrenamed\n"
    assert two.shell("ls x") == ""
    close(*holders)
    two.shell("rm -r d x; mv above/e e; rmdir above")
    two.shell("echo more >>g")
    one.mount_again()
    assert one.shell("cat e/f g s; ls | tr '\\n' ' '") == "Synced\nclosed\nmore\nrenamed\ne g s "
    assert two.shell("echo again >>s; cat s") == one.shell("cat s") == "renamed\nagain\n"
    # All die.
    one.shell("echo last >h; sync h")
    for machine in (one, two):
        machine.kill()
        machine.latchkey("unmount", "--lazy", machine.point)
    one.mount()
    assert one.shell("cat h") == "last\n"
    end(one)


def returns() -> None:
    one, two = begin()
    members = folder / "store" / "lk.members"
    one.mount("--shared")
    first = set(members.iterdir())
    two.mount("--shared")
    (own,) = set(members.iterdir()) - first
    two.shell("echo synced >f; sync f")
    # The store has not missed the machine yet: it keeps its sign.
    two.kill()
    sign = two.python(SIGN, folder / "store" / "lk.leases", own.name.rsplit(".", 1)[1])
    assert sign.stdout.readline() == "held\n"
    two.latchkey("unmount", "--lazy", two.point)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        mount = pool.submit(two.mount, "--shared")
        # Others begin and end meanwhile.
        one.unmount()
        one.mount("--shared")
        assert not mount.done(), mount.result()
        close(sign)
        mount.result()
    assert one.shell("cat f") == two.shell("cat f") == "synced\n"
    end(one, two)


def blind() -> None:
    one, two = begin()
    one.mount("--shared")
    one.shell("echo synced >f; sync f")
    # The second machine sees no lock of the first one.
    (folder / "leases").touch()
    two.run("mount", "--bind", folder / "leases", two.machine.store / "lk.leases")
    two.mount("--shared")
    assert two.shell("cat f; echo two >>f; cat f") == "synced\nsynced\ntwo\n"
    for command in (["cat", one.point / "f"], ["touch", one.point / "g"]):
        done = one.attempt(*command)
        assert done.status == 1 and "Input/output error" in done.output, done
    assert two.shell("ls; cat f") == "f\nsynced\ntwo\n"
    two.unmount()
    one.kill()
    one.latchkey("unmount", "--lazy", one.point)
    one.mount("--shared")
    assert one.shell("cat f") == "synced\ntwo\n"
    end(one)


def locked() -> None:
    one, two = together()
    one.shell("mkdir strict; setfattr -n user.latchkey.class -v complete strict; echo secret >strict/f")
    assert two.shell("cat strict/f") == "secret\n"
    done = two.latchkey("lock", two.point, "--now", "--wait")
    assert done.status == 0, done.output
    status = two.status()
    assert status["state"] == "locked" and "complete" not in status["classKeys"], status
    one.shell("echo more >>strict/f; echo new >strict/g; cat strict/f strict/g")
    refused = two.attempt("cat", two.point / "strict" / "f")
    assert refused.status != 0, (refused, two.status(), two.run(program, "explain", two.point / "strict" / "f"))
    assert two.shell("ls strict | tr '\\n' ' '; stat -c %s strict/f") == "f g 12\n"
    assert two.status()["fileKeysInMemory"] == 0
    done = two.latchkey("unlock", two.point, "--passcode-file", passcode)
    assert done.status == 0, done.output
    assert two.shell("cat strict/f strict/g") == "secret\nmore\nnew\n"
    end(one, two)


def alone() -> None:
    one, two = begin()
    one.mount("--shared")
    refused = two.try_mount()
    assert refused.status == 1, refused.output
    two.mount("--shared")
    one.unmount()
    refused = one.try_mount()
    assert refused.status == 1, refused.output
    two.unmount()
    # The last one has released the vault: nothing is waited for.
    done = one.try_mount()
    assert done.status == 0 and "Waiting" not in done.output, done.output
    refused = two.try_mount("--shared")
    assert refused.status == 1, refused.output
    one.shell("echo alone >f")
    one.kill()
    one.latchkey("unmount", "--lazy", one.point)
    two.mount("--shared")
    assert two.shell("cat f") == "alone\n"
    end(two)


def claimed() -> int:
    """The state of the newest claim: 2 for one that is held."""
    return max((folder / "store" / "lk.claims").glob("lk.claim.0*")).read_bytes()[10]


def keys() -> None:
    one, two = together()
    # A mount that fails gives back nothing that others have. The first machine cannot write its claim anew meanwhile.
    two.unmount()
    assert claimed() == 2
    (daemon,) = one.machine.daemon(one.machine.store)
    os.kill(daemon, signal.SIGSTOP)
    wrong = folder / "wrong"
    wrong.touch(0o600)
    wrong.write_text("a wrong passcode\n")
    done = two.try_mount("--shared", "--passcode-file", wrong)
    os.kill(daemon, signal.SIGCONT)
    assert done.status == 3, done.output
    assert claimed() == 2
    two.mount("--shared")
    new = folder / "new"
    new.touch(0o600)
    new.write_text("another correct horse battery staple\n")
    for command in (["passwd", one.point, "--passcode-file", passcode, "--new-passcode-file", new],
                    ["rotate", one.point, "--passcode-file", passcode]):
        done = one.latchkey(*command)
        assert done.status == 1 and "without --shared" in done.output, done.output
    for option in (["-o", "ro"], ["--when-locked", "freeze"], ["--take-over"], ["--class-default", "A"]):
        done = two.latchkey("mount", "--shared", *option, two.machine.store, two.machine.folder / "state")
        assert done.status not in (0, 1), (option, done)
    end(one, two)
    one.run(program, "init", "--synchronised", "no", "--passcode-file", passcode, *KDF, "--recovery-key-file",
            folder / "recovery2", "--device-key", folder / "key2", folder / "plain")
    done = one.latchkey("mount", "--shared", "--device-key", folder / "key2", folder / "plain", one.point)
    assert done.status == 1 and "latchkey synchronise" in done.output, done.output


try:
    globals()[scene]()
finally:
    for each in made:
        each.machine.abort_mounts()
        each.machine.end()
