"""What the measuring tools share: running commands, and the file systems that they measure, each in its own folder."""

from __future__ import annotations

import argparse
import json
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from contextlib import contextmanager
from typing import Callable, Iterator, Optional

from sampling import Daemon

TOOLS = Path(__file__).resolve().parent.parent
TOOL = Path(sys.argv[0]).name
IS_ROOT = os.geteuid() == 0


def say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


def command(*words: str | Path, cwd: Optional[Path] = None) -> str:
    """Runs a command and returns its output. If it fails, the tool ends and prints the command's errors."""
    # Files, not pipes: a daemon that the command starts keeps them open, and a pipe would never end.
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        status = subprocess.call([str(word) for word in words], cwd=cwd, stdin=subprocess.DEVNULL, stdout=output,
                                 stderr=errors, **identity())
        output.seek(0)
        errors.seek(0)
        if status != 0:
            said = errors.read().decode(errors="replace").strip()
            raise SystemExit(f"{TOOL}: {' '.join(map(str, words))}: status {status}\n{said}")
        return output.read().decode(errors="replace")


def identity() -> dict[str, int]:
    """For a program that is started while this process acts for a user: that user's, for good."""
    return {} if os.geteuid() == os.getuid() else {"user": os.geteuid(), "group": os.getegid()}


@contextmanager
def acting(name: Optional[str]) -> Iterator[None]:
    """What is done meanwhile, and each program that is started, has the rights of this user, or of root for None."""
    before = os.geteuid(), os.getegid(), os.getgroups(), os.environ.get("HOME", "/")

    def become(user: int, group: int, groups: list[int], home: str) -> None:
        os.environ["HOME"] = home
        if os.getuid() == 0:
            os.seteuid(0)
            os.setgroups(groups)
            os.setegid(group)
            os.seteuid(user)

    entry = pwd.getpwnam(name) if name is not None else pwd.getpwuid(os.getuid())
    become(entry.pw_uid, entry.pw_gid, [], entry.pw_dir)
    try:
        yield
    finally:
        become(*before)


RING_SWITCH = Path("/sys/module/fuse/parameters/enable_uring")
DEVICE = Path("/dev/fuse")


@contextmanager
def prepared(rings: bool, user: Optional[str]) -> Iterator[None]:
    """Meanwhile FUSE over io_uring is on, and the user may mount; both are put back at the end."""
    before = RING_SWITCH.read_text() if rings else ""
    mode = DEVICE.stat().st_mode & 0o7777
    if rings:
        RING_SWITCH.write_text("Y\n")
    if user is not None:
        DEVICE.chmod(0o666)
    try:
        yield
    finally:
        if rings:
            RING_SWITCH.write_text(before)
        if user is not None:
            DEVICE.chmod(mode)


def common(shell: str) -> None:
    """Runs a line of shell after it has sourced tools/lib/common.sh."""
    script = f'set -euo pipefail; . "$1/lib/common.sh"; {shell}'
    if subprocess.run(["bash", "-c", script, TOOL, str(TOOLS)], stdout=sys.stderr, check=False).returncode != 0:
        raise SystemExit(1)


class FileSystem:
    """A file system mounted at `point`; this class is a plain folder. `cold` empties the caches that it can reach."""

    name = "plain"
    packages: tuple[str, ...] = ()

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

    def watch(self) -> None:
        """Called after each mount: begins to record the peak memory of the daemon."""

    def look(self) -> None:
        """Called before each unmount: reads the peak memory of the daemon."""

    def cold(self) -> None:
        os.sync()
        self.look()
        self.unmount()
        if IS_ROOT:
            with acting(None):
                Path("/proc/sys/vm/drop_caches").write_text("3\n")
            # Loads the programs again, so that no measurement includes it.
            for program in ("git", "fio", "tar"):
                if shutil.which(program):
                    command(program, "--version")
        self.mount()
        self.watch()


class FuseDaemon(FileSystem):
    """A FUSE daemon with a backing folder of its own."""

    packages = ("fuse3",)
    # Resident bytes: right after a mount, and the peak.
    idle = 0
    peak = 0
    daemon: Optional[Daemon] = None

    def watch(self) -> None:
        self.daemon = Daemon(self.vault, samples=False)
        self.idle = max(self.idle, self.daemon.resident_now)

    def look(self) -> None:
        if self.daemon:
            self.peak = max(self.peak, self.daemon.resident)

    def create(self) -> None:
        self.vault = self.folder / "vault"
        self.vault.mkdir()
        self.passfile = self.folder / "passcode"
        self.passfile.write_text("a passcode of the benchmark\n")
        self.passfile.chmod(0o600)

    def unmount(self) -> None:
        command("fusermount3", "-u", self.point)
        # The daemon ends a moment after the unmount, and until then it keeps the backing folder's caches.
        while str(self.vault) in command("ps", "-eo", "args"):
            time.sleep(0.01)


class Gocryptfs(FuseDaemon):
    name = "gocryptfs"
    packages = ("fuse3", "gocryptfs")

    def create(self) -> None:
        super().create()
        command("gocryptfs", "-init", "-q", "-passfile", self.passfile, self.vault)

    def mount(self) -> None:
        command("gocryptfs", "-q", "-nosyslog", "-passfile", self.passfile, self.vault, self.point)


class Securefs(FuseDaemon):
    name = "securefs"
    packages = ("fuse3", "securefs")

    def create(self) -> None:
        super().create()
        command("securefs", "create", "--pass", self.passfile.read_text().strip(), self.vault)

    def mount(self) -> None:
        command("securefs", "mount", "-b", "--pass", self.passfile.read_text().strip(), self.vault, self.point)


class Encfs(FuseDaemon):
    name = "encfs"
    packages = ("fuse3", "encfs")

    def mount(self) -> None:
        command("encfs", "--standard", f"--extpass=cat {self.passfile}", self.vault, self.point)


class Cryfs(FuseDaemon):
    name = "cryfs"
    packages = ("fuse3", "cryfs")

    def mount(self) -> None:
        command("env", "CRYFS_FRONTEND=noninteractive", "CRYFS_NO_UPDATE_CHECK=true",
                f"CRYFS_LOCAL_STATE_DIR={self.folder}/state", "sh", "-c", 'cryfs "$1" "$2" < "$3"', "cryfs", self.vault,
                self.point, self.passfile)


class Passthrough(FuseDaemon):
    """libfuse's passthrough_hp, which encrypts nothing: the cost of FUSE itself. --passthrough names its folder."""

    name = "passthrough_hp"
    flags: tuple[str, ...] = ()

    def mount(self) -> None:
        program = self.options.passthrough / "passthrough_hp"
        usage = command("sh", "-c", '"$1" --help 2>&1 || true', "sh", program)
        command(program, *(["--nopassthrough"] if "--nopassthrough" in usage else []), *self.flags, self.vault,
                self.point)


class PassthroughRing(Passthrough):
    """passthrough_hp of a libfuse that has io_uring (3.18 or later), and uses it."""

    name = "passthrough_ring"
    flags = ("-o", "io_uring")


class Fscrypt(FileSystem):
    """The kernel's own encryption, in an ext4 image on a loop device. Needs root."""

    name = "fscrypt"
    packages = ("fscrypt", "e2fsprogs")

    def create(self) -> None:
        self.image, self.disk, self.key = self.folder / "image", self.folder / "disk", self.folder / "key"
        self.disk.mkdir()
        command("truncate", "-s", "4G", self.image)
        command("mkfs.ext4", "-q", "-O", "encrypt", self.image)
        self.key.write_bytes(os.urandom(32))
        self.point.rmdir()
        self.point = self.disk / "mount"
        self.attach()
        if not Path("/etc/fscrypt.conf").exists():
            command("fscrypt", "setup", "--quiet", "--force")
        command("fscrypt", "setup", "--quiet", "--force", self.disk)
        self.point.mkdir()
        command("fscrypt", "encrypt", self.point, "--source=raw_key", f"--key={self.key}", "--name=bench", "--quiet")
        self.is_mounted = True

    def attach(self) -> None:
        command("mount", "-o", "loop", self.image, self.disk)

    def mount(self) -> None:
        if not self.is_mounted:
            self.attach()
            command("fscrypt", "unlock", self.point, f"--key={self.key}", "--quiet")
            self.is_mounted = True

    def unmount(self) -> None:
        command("umount", self.disk)
        self.is_mounted = False


class Latchkey(FuseDaemon):
    name = "latchkey"
    transport: Optional[str] = None
    """None: that which Latchkey chooses."""

    @property
    def program(self) -> Path:
        return self.options.latchkey

    def create(self) -> None:
        super().create()
        self.device_key = self.folder / "device.key"
        command(self.program, "init", self.vault, "--passcode-file", self.passfile, "--recovery-key-file",
                self.folder / "recovery-key", "--device-key", self.device_key, "--default-class",
                self.options.protection_class)

    def mount(self) -> None:
        command(self.program, "mount", self.vault, self.point, "--unlock", "--passcode-file", self.passfile,
                "--device-key", self.device_key,
                *(["--transport", self.transport] if self.transport is not None else []))

    def used_transport(self) -> str:
        """By which way requests come, and why not by io_uring."""
        os.stat(self.point)
        status = json.loads(command(self.program, "status", "--json", self.point))
        mounted = status[0] if isinstance(status, list) else status
        return " ".join(filter(None, (mounted.get("transport"), mounted.get("transportReason"))))

    def unmount(self) -> None:
        command(self.program, "unmount", self.point)


class LatchkeyDevice(Latchkey):
    """Latchkey without io_uring."""

    name = "device"
    transport = "device"


class LatchkeyBefore(Latchkey):
    """Another build of Latchkey, such as that of an earlier commit. --before names it."""

    name = "before"

    @property
    def program(self) -> Path:
        return self.options.before


FILE_SYSTEMS = {kind.name: kind for kind in (Latchkey, Gocryptfs, FileSystem)}
# Those that are slower, or need more than a package.
MORE = {kind.name: kind for kind in (LatchkeyDevice, LatchkeyBefore, Passthrough, PassthroughRing, Fscrypt, Securefs,
                                     Encfs, Cryfs)}


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
