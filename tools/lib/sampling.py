"""Memory, descriptors, threads and processor time of a daemon, read from /proc while it works."""

from __future__ import annotations

import os
import re
import threading
from dataclasses import dataclass
from pathlib import Path

PAGE = os.sysconf("SC_PAGE_SIZE")
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class Peak:
    """The maximum of all samples; `resident` is in bytes."""

    resident: int = 0
    descriptors: int = 0
    threads: int = 0


class Daemon:
    """The process that serves a vault. A plain folder has none: its `pid` is None."""

    def __init__(self, vault: Path | None, *, samples: bool = True) -> None:
        self.pid = None if vault is None else serving(vault)
        self.peak = Peak()
        self._ends = threading.Event()
        self._sampler = threading.Thread(target=self._sample, daemon=True)
        if self.pid is not None:
            # Resets the peak (VmHWM), because the unlock used as much memory as Argon2id takes. Needs root.
            try:
                self._path("clear_refs").write_text("5\n")
            except OSError:
                pass
            if samples:
                self._sampler.start()

    def _path(self, name: str) -> Path:
        return Path("/proc", str(self.pid), name)

    def _field(self, file: str, name: str) -> int:
        """Bytes; 0 for a process that is about to exit, which has no such field."""
        found = re.search(rf"^{name}:\s+(\d+) kB", self._path(file).read_text(), re.MULTILINE)
        return int(found[1]) * 1024 if found else 0

    def _sample(self) -> None:
        while not self._ends.wait(0.25):
            try:
                self.look()
            except OSError:
                return

    def look(self) -> None:
        self.peak.resident = max(self.peak.resident, self.resident)
        self.peak.descriptors = max(self.peak.descriptors, self.descriptors)
        self.peak.threads = max(self.peak.threads, self.threads)

    def stop(self) -> None:
        if self.pid is not None and not self._ends.is_set():
            self.look()
            self._ends.set()
            self._sampler.join()

    @property
    def resident(self) -> int:
        """Peak of the resident memory in bytes, as the kernel records it."""
        return self._field("status", "VmHWM")

    @property
    def resident_now(self) -> int:
        return int(self._path("statm").read_text().split()[1]) * PAGE if self.pid is not None else 0

    @property
    def anonymous(self) -> int:
        """Anonymous memory, in bytes."""
        return self._field("smaps_rollup", "Pss_Anon")

    @property
    def descriptors(self) -> int:
        return len(os.listdir(self._path("fd")))

    @property
    def descriptor_limit(self) -> int:
        return int(re.search(r"Max open files\s+(\d+)", self._path("limits").read_text())[1])

    @property
    def threads(self) -> int:
        return len(os.listdir(self._path("task")))

    @property
    def seconds(self) -> float:
        """Processor time used so far."""
        if self.pid is None:
            return 0
        fields = self._path("stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS


def serving(vault: Path) -> int:
    """The ID of the process whose command line names a vault."""
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or entry.name == str(os.getpid()):
            continue
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if os.fsencode(vault) in words:
            return int(entry.name)
    raise SystemExit(f"scale: no process serves {vault}")
