"""The ways into a vault: its slots."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..text import _, apart
from .fields import count, flag, number, objects, text
from .times import day

MOST_SLOTS = 64
DAILY = ("passcode", "key-file", "fido2")


def kind_text(kind: str) -> str:
    """What a kind of slot is called."""
    return {
        "passcode": _("Passcode"),
        "recovery-key": _("Recovery key"),
        "key-file": _("Key file"),
        "escrow-key": _("Key of an organisation"),
        "fido2": _("Security key"),
        "no-passcode": _("No passcode: this machine alone opens it"),
    }.get(kind, _("Of a kind that this version does not know"))


@dataclass(frozen=True)
class Slot:
    """One way in."""

    id: int
    kind: str
    name: str
    created: float | None
    is_portable: bool

    @staticmethod
    def all(value: Any) -> list[Slot]:
        """The slots in a list of JSON objects."""
        return [Slot(count(item.get("id")), text(item.get("kind")), text(item.get("name")),
                     number(item.get("created")), flag(item.get("isPortable")))
                for item in objects(value, MOST_SLOTS)]

    @property
    def title(self) -> str:
        """Its kind, and its name if it has one."""
        if not self.name:
            return kind_text(self.kind)
        return _("{kind}: {name}").format(kind=kind_text(self.kind), name=apart(self.name))

    @property
    def text(self) -> str:
        """Its number, where it works and since when it is there."""
        where = _("works on every machine") if self.is_portable else _("works on this machine only")
        return _("Slot {number}, {where}, since {day}").format(number=self.id, where=where, day=day(self.created))


def removal_question(slot: Slot, slots: list[Slot]) -> str:
    """What a person must know before a slot is removed."""
    rest = [other for other in slots if other.id != slot.id]
    if not any(other.kind in DAILY for other in rest):
        return _("No passcode, key file or security key is left then: only a recovery key or an organisation's key "
                 "opens the vault.")
    if slot.kind == "recovery-key" and not any(other.is_portable for other in rest):
        return _("No recovery key is left then: if this machine is lost, the files are lost.")
    return _("An older copy of the vault still opens with it.")
