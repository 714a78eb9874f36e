"""A machine: a folder with its copy of the vault, its device key, and so a memory of its own."""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, Optional

PASSCODE = "a passcode of the tools\n"
PATIENCE = 120
OLDER = re.compile(r"older|looks as it did|changed apart|removed file is back")


class Failed(Exception):
    """A command that must succeed has failed."""


def run(*words: str | Path, patience: float = PATIENCE, statuses: tuple[int, ...] = (0,),
        environment: Optional[dict[str, str]] = None, folder: Optional[Path] = None) -> tuple[str, str]:
    """Runs a command with an end, and returns its output and its errors. They go through files: a daemon that the
    command starts would keep a pipe open."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        try:
            status = subprocess.call([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=output,
                                     stderr=errors, timeout=patience, env=environment, cwd=folder)
        except subprocess.TimeoutExpired:
            raise Failed(f"{words[0]} {words[1]} did not end within {patience} s") from None
        output.seek(0)
        errors.seek(0)
        texts = output.read().decode(errors="replace"), errors.read().decode(errors="replace")
        if status not in statuses:
            raise Failed(f"{' '.join(map(str, words))}: status {status}\n{texts[0][-2000:]}{texts[1][-2000:]}")
        return texts


def forget_faked_clocks() -> None:
    """Removes what libfaketime leaves in memory: a program with the process ID of an earlier one would end at once."""
    for file in [*Path("/dev/shm").glob("faketime_shm_*"), *Path("/dev/shm").glob("sem.faketime_sem_*")]:
        if not Path("/proc", file.name.rsplit("_", 1)[1]).exists():
            file.unlink(missing_ok=True)


def be(identity: Optional[Path]) -> None:
    """Programs that start in this mount namespace from now on find this identity of the machine; None: its own."""
    subprocess.run(["umount", "/etc/machine-id"], capture_output=True, check=False)
    if identity:
        run("mount", "--bind", identity, "/etc/machine-id")


class Machine:
    """`clock` is how far the clock of the next daemon is wrong, as libfaketime wants it; None if it is right."""

    def __init__(self, name: str, folder: Path, latchkey: Path, in_memory: bool):
        self.name, self.latchkey, self.folder = name, latchkey, folder / name
        self.data, self.point, self.state = self.folder / "data", self.folder / "mount", self.folder / "state"
        self.vault, self.key, self.passfile = self.data / "vault", self.state / "device.key", self.folder / "passcode"
        for path in (self.data, self.point, self.state):
            path.mkdir(parents=True)
        # Machines know each other by it: docs/CLAIMS.md.
        self.identity = self.folder / "machine-id"
        self.identity.write_text(hashlib.md5(name.encode()).hexdigest() + "\n")
        self.in_memory = in_memory
        if in_memory:
            run("mount", "-t", "ramfs", "-o", "mode=700", "ramfs", self.data)
        self.passfile.touch(mode=0o600)
        self.passfile.write_text(PASSCODE)
        self.environment = {**os.environ, "XDG_STATE_HOME": str(self.state), "HOME": str(self.folder)}
        self.clock: Optional[str] = None
        self.monitor: Optional[subprocess.Popen[bytes]] = None
        self.pid: Optional[int] = None
        self.messages: list[str] = []
        self.log_read = 0

    def latch(self, *words: str | Path, clock: Optional[str] = None, statuses: tuple[int, ...] = (0,)) -> str:
        be(self.identity)
        command: list[str | Path] = [self.latchkey, *words]
        environment = self.environment
        if clock:
            forget_faked_clocks()
            [library] = Path("/usr/lib").glob("*/faketime/libfaketime.so.1")
            # libfaketime moves the environment, and Swift then finds no arguments: the shell is the one that it meets.
            command = ["sh", "-c", 'exec "$@"', "sh", *command]
            environment = {**environment, "LD_PRELOAD": str(library), "FAKETIME": clock, "NO_FAKE_STAT": "1",
                           "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
        output, errors = run(*command, environment=environment, statuses=statuses)
        self.messages += [line for line in errors.splitlines() if line.strip()]
        return output

    def make_vault(self) -> None:
        self.latch("init", self.vault, "--device-key", self.key, "--recovery-key-file", self.folder / "recovery",
                   "--kdf-memory", "19", "--kdf-passes", "2", "--passcode-file", self.passfile)
        self.messages.clear()

    def mount(self, *, is_unlocked: bool = True) -> None:
        unlock = ["--passcode-file", self.passfile] if is_unlocked else []
        self.latch("mount", self.vault, self.point, "--device-key", self.key, "--grace", "0", *unlock,
                   clock=self.clock)
        self.pid = int(self.status()["pid"])
        self.events = open(self.folder / "events", "w+b")
        self.monitor = subprocess.Popen([self.latchkey, "monitor", "--json", self.point], stdin=subprocess.DEVNULL,
                                        stdout=self.events, stderr=subprocess.DEVNULL, env=self.environment)

    def status(self) -> dict[str, Any]:
        return json.loads(self.latch("status", "--json", self.point))

    def lock(self) -> None:
        self.latch("lock", "--now", "--wait", self.point)

    def unlock(self) -> None:
        self.latch("unlock", self.point, "--passcode-file", self.passfile)

    def alarms(self) -> list[str]:
        """What the daemon says of older files, while it is mounted."""
        status = self.status()
        freshness = status.get("freshness", {})
        found = []
        if freshness.get("older"):
            # It names the files up to half a second later.
            time.sleep(1)
            freshness = self.status()["freshness"]
            found.append(f"{freshness['older']} files are older: {freshness['files']}")
            for path in freshness["files"][:5]:
                name = path["path"] if isinstance(path, dict) else path
                text = self.latch("explain", "--json", self.point / name.lstrip("/"), statuses=(0, 1, 4, 6))
                if text.strip():
                    found.append(f"{name}: {json.loads(text)[0].get('older')}")
        for field in ("moment", "hasLostJournal", "trouble"):
            if freshness.get(field):
                found.append(f"{field}: {freshness[field]}")
        if status.get("refusals"):
            found.append(f"refusals: {status['refusals']}")
        return found

    def unmount(self) -> list[str]:
        """Unmounts, and returns what monitor, log and commands have said of older files since the mount."""
        self.latch("unmount", self.point)
        self.pid = None
        return self.end_monitor() + self.said()

    def end_monitor(self) -> list[str]:
        if not self.monitor:
            return []
        try:
            self.monitor.wait(20)
        except subprocess.TimeoutExpired:
            self.monitor.kill()
            self.monitor.wait()
        self.monitor = None
        self.events.seek(0)
        events = [json.loads(line) for line in self.events.read().decode().splitlines()]
        self.events.close()
        return [f"monitor: {event['event']}" for event in events if event.get("event") == "did-find-older"]

    def said(self) -> list[str]:
        lines, self.messages = self.messages, []
        logs = sorted((self.state / "latchkey" / "log").glob("*.log"))
        for log in logs:
            with open(log, "rb") as file:
                file.seek(0, os.SEEK_END)
                # At 1 MiB the log begins anew.
                self.log_read = min(self.log_read, file.tell()) if file.tell() >= self.log_read else 0
                file.seek(self.log_read)
                text = file.read()
                self.log_read += len(text)
                lines += text.decode(errors="replace").splitlines()
        return [f"said: {line}" for line in lines if OLDER.search(line)]

    def kill(self) -> None:
        """Kills the daemon, and takes its mount away."""
        assert self.pid
        os.kill(self.pid, signal.SIGKILL)
        run("umount", "-l", self.point)
        # It has its locks until its last thread has ended, and its claim until init has waited for it.
        end = time.monotonic() + PATIENCE
        while Path(f"/proc/{self.pid}").exists():
            if time.monotonic() > end:
                raise Failed(f"the daemon {self.pid} does not end after SIGKILL")
            time.sleep(0.01)
        self.pid = None
        self.end_monitor()

    def sync_all(self) -> None:
        """Makes all durable, file by file: the kernel does not tell a FUSE file system of syncfs(2)."""
        for folder, folders, files in os.walk(self.point, topdown=False):
            for name in [*files, "."]:
                path = Path(folder, name)
                if path.is_symlink():
                    continue
                descriptor = os.open(path, os.O_RDONLY)
                try:
                    os.fsync(descriptor)
                finally:
                    os.close(descriptor)

    def fsck(self) -> dict[str, Any]:
        text = self.latch("fsck", "--freshness", "--json", "--device-key", self.key, "--passcode-file", self.passfile,
                          self.vault, statuses=(0, 6))
        return json.loads(text)

    def end(self) -> None:
        """Leaves no process and no mount, whatever has happened."""
        if self.monitor:
            self.monitor.kill()
            self.monitor.wait()
        if os.path.ismount(self.point) or self.pid:
            subprocess.run([self.latchkey, "unmount", "--lazy", self.point], env=self.environment, timeout=PATIENCE,
                           stdin=subprocess.DEVNULL, capture_output=True, check=False)
        subprocess.run(["umount", "-l", self.point], capture_output=True, check=False)

    def forget_store(self, copy: Optional[Path]) -> None:
        """Unmounts a store in memory; what was in it goes to a folder on the disk first, if that is wanted."""
        if self.in_memory:
            if copy:
                run("cp", "-a", self.data, copy)
            run("umount", "-l", self.data)
            self.in_memory = False
