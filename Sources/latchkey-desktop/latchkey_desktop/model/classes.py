"""The protection classes, as a person sees them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from ..text import _


@dataclass(frozen=True)
class ProtectionClass:
    """One class: its letter, and its name in attributes and messages."""

    letter: str
    name: str


CLASSES = (
    ProtectionClass("A", "complete"),
    ProtectionClass("B", "complete-unless-open"),
    ProtectionClass("C", "complete-until-first-user-authentication"),
    ProtectionClass("D", "none"),
)
BY_NAME = {item.name: item for item in CLASSES}


class Reach(Enum):
    """What can be done with the files of a class now."""

    READABLE = "readable"
    CREATE = "create"
    CLOSED = "closed"
    UNKNOWN = "unknown"


def meaning(item: ProtectionClass) -> str:
    """When the files of a class can be read."""
    return {
        "A": _("Readable while the vault is unlocked"),
        "B": _("New files even while locked; open files stay readable"),
        "C": _("Readable from the first unlock on"),
        "D": _("Readable whenever the vault is mounted"),
    }[item.letter]


def reach_text(reach: Reach) -> str:
    """What can be done now, in words."""
    return {
        Reach.READABLE: _("readable now"),
        Reach.CREATE: _("new files only"),
        Reach.CLOSED: _("locked"),
        Reach.UNKNOWN: _("not known"),
    }[reach]
