"""Which files lie in a mount of a vault."""

from __future__ import annotations

import os
import time
from urllib.parse import unquote_to_bytes, urlsplit

from ..live.table import mounts

# A listing asks for thousands of files at once; the table is read again after this time.
_FRESH = 1.0


class MountedVaults:
    """Knows the mount points of this user, as the kernel's table had them a moment ago."""

    def __init__(self) -> None:
        self._points: list[bytes] = []
        self._read = float("-inf")

    def path(self, uri: str) -> bytes | None:
        """The path of a file in a mount, by its address; None if it lies elsewhere."""
        parts = urlsplit(uri)
        if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
            return None
        path = unquote_to_bytes(parts.path)
        return path if path.startswith(b"/") and self._holds(path) else None

    def _holds(self, path: bytes) -> bool:
        if time.monotonic() - self._read > _FRESH:
            try:
                with open("/proc/self/mountinfo", "rb") as table:
                    self._points = [point.raw for point, _ in mounts(table.read(), os.getuid())]
            except OSError:
                self._points = []
            self._read = time.monotonic()
        return any(path == point or path.startswith(point.rstrip(b"/") + b"/") for point in self._points)
