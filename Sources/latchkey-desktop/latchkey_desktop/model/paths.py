"""A path: its exact bytes for calls, and a text for people and command lines."""

from __future__ import annotations

import base64
import binascii
import os
import re
from dataclasses import dataclass
from typing import Any

from ..text import shown
from .fields import text

_PLAIN = re.compile(r"[A-Za-z0-9_@%+=:,./~-]+")


@dataclass(frozen=True)
class PathName:
    """A path of the file system, which need not be UTF-8."""

    raw: bytes

    @staticmethod
    def of(message: dict[str, Any], key: str) -> PathName | None:
        """The absolute path under a key of a message, by its exact bytes if the message has them."""
        found = PathName.inside(message, key)
        return found if found and found.raw.startswith(b"/") else None

    @staticmethod
    def inside(message: dict[str, Any], key: str) -> PathName | None:
        """The same, of a path that may begin in a folder, which is empty itself."""
        if key not in message and key + "Base64" not in message:
            return None
        exact, plain = text(message.get(key + "Base64")), text(message.get(key))
        try:
            raw = base64.b64decode(exact, validate=True) if exact else plain.encode()
        except (binascii.Error, ValueError):
            return None
        return PathName(raw) if b"\0" not in raw else None

    @property
    def argument(self) -> str:
        """For a program's arguments: bytes that are not UTF-8 are surrogates, as Python writes them."""
        return os.fsdecode(self.raw)

    @property
    def shown(self) -> str:
        """For people, with unusual characters escaped."""
        return shown(self.raw.replace(b"\\", b"\\\\").decode(errors="backslashreplace"))

    @property
    def name(self) -> str:
        """The last part, for people."""
        return PathName(os.path.basename(self.raw.rstrip(b"/")) or b"/").shown


def quoted(argument: str) -> str:
    """An argument as it can be pasted into bash; the characters that a person cannot see are escaped."""
    if _PLAIN.fullmatch(argument):
        return argument
    if all(character.isprintable() for character in argument):
        return "'" + argument.replace("'", "'\\''") + "'"
    escaped = []
    for byte in os.fsencode(argument):
        if byte in b"'\\":
            escaped.append("\\" + chr(byte))
        elif 0x20 <= byte < 0x7F:
            escaped.append(chr(byte))
        else:
            escaped.append(f"\\x{byte:02x}")
    return "$'" + "".join(escaped) + "'"
