"""What a person should look at: older files, damage, a rotation that has not ended, wrong passcodes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from ..text import _, apart, counted
from .fields import fields, number, objects, text
from .paths import PathName
from .status import Status
from .times import moment

_ESCAPE = re.compile(rb"\\(\\|x[0-9a-f]{2}|u[0-9a-f]{4,6}|n|t|r)")
_SHORT = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"\\": b"\\"}


def sentences(status: Status) -> list[str]:
    """The warnings of a mount, the gravest first."""
    found = []
    freshness = status.freshness
    if freshness and freshness.moment is not None:
        found.append(_("The whole vault looks as it did {time}, and this machine has seen it later.").format(
            time=moment(freshness.moment)))
    if freshness and freshness.has_lost_journal:
        found.append(_("The journal is older than what this machine has seen, or gone: what was saved last may be "
                       "missing."))
    if freshness and freshness.older:
        found.append(counted("{number} file is older than what this machine has seen, or in conflict with it.",
                             "{number} files are older than what this machine has seen, or in conflict with it.",
                             freshness.older))
    if freshness and freshness.trouble:
        found.append(_("What is new cannot be remembered: {reason}").format(reason=apart(freshness.trouble)))
    if status.refusals:
        found.append(_("{times} because something is damaged. The last reason: {reason}").format(
            times=counted("{number} call was refused", "{number} calls were refused", status.refusals),
            reason=apart(status.last_refusal)))
    if status.guesses_left is not None:
        found.append(counted("{number} more wrong passcode erases the keys.",
                             "{number} more wrong passcodes erase the keys.", max(1, status.guesses_left)))
    if status.rotation is not None:
        found.append(_("New keys are being given to the files: {percent} % of this pass.").format(
            percent=int(100 * min(1.0, max(0.0, status.rotation)))))
    if not status.has_passcode:
        found.append(_("The vault has no passcode: this machine alone opens it."))
    return found


def older_path(status: Status, listed: str) -> PathName | None:
    """The path of a file that a status lists, from its escaped path in the mount; None if it leaves the mount."""
    def plain(match: re.Match[bytes]) -> bytes:
        code = match[1]
        if code[:1] == b"u":
            return chr(min(0x10FFFF, int(code[1:], 16))).encode(errors="replace")
        return _SHORT.get(code) or bytes([int(code[1:], 16)])

    inside = _ESCAPE.sub(plain, listed.encode(errors="surrogateescape")).lstrip(b"/")
    if b"\0" in inside or b".." in inside.split(b"/"):
        return None
    return PathName(status.mount_point.raw.rstrip(b"/") + b"/" + inside)


@dataclass(frozen=True)
class OlderFile:
    """What `latchkey explain --json` says of an older file."""

    verdict: str
    seen: float | None
    written: float | None

    @staticmethod
    def of(value: Any) -> OlderFile | None:
        """The verdict; None if the file is not older, or the command says nothing of it."""
        for item in objects(value, 1):
            older = fields(item.get("older"))
            if text(older.get("verdict")):
                return OlderFile(text(older["verdict"]), number(older.get("seen")), number(older.get("written")))
        return None

    @property
    def text(self) -> str:
        """The verdict in words."""
        seen = moment(self.seen)
        if self.verdict == "conflict":
            return _("In conflict: another machine has changed it apart from this one, which saw its own version "
                     "{time}.").format(time=seen)
        if self.verdict == "back":
            return _("Back: it was removed or renamed, as this machine saw {time}.").format(time=seen)
        return _("Older: this machine saw a newer version {time}.").format(time=seen)
