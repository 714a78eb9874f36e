"""What a daemon says about its mount: the part of `MountStatus` of io.latchkey that is shown."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .classes import BY_NAME
from .fields import count, fields, flag, number, objects, text, texts
from .paths import PathName

MOST_HOLDS = 50
MOST_OLDER = 20


@dataclass(frozen=True)
class Hold:
    """A program for which a lock waits. `seconds`: for how long after the grace period at most."""

    pid: int
    command: str
    because: str
    seconds: float | None

    @staticmethod
    def of(message: dict[str, Any]) -> Hold:
        return Hold(count(message.get("pid")), text(message.get("command")), text(message.get("because")),
                    number(message.get("seconds")))


@dataclass(frozen=True)
class Freshness:
    """What is older than what this machine has seen."""

    older: int = 0
    files: tuple[str, ...] = ()
    moment: float | None = None
    has_lost_journal: bool = False
    is_strict: bool = False
    trouble: str = ""

    @staticmethod
    def of(message: dict[str, Any]) -> Freshness:
        return Freshness(
            older=count(message.get("older")),
            files=tuple(texts(message.get("files"), MOST_OLDER)),
            moment=number(message.get("moment")),
            has_lost_journal=flag(message.get("hasLostJournal")),
            is_strict=flag(message.get("isStrict")),
            trouble=text(message.get("trouble")),
        )

    @property
    def warns(self) -> bool:
        """Whether there is anything that a person should look at."""
        return self.older > 0 or self.moment is not None or self.has_lost_journal or bool(self.trouble)


@dataclass(frozen=True)
class Status:
    """One answer of a daemon."""

    state: str
    mount_point: PathName
    vault: PathName | None
    volume: str = ""
    pid: int = 0
    deadline: float | None = None
    phase: str = ""
    inodes_to_invalidate: int = 0
    class_keys: frozenset[str] = frozenset()
    open_files: dict[str, int] = field(default_factory=dict)
    sequence: int = 0
    instance: str = ""
    is_read_only: bool = False
    is_ending: bool = False
    is_taken_over: bool = False
    has_passcode: bool = True
    waiting: int = 0
    grace: float = 0
    guesses_left: int | None = None
    holds: tuple[Hold, ...] = ()
    freshness: Freshness | None = None
    refusals: int = 0
    last_refusal: str = ""
    rotation: float | None = None

    @staticmethod
    def of(value: Any) -> Status | None:
        """The status in a reply; None if it names no mount point or no state."""
        message = fields(value)
        mount_point = PathName.of(message, "mountPoint")
        state = text(message.get("state"))
        if mount_point is None or not state:
            return None
        open_files = fields(message.get("openFiles"))
        freshness, guesses = message.get("freshness"), message.get("guesses")
        refusals, rotation = fields(message.get("refusals")), message.get("rotation")
        return Status(
            state=state,
            mount_point=mount_point,
            vault=PathName.of(message, "vault"),
            volume=text(message.get("volume")),
            pid=count(message.get("pid")),
            deadline=number(message.get("deadline")),
            phase=text(message.get("evictionPhase")),
            inodes_to_invalidate=count(message.get("inodesToInvalidate")),
            class_keys=frozenset(texts(message.get("classKeys"), 16)) & BY_NAME.keys(),
            open_files={name: count(open_files.get(name)) for name in BY_NAME},
            sequence=count(message.get("sequence")),
            instance=text(message.get("instance")),
            is_read_only=flag(message.get("readOnly")),
            is_ending=flag(message.get("ending")),
            is_taken_over=flag(message.get("takenOver")),
            has_passcode=message.get("hasPasscode") is not False,
            waiting=count(message.get("waitingRequests")),
            grace=number(message.get("grace")) or 0,
            guesses_left=count(fields(guesses).get("left")) if isinstance(guesses, dict) else None,
            holds=tuple(Hold.of(item) for item in objects(message.get("holds"), MOST_HOLDS)),
            freshness=Freshness.of(freshness) if isinstance(freshness, dict) else None,
            refusals=count(refusals.get("count")),
            last_refusal=text(refusals.get("lastReason")),
            rotation=number(fields(rotation).get("done")) if isinstance(rotation, dict) else None,
        )
