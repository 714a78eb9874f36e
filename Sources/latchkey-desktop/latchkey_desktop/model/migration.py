"""What `latchkey protect` and `unprotect` say with --json, line by line."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..text import shown
from .fields import count, fields, flag, number, parsed, text, texts
from .paths import PathName

# Each is a file that a person may want to look at; more are only counted.
MOST_NOTICES = 100
_NOTICES = ("set-aside", "busy", "unreadable", "unmovable", "stranger", "put-back", "linked-outside")


@dataclass(frozen=True)
class Plan:
    """What a migration will take, before it begins."""

    files: int
    bytes: int
    seconds: float
    needed: int
    free: int
    overwrites: bool = False


@dataclass(frozen=True)
class Progress:
    """How far it is. Sizes are in bytes."""

    entries: int = 0
    all_entries: int = 0
    bytes: int = 0
    seconds_left: float | None = None
    fraction: float = 0


@dataclass(frozen=True)
class Notice:
    """Something about one file. `kind` is the event's name, `other` the name that the file has now."""

    kind: str
    path: PathName
    other: PathName | None = None


@dataclass(frozen=True)
class End:
    """All files were moved. The digests are those of `find | sha256sum`, as hexadecimal numbers."""

    seconds: float
    before: str
    after: str


@dataclass(frozen=True)
class Failure:
    """Why a command has ended, in its own words, and commands to type next."""

    message: str
    advice: tuple[str, ...]


@dataclass
class Migration:
    """What is known of one run; `take` gets each of its lines."""

    plan: Plan | None = None
    # The command that was interrupted, "protect" or "unprotect", and whether it can still go back.
    unfinished: str = ""
    can_go_back: bool = True
    # The folder has a vault.
    is_protected: bool = False
    recovery_key: PathName | None = None
    recovery_key_opens: bool = True
    # Where the originals are kept.
    kept: PathName | None = None
    # Another vault that needs the same device key, which therefore stays.
    sharing_vault: PathName | None = None
    # Whether the vault is mounted at each login; None if that was not told.
    is_enabled: bool | None = None
    # The vault is there again, and not mounted.
    closed_vault: str = ""
    error: Failure | None = None
    writers: list[str] = field(default_factory=list)
    progress: Progress | None = None
    end: End | None = None
    notices: list[Notice] = field(default_factory=list)
    noticed: int = 0

    def take(self, line: bytes) -> None:
        """Takes a line; what is none of the known ones is passed over."""
        event = fields(parsed(line))
        kind = text(event.get("event"))
        if kind == "plan":
            self.plan = Plan(count(event.get("allEntries")), count(event.get("allBytes")),
                             max(0.0, number(event.get("seconds")) or 0.0), count(event.get("needed")),
                             count(event.get("free")), flag(event.get("overwrites")))
        elif kind == "unfinished" and text(event.get("direction")) in ("protect", "unprotect"):
            self.unfinished = text(event["direction"])
            self.can_go_back = text(event.get("step")) == "moving"
        elif kind == "protected":
            self.is_protected = True
        elif kind == "recovery-key":
            self.recovery_key, self.recovery_key_opens = PathName.of(event, "path"), flag(event.get("opens"))
        elif kind == "kept":
            self.kept = PathName.of(event, "path")
        elif kind == "device-key-kept":
            self.sharing_vault = PathName.of(event, "path")
        elif kind == "startup":
            self.is_enabled = flag(event.get("isEnabled"))
        elif kind == "closed":
            self.closed_vault = shown(text(event.get("name")))
        elif kind == "error":
            self.error = Failure(shown(text(event.get("message"))),
                                 tuple(shown(item) for item in texts(event.get("advice"), 10)))
        elif kind == "writer" and len(self.writers) < MOST_NOTICES:
            self.writers.append(shown(text(event.get("program"))))
        elif kind == "progress":
            self.progress = _progress(event)
        elif kind == "end":
            self.end = End(max(0.0, number(event.get("seconds")) or 0.0), text(event.get("digestBefore")),
                           text(event.get("digestAfter")))
        elif kind in _NOTICES:
            path = PathName.inside(event, "path")
            self.noticed += 1
            if path is not None and not path.raw:
                path = PathName(b".")
            if path and len(self.notices) < MOST_NOTICES:
                self.notices.append(Notice(kind, path, PathName.inside(event, "as")))


def _progress(event: dict[str, Any]) -> Progress:
    left = number(event.get("secondsLeft"))
    return Progress(count(event.get("entries")), count(event.get("allEntries")), count(event.get("bytes")),
                    None if left is None else max(0.0, left), min(1.0, max(0.0, number(event.get("fraction")) or 0.0)))
