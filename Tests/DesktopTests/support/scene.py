"""A place of its own for a test: home, vaults, real daemons, and the window."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
import unittest
from pathlib import Path

from .waiting import until

TOP = Path(__file__).resolve().parents[3]
PROGRAM = os.environ["LATCHKEY_PROGRAM"]
DESKTOP = TOP / "Sources/latchkey-desktop/latchkey-desktop"
PASSCODE = "correct horse 77 battery"
LIMIT = 60
# As after a login. The file managers embed Python, which looks for its modules beside the first python3 of PATH: one of
# a developer, or of a test, has no gi.
LOGIN_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Scene:
    """Vaults in a folder of its own. `close` ends what the test has started, and unmounts."""

    def __init__(self, home: Path | None = None) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="desktop."))
        self.home = home or self.folder / "home"
        self.home.mkdir(exist_ok=True)
        self.processes: list[subprocess.Popen[bytes]] = []
        self.heartbeat = self.folder / "heartbeat"
        self.pass_file = self.secret("pass", PASSCODE)
        self.answer = self.folder / "answer"
        self.answer_with(PASSCODE)
        asking = self.folder / "ask"
        asking.write_text(f'#!/bin/sh\nprintf "%s\\n" "$1" >>{self.folder}/asked\nexec cat {self.answer}\n')
        asking.chmod(0o700)
        bin_folder = self.folder / "bin"
        bin_folder.mkdir()
        (bin_folder / "latchkey").symlink_to(PROGRAM)
        # Only what the window needs: a setting of the person who runs the tests must not count.
        self.environment = {name: os.environ[name] for name in (
            "DISPLAY", "DBUS_SESSION_BUS_ADDRESS", "AT_SPI_BUS_ADDRESS", "LANG") if name in os.environ}
        self.environment |= {
            "PATH": f"{bin_folder}:{LOGIN_PATH}", "HOME": str(self.home), "GDK_BACKEND": "x11",
            "XDG_CONFIG_HOME": str(self.folder / "config"), "XDG_DATA_HOME": str(self.folder / "data"),
            "XDG_STATE_HOME": str(self.folder / "state"), "XDG_CACHE_HOME": str(self.folder / "cache"),
            "XDG_RUNTIME_DIR": str(self.folder), "TMPDIR": "/tmp", "LATCHKEY_ASKPASS": str(asking),
            "LATCHKEY_DESKTOP_HEARTBEAT": str(self.heartbeat), "PYTHONDONTWRITEBYTECODE": "1",
            "GSETTINGS_BACKEND": "memory", "GTK_A11Y": "atspi", "NO_COLOR": "1", "GSK_RENDERER": "cairo",
        }

    def secret(self, name: str, text: str) -> Path:
        """A file that only its owner can read."""
        path = self.folder / name
        path.touch(mode=0o600)
        path.write_text(text + "\n")
        return path

    def answer_with(self, text: str) -> None:
        """What is answered when a command asks from now on."""
        if not self.answer.exists():
            self.answer.touch(mode=0o600)
        self.answer.write_text(text + "\n")

    def asked(self) -> str:
        """All questions so far."""
        path = self.folder / "asked"
        return path.read_text() if path.exists() else ""

    def latchkey(self, *arguments: str, fails: bool = False) -> str:
        """Runs the command, and returns what it writes."""
        done = subprocess.run([PROGRAM, *arguments], env=self.environment, capture_output=True, timeout=LIMIT,
                              stdin=subprocess.DEVNULL)
        if (done.returncode != 0) != fails:
            raise AssertionError(f"latchkey {arguments}: {done.returncode} {done.stderr.decode()}")
        return (done.stdout + (done.stderr if fails else b"")).decode()

    def status(self, name: str) -> dict[str, object]:
        """What `latchkey status` says of a vault."""
        return json.loads(self.latchkey("status", "--json", name))

    def make_vault(self, name: str, opened: bool = True, grace: int | None = None) -> Path:
        """Makes a named vault, and opens it unless told otherwise; returns its mount point."""
        words = ["--passcode-file", str(self.pass_file), "--kdf-memory", "19", "--kdf-passes", "2"]
        self.latchkey("init", "--name", name, *words, "--recovery-key-file", str(self.folder / f"{name}.recovery"))
        if grace is not None:
            # The table of the new vault is the last one.
            with open(self.folder / "config/latchkey/config.toml", "a", encoding="utf-8") as configuration:
                configuration.write(f"grace = {grace}\n")
        if opened:
            self.open_vault(name)
        return self.home / name

    def open_vault(self, name: str) -> None:
        """Mounts and unlocks a vault."""
        self.latchkey("open", name, "--passcode-file", str(self.pass_file))

    def daemon(self, name: str) -> int:
        """The process of a vault's daemon."""
        return int(str(self.status(name)["pid"]))

    def start(self, *command: str, **more: str) -> subprocess.Popen[bytes]:
        """Starts a program that ends with the scene."""
        log = open(self.folder / f"log.{len(self.processes)}", "wb")
        process = subprocess.Popen(command, env=self.environment | more, stdin=subprocess.DEVNULL, stdout=log,
                                   stderr=subprocess.STDOUT, start_new_session=True)
        log.close()
        self.processes.append(process)
        return process

    def start_desktop(self, *arguments: str, **more: str) -> subprocess.Popen[bytes]:
        """Starts the window, or the tray."""
        return self.start("/usr/bin/python3", "-X", "faulthandler", str(DESKTOP), *arguments, **more)

    def log(self) -> str:
        """What the programs of this scene have written."""
        return "\n".join(path.read_text(errors="replace") for path in sorted(self.folder.glob("log.*")))

    def end(self, process: subprocess.Popen[bytes]) -> None:
        """Ends a program, and waits for it."""
        if process.poll() is None:
            process.send_signal(signal.SIGCONT)
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(10)

    def close(self) -> None:
        for process in reversed(self.processes):
            self.end(process)
        for pid in daemons_of(self.folder):
            os.kill(pid, signal.SIGCONT)
            os.kill(pid, signal.SIGKILL)
        for point in mount_points(self.home):
            subprocess.run(["umount", "-l", point], timeout=LIMIT, check=False)
        until(lambda: not daemons_of(self.folder), "the daemons end")
        # Root's bare mount points are immutable.
        for point in self.home.iterdir():
            subprocess.run(["chattr", "-f", "-i", str(point)], timeout=LIMIT, check=False)
        shutil.rmtree(self.folder)


def mount_points(folder: Path) -> list[str]:
    """The mounts below a folder, the deepest first."""
    found = [line.split(" ")[4].replace("\\040", " ") for line in
             Path("/proc/self/mountinfo").read_text().splitlines()]
    return sorted((point for point in found if point.startswith(f"{folder}/")), reverse=True)


def daemons_of(folder: Path) -> list[int]:
    """The daemons of the vaults in a folder, by their arguments or open files."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal() or int(entry.name) == os.getpid():
            continue
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
            state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if state != "Z" and words[0].endswith(b"latchkey") and any(os.fsencode(folder) in word for word in words[1:]):
            found.append(int(entry.name))
    return found


class SceneTestCase(unittest.TestCase):
    """A test with a scene, whose logs are shown if the test fails."""

    scene: Scene

    def setUp(self) -> None:
        self.scene = Scene()
        self.addCleanup(self.scene.close)
        self.addCleanup(self._show_log)

    def _show_log(self) -> None:
        outcome = getattr(self, "_outcome", None)
        result = getattr(outcome, "result", None)
        failed = [test for test, _ in getattr(result, "failures", []) + getattr(result, "errors", [])]
        if self in failed or (outcome is not None and not outcome.success):
            print(f"--- {self.id()}\n{self.scene.log()}---", flush=True)

    def assertNoTraceback(self) -> None:
        """The programs of the scene have met no error of Python, and no criticism of GTK."""
        log = self.scene.log()
        self.assertNotIn("Traceback", log)
        self.assertNotIn("CRITICAL", log)
