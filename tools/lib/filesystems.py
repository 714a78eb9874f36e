"""What the measuring tools share: to run commands, and the file systems that they measure, each with a folder to work in."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Callable, Optional

TOOLS = Path(__file__).resolve().parent.parent
TOOL = Path(sys.argv[0]).name
IS_ROOT = os.geteuid() == 0


def say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


def command(*words: str | Path, cwd: Optional[Path] = None) -> str:
    """Runs a command and returns its output; a failure shows what it said."""
    # Into files, not pipes: a daemon keeps its copies open, and the end of a pipe would never come.
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        status = subprocess.call([str(word) for word in words], cwd=cwd, stdin=subprocess.DEVNULL, stdout=output,
                                 stderr=errors)
        output.seek(0)
        errors.seek(0)
        if status != 0:
            said = errors.read().decode(errors="replace").strip()
            raise SystemExit(f"{TOOL}: {' '.join(map(str, words))}: status {status}\n{said}")
        return output.read().decode(errors="replace")


def common(shell: str) -> None:
    """Runs a line of shell with tools/lib/common.sh at hand."""
    script = f'set -euo pipefail; . "$1/lib/common.sh"; {shell}'
    if subprocess.run(["bash", "-c", script, TOOL, str(TOOLS)], stdout=sys.stderr, check=False).returncode != 0:
        raise SystemExit(1)


class FileSystem:
    """Something with a folder to work in. `cold` leaves nothing of its files in the caches that it can reach."""

    name = "plain"

    def __init__(self, folder: Path, options: argparse.Namespace) -> None:
        self.folder = folder
        self.options = options
        self.point = folder / "mount"
        self.point.mkdir(parents=True)

    def create(self) -> None:
        pass

    def mount(self) -> None:
        pass

    def unmount(self) -> None:
        pass

    def cold(self) -> None:
        os.sync()
        self.unmount()
        if IS_ROOT:
            Path("/proc/sys/vm/drop_caches").write_text("3\n")
        self.mount()


class Gocryptfs(FileSystem):
    name = "gocryptfs"

    def create(self) -> None:
        self.vault = self.folder / "vault"
        self.vault.mkdir()
        self.passfile = self.folder / "passcode"
        self.passfile.write_text("a passcode of the benchmark\n")
        command("gocryptfs", "-init", "-q", "-passfile", self.passfile, self.vault)

    def mount(self) -> None:
        command("gocryptfs", "-q", "-nosyslog", "-passfile", self.passfile, self.vault, self.point)

    def unmount(self) -> None:
        command("fusermount3", "-u", self.point)
        # The daemon holds the backing folder's caches until it is gone, a moment after the mount is.
        while str(self.vault) in command("ps", "-eo", "args"):
            time.sleep(0.01)


class Latchkey(FileSystem):
    name = "latchkey"

    def create(self) -> None:
        self.vault = self.folder / "vault"
        self.passfile = self.folder / "passcode"
        self.device_key = self.folder / "device.key"
        self.passfile.write_text("a passcode of the benchmark\n")
        self.passfile.chmod(0o600)
        command(self.options.latchkey, "init", self.vault, "--passcode-file", self.passfile, "--recovery-key-file",
                self.folder / "recovery-key", "--device-key", self.device_key, "--default-class",
                self.options.protection_class)

    def mount(self) -> None:
        command(self.options.latchkey, "mount", self.vault, self.point, "--unlock", "--passcode-file", self.passfile,
                "--device-key", self.device_key)

    def unmount(self) -> None:
        command(self.options.latchkey, "unmount", self.point)


FILE_SYSTEMS = {kind.name: kind for kind in (Latchkey, Gocryptfs, FileSystem)}


def clean_up(folder: Path) -> None:
    common(f"unmount_below '{folder}'")
    shutil.rmtree(folder, ignore_errors=True)


def chosen(known: dict[str, object]) -> Callable[[str], list[str]]:
    def parse(text: str) -> list[str]:
        names = [name for name in text.split(",") if name]
        unknown = [name for name in names if name not in known]
        if unknown or not names:
            raise argparse.ArgumentTypeError(f"choose from {', '.join(known)}")
        return names

    return parse
