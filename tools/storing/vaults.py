"""Latchkey on a machine: a vault in the store, its mount, and the workloads of inside.py in it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Optional

from machines import Failed, Machine, Outcome, Refused
from store import Store

HERE = Path(__file__).resolve().parent
# The longest time that any command waits: a lease that another machine has.
PATIENCE = 120
# The exit code where a vault would lose data, or cannot live.
RISKY_STORE = 7


class Program:
    """The program under test, and which options it has."""

    def __init__(self, path: Path, passcode: Path) -> None:
        self.path = path
        self.passcode = passcode
        self.version = subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout.strip()
        # A debug build says nothing about speed.
        self.is_debug = "debug" in str(path.resolve())
        help_text = subprocess.run([path, "help", "mount"], capture_output=True, text=True, check=True).stdout
        self.lease = 4 if "--lease " in help_text else None
        commands = subprocess.run([path, "--help"], capture_output=True, text=True, check=True).stdout
        self.has_doctor = "\n  doctor " in commands


class Vault:
    """A vault in the store as one machine sees it."""

    def __init__(self, program: Program, store: Store, machine: Machine, name: str = "vault",
                 mount_point: Optional[Path] = None) -> None:
        self.program = program
        self.store = store
        self.machine = machine
        self.name = name
        self.mount_point = mount_point or machine.mount

    @property
    def path(self) -> Path:
        return self.machine.store / self.name

    def latchkey(self, *words: str | Path, seconds: float = 60) -> Outcome:
        return self.machine.run(self.program.path, *words, seconds=seconds)

    def init(self, *options: str) -> None:
        words = ["--passcode-file", self.program.passcode, "--kdf-memory", "19", "--kdf-passes", "2",
                 "--recovery-key-file", self.machine.folder / f"recovery-{time.monotonic_ns()}", *options]
        # Another machine that has just ended may have something of the store that the server waits for.
        done = self.latchkey("init", *words, self.path, seconds=PATIENCE)
        if done.status == 124:
            raise Failed(f"init: no end after {PATIENCE} s")
        self.judge("init", done)

    def share_keys(self, other: "Vault") -> None:
        """The device key, which belongs to a machine, is brought to the other one."""
        shutil.copytree(self.machine.folder / "state", other.machine.folder / "state", dirs_exist_ok=True)

    def try_mount(self, *options: str, seconds: float = PATIENCE) -> Outcome:
        words: list[str | Path] = ["mount", "--unlock", "--passcode-file", self.program.passcode, *options]
        if self.program.lease:
            words += ["--lease", str(self.program.lease)]
        return self.latchkey(*words, self.path, self.mount_point, seconds=seconds)

    def mount(self, *options: str, seconds: float = PATIENCE) -> Outcome:
        done = self.try_mount(*options, seconds=seconds)
        if done.status == 124:
            raise Failed(f"mount: no end after {seconds:g} s")
        self.judge("mount", done)
        return done

    @staticmethod
    def judge(what: str, done: Outcome) -> None:
        if done.status != 0:
            raise (Refused if done.status == RISKY_STORE else Failed)(f"{what}: {done.last}")

    def doctor(self) -> str:
        """What `latchkey doctor` says of the store; nothing if there is no such command."""
        if not self.program.has_doctor:
            return ""
        done = self.latchkey("doctor", self.path)
        if done.status == 124:
            raise Failed("doctor: no end after 60 s")
        return done.output

    def unmount(self, seconds: float = 60) -> None:
        done = self.latchkey("unmount", self.mount_point, seconds=seconds)
        if done.status != 0:
            raise Failed(f"unmount: {done.last}" if done.status != 124 else f"unmount: no end after {seconds:g} s")

    def fsck(self, seconds: float = 120) -> str:
        """Reads everything. Returns what is wrong, or nothing."""
        done = self.latchkey("fsck", "--passcode-file", self.program.passcode, self.path, seconds=seconds)
        if done.status == 124:
            return f"fsck: no end after {seconds:g} s"
        found = [line.strip() for line in done.output.splitlines() if "damage" in line.lower()]
        return "" if done.status == 0 else f"fsck: status {done.status}: {found[0] if found else done.last}"

    def status(self) -> dict[str, Any]:
        done = self.latchkey("status", "--json", self.mount_point, seconds=15)
        if done.status != 0:
            raise Failed(f"status: {done.last}")
        found: dict[str, Any] = json.loads(done.output)
        return found

    def kill(self) -> None:
        """kill -9 of the daemon, and what is left of its mount is taken away."""
        found = self.machine.daemon(self.path)
        if not found:
            raise Failed("found no daemon to kill")
        for process in found:
            self.machine.kill(process)
        limit = time.monotonic() + 20
        while self.machine.daemon(self.path) and time.monotonic() < limit:
            time.sleep(0.02)

    def clear(self) -> None:
        """After a kill: latchkey unmount, as the manual says."""
        done = self.latchkey("unmount", "--lazy", self.mount_point, seconds=20)
        if done.status != 0:
            self.machine.run("umount", "-l", self.mount_point, seconds=20)

    # Workloads

    def words(self, what: str, folder: Path, *rest: str | Path | float) -> list[str]:
        return [sys.executable, "-B", str(HERE / "inside.py"), what, str(folder), *map(str, rest)]

    def work(self, what: str, folder: Path, *rest: str | Path | float, seconds: float = 60) -> Any:
        done = self.machine.run(*self.words(what, folder, *rest), seconds=seconds)
        if done.status == 124:
            raise Failed(f"{what}: no end after {seconds:g} s")
        return answer(what, done.status, done.output)

    def begin(self, what: str, folder: Path, *rest: str | Path | float) -> "Work":
        log = self.machine.folder / f"work-{time.monotonic_ns()}"
        return Work(what, self.machine.begin(*self.words(what, folder, *rest), log=log), log)


def answer(what: str, status: int, output: str) -> Any:
    lines = [line for line in output.strip().splitlines() if line]
    if status != 0 or not lines:
        raise Failed(f"{what}: {lines[-1] if lines else f'status {status}'}")
    return json.loads(lines[-1])


class Work:
    """A workload that goes on while something else happens."""

    def __init__(self, what: str, process: "subprocess.Popen[bytes]", log: Path) -> None:
        self.what = what
        self.process = process
        self.log = log

    def result(self, seconds: float) -> Optional[Any]:
        """What it answered; None if it has not ended in that time."""
        try:
            status = self.process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            return None
        return answer(self.what, status, self.log.read_text(errors="replace"))

    def end(self, acks: Path, seconds: float = 60) -> Optional[Any]:
        """Asks it to end; what it answered, or None."""
        acks.with_suffix(".end").touch()
        return self.result(seconds)


def acknowledged(path: Path, at_least: int, seconds: float) -> int:
    """Waits until so many writes were acknowledged; returns how many were."""
    limit = time.monotonic() + seconds
    while True:
        count = path.read_bytes().count(b"\n") if path.exists() else 0
        if count >= at_least or time.monotonic() > limit:
            return count
        time.sleep(0.05)
