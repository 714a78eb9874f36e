"""Reads the classes of files beside the main loop of a file manager.

Threads of Python do not run there: the file manager holds Python's lock while it waits. Those of GIO do. Only a few
questions are asked at a time, so a daemon that hangs takes no more than these threads.
"""

from __future__ import annotations

import os
from collections import deque
from typing import Callable

from gi.repository import Gio, GLib

from ..model.classes import BY_NAME, ProtectionClass

# GIO's name of the extended attribute user.latchkey.class.
_ATTRIBUTE = "xattr::latchkey.class"
MOST_WAITING = 50_000
_AT_ONCE = 2
Found = Callable[[ProtectionClass | None], None]


class ClassReader:
    """Answers questions, each on the main loop."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[bytes, Found]] = deque()
        self._asked = 0

    def ask(self, path: bytes, found: Found) -> bool:
        """Asks for the class of a file; false if too many questions wait already."""
        if len(self._waiting) >= MOST_WAITING:
            return False
        self._waiting.append((path, found))
        self._next()
        return True

    def _next(self) -> None:
        while self._waiting and self._asked < _AT_ONCE:
            path, found = self._waiting.popleft()
            self._asked += 1
            Gio.File.new_for_path(os.fsdecode(path)).query_info_async(
                _ATTRIBUTE, Gio.FileQueryInfoFlags.NONE, GLib.PRIORITY_DEFAULT_IDLE, None, self._answered, found)

    def _answered(self, file: Gio.File, result: Gio.AsyncResult, found: Found) -> None:
        self._asked -= 1
        try:
            name = file.query_info_finish(result).get_attribute_as_string(_ATTRIBUTE)
        except GLib.Error:
            name = None
        found(BY_NAME.get(name or ""))
        self._next()
