"""A mounted vault with files of every class, and programs that use them."""

from __future__ import annotations

import json
import os
import secrets
import signal
import struct
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, Optional

from opened import PAGE, Mapping

AUTHENTICATOR = Path(__file__).resolve().parents[2] / "Tests" / "SoftKey" / "authenticator.py"
PAGES = 3
CLASSES = {"strict": "complete", "mail": "complete-unless-open", "held": "complete-unless-open",
           "plain": "complete-until-first-user-authentication", "open": "none"}


@dataclass
class Opened:
    """A file that a program has open and mapped in one of several ways."""

    name: str
    descriptor: int
    direct: int
    mapping: Mapping


@dataclass
class Scene:
    latchkey: str
    folder: Path
    files: int
    grace: int
    # Other machines have the vault mounted too, and one of them writes.
    shared: bool = False
    passcode: bytes = field(default_factory=lambda: b"passcode " + secrets.token_hex(16).encode())
    # For each kind of file: bytes that every 32 bytes of it contain, and that occur nowhere else but in this process.
    canaries: dict[str, bytes] = field(default_factory=lambda: {kind: secrets.token_bytes(20) for kind in CLASSES})
    opened: list[Opened] = field(default_factory=list)
    # Files of class C, which a deep lock closes.
    services: list[Opened] = field(default_factory=list)
    held: list[int] = field(default_factory=list)
    workers: list[int] = field(default_factory=list)
    daemon: int = 0

    def __post_init__(self) -> None:
        for name in ("vault", "point", "state"):
            (self.folder / name).mkdir()
        self.vault, self.point = self.folder / "vault", self.folder / "point"
        self.device_key, self.recovery_key = self.folder / "device.key", self.folder / "recovery.key"
        self.environment = {**os.environ, "XDG_STATE_HOME": str(self.folder / "state")}

    # Commands

    def run(self, *arguments: str, secret: Optional[bytes] = None, status: int = 0, **files: bytes) -> str:
        command = [self.latchkey, *arguments]
        given = dict(files)
        if secret is not None:
            given["passcode_file"] = secret
        for option, content in given.items():
            path = self.folder / option
            path.touch(mode=0o600)
            path.write_bytes(content + b"\n")
            command += [f"--{option.replace('_', '-')}", str(path)]
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=300)
        if done.returncode != status:
            sys.exit(f"{' '.join(command)}: status {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def start(self) -> None:
        self.run("init", str(self.vault), "--device-key", str(self.device_key), "--recovery-key-file",
                 str(self.recovery_key), "--kdf-memory", "19", "--kdf-passes", "2",
                 *(["--synchronised", "yes"] if self.shared else []), secret=self.passcode)
        self.mount()

    def mount(self) -> None:
        self.run("mount", str(self.vault), str(self.point), "--device-key", str(self.device_key),
                 "--grace", str(self.grace), *(["--shared", "--lease", "3"] if self.shared else []))
        status = json.loads(self.run("status", str(self.point), "--json"))
        self.daemon = (status[0] if isinstance(status, list) else status)["pid"]

    def begin_other_machine(self) -> None:
        """Another machine that has the vault mounted, unlocked, and writes to files of class A all the time."""
        place = self.folder / "other"
        place.mkdir()
        (place / "machine-id").write_text(secrets.token_hex(16) + "\n")
        script = f"""
            set -e
            # What this namespace has got of the first machine's.
            umount -l {self.point}
            mount --bind {place}/machine-id /etc/machine-id
            mount -t tmpfs -o mode=700 none /run/latchkey
            mkdir {place}/point
            cp {self.device_key} {place}/key
            {self.latchkey} mount --foreground --shared --lease 3 --unlock --device-key {place}/key \\
                --passcode-file {self.folder}/passcode_file {self.vault} {place}/point &
            until mountpoint -q {place}/point; do sleep 0.05; done
            while :; do
                n=$((n + 1))
                echo "$n" >>{place}/point/folder-strict/other
                dd if=/dev/urandom of={place}/point/folder-strict/block$((n % 9)) bs=64k count=1 status=none
                echo "$n" >{place}/written
            done
        """
        self.other = subprocess.Popen(["unshare", "--mount", "--propagation", "private", "bash", "-c", script],
                                      start_new_session=True, env=self.environment)
        self.other_has_written()

    def other_has_written(self) -> None:
        """Returns when the other machine has written something more."""
        written = self.folder / "other" / "written"
        before = written.read_text() if written.exists() else ""
        end = time.monotonic() + 60
        while not written.exists() or written.read_text() in ("", before):
            if time.monotonic() > end or self.other.poll() is not None:
                sys.exit("the other machine does not write")
            time.sleep(0.02)

    def end_other_machine(self) -> None:
        os.killpg(self.other.pid, signal.SIGKILL)
        self.other.wait()

    def unlock(self) -> None:
        self.run("unlock", str(self.point), secret=self.passcode)

    def lock_now(self) -> None:
        self.run("lock", str(self.point), "--now", "--wait")

    def lock_deeply(self) -> None:
        self.run("lock", str(self.point), "--deep", "--now", "--wait")

    def rotate(self) -> None:
        """Begins a rotation. It fails with status 1, because one file cannot get a new wrap."""
        self.run("rotate", "--yes", "--wait", str(self.point), "--recovery-key-file", str(self.folder / "recovery.new"),
                 secret=self.passcode, status=1)

    def wait_for_rotation(self) -> None:
        """Until all files have the new keys."""
        end = time.monotonic() + 120
        while True:
            status = json.loads(self.run("status", str(self.point), "--json"))
            rotation = (status[0] if isinstance(status, list) else status).get("rotation")
            if rotation is None:
                return
            if time.monotonic() > end:
                sys.exit(f"the rotation has not ended after two minutes: {rotation}")
            time.sleep(0.05)

    # Slots

    def add_slots(self) -> dict[str, Path]:
        """Adds and uses a slot of each kind, from number 3 on. Returns the files with their secrets, by kind."""
        ways = {kind: self.folder / f"second-{kind}" for kind in ("passcode", "recovery-key", "key-file", "escrow-key")}
        key = self.folder / "key"
        key.mkdir()
        # A software security key, which exits at the end of its input.
        authenticator = subprocess.Popen([sys.executable, str(AUTHENTICATOR), str(key)], stdin=subprocess.PIPE)
        ways["fido2"] = key / "state.json"
        public = self.folder / "escrow-public"
        ways["passcode"].write_bytes(b"second " + secrets.token_hex(16).encode())
        for command in (f"genpkey -algorithm X25519 -out {ways['escrow-key']}",
                        f"pkey -in {ways['escrow-key']} -pubout -out {public}"):
            subprocess.run(["openssl", *command.split()], check=True, capture_output=True)
        point = str(self.point)
        add = ("slot", "add")
        self.run(*add, "passcode", point, secret=self.passcode, new_passcode_file=ways["passcode"].read_bytes())
        self.run(*add, "recovery-key", point, "--new-file", str(ways["recovery-key"]), secret=self.passcode)
        self.run(*add, "key-file", point, "--new-file", str(ways["key-file"]), secret=self.passcode)
        self.run(*add, "escrow-key", point, "--public-key", str(public), secret=self.passcode)
        device = ["--fido2-device", f"socket:{key / 'key'}"]
        end = time.monotonic() + 20
        while not (key / "key").exists() and time.monotonic() < end:
            time.sleep(0.05)
        self.run(*add, "fido2", point, *device, secret=self.passcode)
        for options in (["--fido2", *device], ["--passcode-file", str(ways["passcode"])],
                        ["--key-file", str(ways["key-file"])],
                        ["--recovery", "--recovery-key-file", str(ways["recovery-key"])],
                        ["--escrow-key", str(ways["escrow-key"])]):
            self.run("slot", "test", point, *options)
            self.run("unlock", point, *options)
        authenticator.communicate(timeout=20)
        return ways

    def remove_slots(self, ways: dict[str, Path]) -> None:
        for number in range(3, 3 + len(ways)):
            self.run("slot", "remove", str(number), str(self.point), secret=self.passcode)

    # Files

    def content(self, kind: str, number: int) -> bytes:
        return b"".join((self.canaries[kind] + struct.pack("<4sII", b"page", number, page)) * (PAGE // 32)
                        for page in range(PAGES))

    def path(self, kind: str, number: int) -> Path:
        return self.point / f"{kind}-{number}"

    def count(self, kind: str) -> int:
        return self.files if kind in ("strict", "mail") else 4

    def fill(self) -> None:
        """Writes and reads every file, so that all of it has been in the daemon and in the page cache."""
        for kind, protection in CLASSES.items():
            folder = self.point / f"folder-{kind}"
            folder.mkdir()
            os.setxattr(folder, "user.latchkey.class", protection.encode())
            for number in range(self.count(kind)):
                made = folder / str(number)
                made.write_bytes(self.content(kind, number))
                made.rename(self.path(kind, number))
                self.check(kind, number)

    def check(self, kind: str, number: int) -> None:
        if self.path(kind, number).read_bytes() != self.content(kind, number):
            sys.exit(f"{kind}-{number} has other contents than were written")

    def read_all(self) -> None:
        for kind in CLASSES:
            for number in range(self.count(kind)):
                self.check(kind, number)

    def use(self) -> None:
        """Opens and maps the files of A and C in every way, and starts programs that write."""
        self.opened = [self.open("strict", number) for number in range(self.files)]
        self.services = [self.open("plain", number) for number in range(self.count("plain"))]
        self.held = [os.open(self.path("held", number), os.O_RDWR) for number in range(self.count("held"))]
        for descriptor in self.held:
            os.pread(descriptor, PAGE, 0)
        self.worker(self.write)
        self.worker(self.store)

    def open(self, kind: str, number: int) -> Opened:
        path = self.path(kind, number)
        descriptor = os.open(path, os.O_RDWR)
        mapping = Mapping.of(descriptor, PAGES * PAGE, ("shared", "private", "locked")[number % 3])
        mapping.touch()
        return Opened(path.name, descriptor, os.open(path, os.O_RDONLY | os.O_DIRECT), mapping)

    def worker(self, act: Callable[[], None]) -> None:
        child = os.fork()
        if child == 0:
            os.setpgid(0, 0)
            try:
                act()
            finally:
                os._exit(1)
        self.workers.append(child)

    def write(self) -> None:
        """Writes the same bytes again and again; while the vault is locked, the daemon refuses the writes."""
        while True:
            for number, opened in enumerate(self.opened):
                try:
                    os.pwrite(opened.descriptor, self.content("strict", number)[:PAGE + 100], 0)
                except OSError as error:
                    if error.strerror != os.strerror(126):
                        raise
                    signal.sigtimedwait([], 0.01)

    def store(self) -> None:
        """Stores into mappings in a child process; each lock kills the child, and a new one follows."""
        shared = [(number, opened) for number, opened in enumerate(self.opened) if opened.mapping.kind == "shared"]
        while True:
            child = os.fork()
            if child == 0:
                import ctypes
                while True:
                    for number, opened in shared:
                        content = self.content("strict", number)
                        ctypes.memmove(opened.mapping.address, content, len(content))
                        signal.sigtimedwait([], 0.001)
            _, status = os.waitpid(child, 0)
            if not os.WIFSIGNALED(status) or os.WTERMSIG(status) != signal.SIGBUS:
                return
            signal.sigtimedwait([], 0.05)

    def pause(self) -> None:
        """Stops the programs, because the bytes of a refused write are in the page cache for a moment."""
        for worker in self.workers:
            os.killpg(worker, signal.SIGSTOP)

    def resume(self) -> None:
        for worker in self.workers:
            os.killpg(worker, signal.SIGCONT)

    def working(self) -> bool:
        return all(os.waitpid(worker, os.WNOHANG) == (0, 0) for worker in self.workers)

    def end_workers(self) -> None:
        while self.workers:
            worker = self.workers.pop()
            os.killpg(worker, signal.SIGKILL)
            os.waitpid(worker, 0)

    def end(self) -> None:
        self.end_workers()
        for opened in self.opened + self.services:
            opened.mapping.close()
            os.close(opened.descriptor)
            os.close(opened.direct)
        for descriptor in self.held:
            os.close(descriptor)
        self.run("unmount", str(self.point))
