"""Measures how long the main loop stays away, for the test that the window never freezes.

It runs only if LATCHKEY_DESKTOP_HEARTBEAT names a file: there it writes the largest gap in seconds since the file was
last removed, at most twice a second. The time in which other programs had the processors does not count.
"""

from __future__ import annotations

import os
import time

from gi.repository import GLib

BEAT = 0.02
WRITING = 0.5


# Seconds that a thread has waited for a processor: the second number, in nanoseconds. Source: the kernel's
# Documentation/scheduler/sched-stats.rst.
_SCHEDULING = "/proc/thread-self/schedstat"


def _waited() -> float:
    try:
        with open(_SCHEDULING, encoding="ascii") as file:
            return int(file.read().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0


class Heartbeat:
    """Beats every 20 ms and notes the largest time between two beats."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._last = time.monotonic() - _waited()
        self._written = time.monotonic()
        self._largest = 0.0
        GLib.timeout_add(int(BEAT * 1000), self._beat, priority=GLib.PRIORITY_DEFAULT)

    def _beat(self) -> bool:
        now = time.monotonic()
        own = now - _waited()
        gap = own - self._last
        # A removed file begins the measurement anew; the gap that ends now belongs to the new one.
        is_new = not os.path.exists(self._path)
        self._largest = gap if is_new else max(self._largest, gap)
        if is_new or now - self._written >= WRITING:
            with open(self._path + ".new", "w", encoding="ascii") as file:
                file.write(f"{self._largest:.4f}\n")
            os.rename(self._path + ".new", self._path)
            self._written = time.monotonic()
        self._last = own
        return GLib.SOURCE_CONTINUE


def start() -> None:
    """Begins to measure, if the environment asks for it."""
    path = os.environ.get("LATCHKEY_DESKTOP_HEARTBEAT")
    if path:
        Heartbeat(path)
