"""The lock sources of the agent, as `latchkey agent --status --json` lists them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..text import _, apart
from .fields import fields, flag, number, objects, text
from .times import moment

MOST_SOURCES = 64


def source_text(name: str) -> str:
    """What makes the agent lock, in words."""
    return {
        "session-lock": _("The session is locked"),
        "screensaver": _("The screen saver starts"),
        "session-inactive": _("Another user is switched to"),
        "logout": _("The last session ends"),
        "lid": _("The lid is closed"),
        "idle": _("The session is idle"),
        "security-key": _("A security key is pulled out"),
        "usb": _("A chosen USB device is pulled out"),
        "sleep": _("The machine goes to sleep"),
        "shutdown": _("The machine shuts down"),
    }.get(name, apart(name))


@dataclass(frozen=True)
class Source:
    """One lock source."""

    name: str
    is_on: bool
    problem: str
    last_fired: float | None
    last_result: str

    @staticmethod
    def all(value: Any) -> list[Source] | None:
        """The sources of the agent that runs; None if no agent runs."""
        message = fields(value)
        if not isinstance(message.get("sources"), list):
            return None
        return [Source(text(item.get("name")), flag(item.get("on")), text(item.get("problem")),
                       number(item.get("lastFired")), text(item.get("lastResult")))
                for item in objects(message["sources"], MOST_SOURCES)]

    @property
    def text(self) -> str:
        """Whether it is heard, and when it was last."""
        if not self.is_on:
            return _("switched off in the configuration")
        if self.problem:
            return _("cannot be heard: {reason}").format(reason=apart(self.problem))
        if self.last_fired is None:
            return _("never heard yet")
        when = _("last heard {time}").format(time=moment(self.last_fired))
        return _("{sentence}: {reason}").format(sentence=when, reason=apart(self.last_result)) \
            if self.last_result else when
