"""Machines: each one is a set of namespaces with a network interface, a host name and mounts of its own."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

SERVER = "10.77.0.1"
BRIDGE = "stores"


class Failed(Exception):
    """A step cannot go on; its text is the result."""


class Refused(Failed):
    """Latchkey refuses the store, and says why."""


@dataclass
class Outcome:
    status: int
    output: str
    seconds: float

    @property
    def last(self) -> str:
        """The line that says why: the last one that is no advice."""
        lines = [line.strip() for line in self.output.splitlines() if line.strip()]
        told = [line for line in lines if not line.startswith("try:")]
        return (told or lines or [f"status {self.status}, without a word"])[-1]


# A process that waits for a file system in user space that waits itself cannot be ended by a signal. It is left behind,
# and goes with the namespaces.
def run(words: list[str], seconds: float, log: Path, environment: Optional[dict[str, str]] = None,
        text: Optional[str] = None) -> Outcome:
    """Runs a program for at most so long. The status is 124 if it had to be ended."""
    begin = time.monotonic()
    # Files, not pipes: a daemon that the command starts keeps them open, and a pipe would never end.
    with log.open("w+b") as output:
        process = subprocess.Popen(words, stdin=subprocess.PIPE if text is not None else subprocess.DEVNULL,
                                   stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
                                   env=environment and {**os.environ, **environment}, cwd="/")
        if text is not None and process.stdin:
            process.stdin.write(text.encode())
            process.stdin.close()
        try:
            status = process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            status = 124
            try:
                process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                pass
        output.seek(0)
        return Outcome(status, output.read().decode(errors="replace"), time.monotonic() - begin)


def check(words: list[str]) -> None:
    done = subprocess.run(words, capture_output=True, check=False)
    if done.returncode != 0:
        raise Failed(f"{shlex.join(words)}: {done.stderr.decode(errors='replace').strip()}")


def make_network() -> None:
    """A bridge in the namespace of the servers, which have the address SERVER."""
    for words in (f"ip link add {BRIDGE} type bridge", f"ip addr add {SERVER}/24 dev {BRIDGE}",
                  f"ip link set {BRIDGE} up", "ip link set lo up"):
        check(words.split())


SETUP = r"""
set -e
hostname "machine$1"
mount -t tmpfs -o size=64m,mode=755 none /run
mkdir -p "$2/store" "$2/vault" "$2/state"
mountpoint -q /sys/fs/fuse/connections || mount -t fusectl none /sys/fs/fuse/connections
printf '%s\n' "$3" | tr -d - >"$2/machine-id"
printf '%s\n' "$4" >"$2/boot-id"
[ ! -e /etc/machine-id ] || mount --bind "$2/machine-id" /etc/machine-id
mount --bind "$2/boot-id" /proc/sys/kernel/random/boot_id
: >"$2/ready"
sleep infinity &
wait
"""


class Machine:
    """Machine 1 or 2. Everything on it ends with `end`, as in a power cut: nobody is told."""

    def __init__(self, number: int, scratch: Path) -> None:
        self.number = number
        self.scratch = scratch
        self.folder = scratch / f"m{number}"
        self.address = f"10.77.0.{10 + number}"
        self.port = f"port{number}"
        self.identity = str(uuid.uuid4())
        self.holder: Optional[subprocess.Popen[bytes]] = None
        self.process = 0
        self.runs = 0

    @property
    def store(self) -> Path:
        return self.folder / "store"

    @property
    def mount(self) -> Path:
        return self.folder / "vault"

    def boot(self) -> None:
        self.folder.mkdir(exist_ok=True)
        ready = self.folder / "ready"
        ready.unlink(missing_ok=True)
        self.holder = subprocess.Popen(
            ["unshare", "--mount", "--net", "--uts", "--ipc", "--pid", "--fork", "--kill-child", "--mount-proc",
             "--propagation", "private", "bash", "-c", SETUP, "setup", str(self.number), str(self.folder),
             self.identity, str(uuid.uuid4())],
            stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True, cwd="/")
        limit = time.monotonic() + 20
        while not ready.exists():
            if self.holder.poll() is not None or time.monotonic() > limit:
                raise Failed(f"machine {self.number} does not boot")
            time.sleep(0.02)
        task = Path(f"/proc/{self.holder.pid}/task/{self.holder.pid}/children")
        self.process = int(task.read_text().split()[0])
        check(["ip", "link", "add", self.port, "type", "veth", "peer", "name", "eth0", "netns", str(self.process)])
        check(["ip", "link", "set", self.port, "master", BRIDGE, "up"])
        for words in (f"ip addr add {self.address}/24 dev eth0", "ip link set eth0 up", "ip link set lo up"):
            check(["nsenter", "-t", str(self.process), "-n", "--", *words.split()])

    def inside(self, *words: str | Path) -> list[str]:
        return ["nsenter", "-t", str(self.process), "-m", "-n", "-u", "-i", "-p", "--", *map(str, words)]

    def run(self, *words: str | Path, seconds: float = 60, environment: Optional[dict[str, str]] = None,
            text: Optional[str] = None) -> Outcome:
        self.runs += 1
        log = self.folder / f"run{self.runs % 8}"
        # nsenter's child is not in its process group's reach once it has been killed: timeout(1) ends it inside.
        bounded = ["timeout", "--kill-after=2", f"{seconds:g}", *map(str, words)]
        outcome = run(self.inside(*bounded), seconds + 6, log, {**self.environment(), **(environment or {})}, text)
        if outcome.status in (137, -9):
            outcome.status = 124
        return outcome

    def begin(self, *words: str | Path, log: Path) -> subprocess.Popen[bytes]:
        """Begins a program that goes on; its own bound ends it."""
        with log.open("wb") as output:
            return subprocess.Popen(self.inside(*words), stdin=subprocess.DEVNULL, stdout=output,
                                    stderr=subprocess.STDOUT, start_new_session=True, cwd="/",
                                    env={**os.environ, **self.environment()})

    def environment(self) -> dict[str, str]:
        return {"XDG_STATE_HOME": str(self.folder / "state"), "XDG_CONFIG_HOME": str(self.folder / "config"),
                "HOME": str(self.folder), "machine": str(self.number), "address": self.address}

    def kind(self) -> str:
        """The type of the store's file system, as the table of mounts has it, without "fuse.": glusterfs."""
        for line in Path(f"/proc/{self.process}/mountinfo").read_text().splitlines():
            words = line.split()
            if words[4] == str(self.store):
                return words[words.index("-") + 1].removeprefix("fuse.")
        raise Failed("the store is not mounted")

    def cut(self) -> None:
        """Takes the machine off the network. No side is told: packets are dropped."""
        check(["ip", "link", "set", self.port, "nomaster"])

    def join(self) -> None:
        check(["ip", "link", "set", self.port, "master", BRIDGE])

    def abort_mounts(self) -> None:
        """Ends all requests that wait for file systems in user space of this machine."""
        try:
            table = Path(f"/proc/{self.process}/mountinfo").read_text()
        except OSError:
            return
        for line in table.splitlines():
            if f" {self.folder}/" in line and " - fuse" in line:
                number = line.split()[2].split(":")[1]
                try:
                    Path(f"/sys/fs/fuse/connections/{number}/abort").write_text("1\n")
                except OSError:
                    pass

    def leave(self) -> None:
        """Unmounts what can be, so that the servers do not wait for this machine in the next step."""
        if self.holder is not None:
            self.run("bash", "-c", 'umount -l "$1"; umount "$2"', "leave", self.mount, self.store, seconds=10)

    def end(self) -> None:
        """A power cut."""
        if self.holder is None:
            return
        subprocess.run(["ip", "link", "set", self.port, "nomaster"], capture_output=True, check=False)
        if self.process:
            self.kill(self.process)
        limit = time.monotonic() + 20
        while self.process and Path(f"/proc/{self.process}").exists() and time.monotonic() < limit:
            self.abort_mounts()
            time.sleep(0.05)
        self.holder.kill()
        try:
            self.holder.wait(timeout=10)
        except subprocess.TimeoutExpired:
            pass
        self.holder = None
        self.process = 0
        subprocess.run(["ip", "link", "del", self.port], capture_output=True, check=False)

    @staticmethod
    def kill(process: int) -> None:
        try:
            os.kill(process, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def daemon(self, vault: Path) -> list[int]:
        """The processes of this machine, by their numbers outside, whose command line names the vault."""
        found = []
        own = os.readlink(f"/proc/{self.process}/ns/pid")
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                if os.readlink(entry / "ns" / "pid") == own and os.fsencode(vault) in (
                        entry / "cmdline").read_bytes().split(b"\0") and b"mount" in (
                        entry / "cmdline").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
            except OSError:
                continue
        return found
