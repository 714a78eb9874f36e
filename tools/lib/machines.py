"""Machines in namespaces, which reach one vault through sshfs: neither sees the locks of the other."""

from __future__ import annotations

import os
import pathlib
import random
import signal
import subprocess
import sys
import threading
import time

PASSCODE = "correct horse battery staple"
# Runs on a machine: appends lines to a file until an error, and says which were durable when.
WRITER = """
import os, sys, time
name, path = sys.argv[1:]
file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
number = 0
def now(): return time.clock_gettime(time.CLOCK_BOOTTIME)
while True:
    number += 1
    start = now()
    line = b"%s %d\\n" % (name.encode(), number)
    try:
        if os.write(file, line) != len(line): raise OSError("short")
        os.fsync(file)
    except OSError as error:
        print("error", error.errno, now(), flush=True)
        break
    print("line", number, start, now(), flush=True)
"""


def now() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def children(process: int) -> list[int]:
    """All descendants of a process."""
    found = []
    try:
        text = pathlib.Path(f"/proc/{process}/task/{process}/children").read_text()
    except OSError:
        return []
    for child in map(int, text.split()):
        found += [child] + children(child)
    return found


class Machine:
    """A mount namespace with identities of its own, which mounts the vault."""

    def __init__(self, name: str, folder: pathlib.Path, program: pathlib.Path, lease: float, skew: str | None):
        self.name, self.program, self.lease, self.skew = name, program, lease, skew
        self.folder = folder / name
        self.store, self.point = self.folder / "store", self.folder / "mount"
        for path in (self.folder, self.store, self.point):
            path.mkdir(exist_ok=True)
        self.vault = folder / "vault"
        self.environment = {
            **os.environ, "HOME": str(folder), "XDG_RUNTIME_DIR": str(self.folder), "XDG_STATE_HOME": str(folder)}
        (self.folder / "machine-id").write_text(random.randbytes(16).hex() + "\n")
        self.keeper: subprocess.Popen | None = None
        self.daemon: subprocess.Popen | None = None
        self.writer: subprocess.Popen | None = None
        self.writers = 0
        self.lines: list[tuple[str, float, float]] = []
        self.boot()

    def boot(self) -> None:
        """Begins with a new boot ID, and with the store mounted."""
        boot_id = self.folder / "boot-id"
        boot_id.write_text(str(random.randbytes(16).hex()) + "-boot\n")
        server = self.folder / "server"
        server.write_text("#!/bin/sh\nexec /usr/lib/openssh/sftp-server\n")
        server.chmod(0o755)
        sshfs = (
            f"sshfs -f -o ssh_command={server},dir_cache=no,entry_timeout=0,attr_timeout=0 "
            f"host:{self.vault} {self.store}")
        script = f"""
            mount --bind {self.folder}/machine-id /etc/machine-id
            mount --bind {boot_id} /proc/sys/kernel/random/boot_id
            mkdir -p -m 700 /run/latchkey
            mount -t tmpfs -o mode=0700 tmpfs /run/latchkey
            hostname {self.name}
            exec {sshfs} > {self.folder}/sshfs.log 2>&1
        """
        self.keeper = subprocess.Popen(
            ["unshare", "--mount", "--uts", "--propagation", "private", "sh", "-c", script], env=self.environment)
        limit = now() + 30
        # Until it has its namespace, it shows the mounts of this one.
        while f" {self.store} fuse.sshfs" not in self.read_mounts():
            if now() > limit or self.keeper.poll() is not None:
                raise RuntimeError(f"{self.name}: sshfs does not start")
            time.sleep(0.01)

    def read_mounts(self) -> str:
        try:
            return pathlib.Path(f"/proc/{self.keeper.pid}/mounts").read_text()
        except OSError:
            return ""

    def command(self, *words: str) -> list[str]:
        return ["nsenter", f"--mount=/proc/{self.keeper.pid}/ns/mnt", f"--uts=/proc/{self.keeper.pid}/ns/uts", *words]

    def begin_mount(self, *arguments: str) -> None:
        """Starts the daemon; it says "mounted" in its log when it is ready."""
        self.log = open(self.folder / "daemon.log", "w+b")
        environment = dict(self.environment)
        if self.skew:
            [library] = pathlib.Path("/usr/lib").glob("*/faketime/libfaketime.so.1")
            environment |= {
                "LD_PRELOAD": str(library), "FAKETIME": self.skew, "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
        self.daemon = subprocess.Popen(
            self.command(
                str(self.program), "mount", "--foreground", "--passcode-file",
                str(self.vault.parent / "passcode"), "--lease", str(self.lease), "--grace", "600", *arguments,
                str(self.store), str(self.point)),
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, env=environment)

    def log_text(self) -> str:
        return (self.folder / "daemon.log").read_text(errors="replace")

    @property
    def is_mounted(self) -> bool:
        return self.daemon is not None and f" {self.point} fuse.latchkey" in self.read_mounts() \
            and "mounted" in self.log_text() and self.daemon.poll() is None

    def begin_writing(self) -> None:
        self.writers += 1
        self.writer = subprocess.Popen(
            self.command(sys.executable, "-c", WRITER, f"{self.name}-{self.writers}", str(self.point / "file")),
            stdout=subprocess.PIPE, text=True)
        name, stream = f"{self.name}-{self.writers}", self.writer.stdout

        def collect() -> None:
            for words in map(str.split, stream):
                if words[0] == "line":
                    self.lines.append((f"{name} {words[1]}", float(words[2]), float(words[3])))

        self.collector = threading.Thread(target=collect, daemon=True)
        self.collector.start()

    def contents(self) -> list[str]:
        """The lines of the file, if there is one; raises RuntimeError if it cannot be read."""
        found = subprocess.run(
            self.command("cat", str(self.point / "file")), capture_output=True, text=True, timeout=60)
        if "No such file" in found.stderr:
            return []
        if found.returncode != 0:
            raise RuntimeError(f"{self.name} cannot read: {found.stderr.strip()}; its daemon said: {self.log_text()}")
        return found.stdout.split("\n")

    def signal_daemon(self, number: int) -> None:
        for process in [self.daemon.pid] + children(self.daemon.pid):
            try:
                os.kill(process, number)
            except ProcessLookupError:
                pass

    def signal_store(self, number: int) -> None:
        for process in children(self.keeper.pid) + [self.keeper.pid]:
            try:
                os.kill(process, number)
            except ProcessLookupError:
                pass

    def end_writing(self) -> None:
        if self.writer:
            self.writer.kill()
            self.writer.wait()
            self.collector.join()
            self.writer = None

    def kill_daemon(self) -> None:
        """Kills the daemon, and removes its mount."""
        if not self.daemon:
            return
        self.signal_daemon(signal.SIGKILL)
        self.daemon.wait()
        self.end_writing()
        subprocess.run(self.command("umount", "-l", str(self.point)), stderr=subprocess.DEVNULL)
        self.daemon = None

    def end_mount(self) -> None:
        """Unmounts cleanly."""
        self.end_writing()
        self.daemon.terminate()
        try:
            self.daemon.wait(60)
        except subprocess.TimeoutExpired:
            self.kill_daemon()
            raise RuntimeError(f"{self.name}: the daemon does not end: {self.log_text()}") from None
        self.daemon = None

    def lose_power(self) -> None:
        self.kill_daemon()
        self.signal_store(signal.SIGKILL)
        self.keeper.wait()


def make_vault(program: pathlib.Path, folder: pathlib.Path) -> None:
    """A vault in folder/vault, and its passcode and device key beside it."""
    (folder / "vault").mkdir(mode=0o700)
    (folder / "passcode").write_text(PASSCODE)
    (folder / "passcode").chmod(0o600)
    subprocess.run(
        [str(program), "init", "--kdf-memory", "19", "--kdf-passes", "2", "--passcode-file",
         str(folder / "passcode"), "--recovery-key-file", str(folder / "recovery"), str(folder / "vault")],
        check=True, stdout=subprocess.DEVNULL, env={**os.environ, "HOME": str(folder), "XDG_STATE_HOME": str(folder)})
