"""The kernel's table of mounts: which vaults this user has mounted."""

from __future__ import annotations

import re
from typing import Callable

from gi.repository import GLib

from ..model.paths import PathName

_OCTAL = re.compile(rb"\\([0-7]{3})")
MOST_LINES = 100_000


def _plain(field: bytes) -> bytes:
    return _OCTAL.sub(lambda match: bytes([int(match[1], 8) & 0xFF]), field)


def mounts(text: bytes, user: int) -> list[tuple[PathName, PathName]]:
    """Mount points and vaults of a user's mounts, from the text of mountinfo."""
    found = []
    for line in text.splitlines()[:MOST_LINES]:
        fields, _, rest = line.partition(b" - ")
        words, more = fields.split(b" "), rest.split(b" ")
        if len(words) < 6 or len(more) < 3 or more[0] != b"fuse.latchkey":
            continue
        if b"user_id=%d" % user in more[2].split(b","):
            found.append((PathName(_plain(words[4])), PathName(_plain(more[1]))))
    return found


class MountTable:
    """Reads the table, and again whenever the kernel says that it has changed."""

    def __init__(self, user: int, on_change: Callable[[], None]) -> None:
        self._user = user
        self._on_change = on_change
        # The kernel signals a change on the descriptor that the table was read from.
        self._file = open("/proc/self/mountinfo", "rb", buffering=0)
        self.mounts = self._read()
        GLib.unix_fd_add_full(GLib.PRIORITY_DEFAULT, self._file.fileno(), GLib.IOCondition.PRI | GLib.IOCondition.ERR,
                              self._changed)

    def _read(self) -> list[tuple[PathName, PathName]]:
        self._file.seek(0)
        return mounts(self._file.read(), self._user)

    def _changed(self, *_: object) -> bool:
        found = self._read()
        if found != self.mounts:
            self.mounts = found
            self._on_change()
        return GLib.SOURCE_CONTINUE
