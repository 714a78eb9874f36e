"""Keys for the window, as a person presses them. There is no window manager: the window gets the focus here."""

from __future__ import annotations

import subprocess
import time
from typing import Callable

from .waiting import until

MOST_TABS = 80
_MOMENT = 0.1


class Keyboard:
    """The keyboard of the screen, pointed at the window of Latchkey."""

    def __init__(self, environment: dict[str, str], title: str = "^Latchkey", by: str = "--name") -> None:
        self._environment = environment

        def window() -> list[str]:
            return self._run("search", "--onlyvisible", by, title).split()

        self.window = until(window, "a window")[-1]
        self._run("windowfocus", "--sync", self.window)

    def _run(self, *words: str) -> str:
        done = subprocess.run(["xdotool", *words], capture_output=True, text=True, timeout=30, env=self._environment)
        return done.stdout

    def size(self) -> tuple[int, int]:
        """Width and height of the window."""
        lines = dict(line.split("=") for line in self._run("getwindowgeometry", "--shell", self.window).split())
        return int(lines["WIDTH"]), int(lines["HEIGHT"])

    def press(self, keys: str) -> None:
        """Presses keys together, such as ctrl+a."""
        self._run("key", keys)

    def click_at(self, x: int, y: int) -> None:
        """Presses the pointer's button at a point of the screen."""
        self._run("mousemove", "--sync", str(x), str(y), "click", "1")

    def type(self, text: str) -> None:
        """Types a text."""
        self._run("type", "--delay", "5", "--", text)

    def tab_to(self, is_there: Callable[[], bool]) -> int:
        """Presses Tab until the focus is where it should be; returns how often."""
        for count in range(MOST_TABS):
            if is_there():
                return count
            self.press("Tab")
            # The window may take the key a moment later.
            end = time.monotonic() + _MOMENT
            while time.monotonic() < end and not is_there():
                time.sleep(0.01)
        raise AssertionError(f"{MOST_TABS} times Tab, and the focus is not there")
