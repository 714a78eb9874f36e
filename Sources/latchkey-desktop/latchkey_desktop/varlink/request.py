"""One call to a daemon, with a limit of time."""

from __future__ import annotations

from typing import Any, Callable

from gi.repository import GLib

from .frames import error_of
from .line import Line

LIMIT = 2.0
# The daemon's answer, or the name and parameters of its error. "Late" and "Ended" are no errors of the daemon's.
Answer = Callable[[dict[str, Any] | None, str, dict[str, Any]], None]


class Request:
    """A call on a connection of its own. `on_answer` is called once, on the main loop."""

    def __init__(self, path: str, method: str, parameters: dict[str, Any], on_answer: Answer,
                 limit: float = LIMIT) -> None:
        self._on_answer: Answer | None = on_answer
        self._line = Line(path, lambda: self._finish(None, "Ended", {}))
        self._timer = GLib.timeout_add(int(limit * 1000), self._late)
        self._line.call(method, parameters, self._replied)

    def _replied(self, reply: dict[str, Any]) -> None:
        error = error_of(reply)
        if error:
            return self._finish(None, *error)
        parameters = reply.get("parameters")
        self._finish(parameters if isinstance(parameters, dict) else {}, "", {})

    def _late(self) -> bool:
        self._timer = 0
        self._finish(None, "Late", {})
        return GLib.SOURCE_REMOVE

    def _finish(self, answer: dict[str, Any] | None, error: str, details: dict[str, Any]) -> None:
        on_answer, self._on_answer = self._on_answer, None
        if self._timer:
            GLib.source_remove(self._timer)
            self._timer = 0
        self._line.close()
        if on_answer:
            on_answer(answer, error, details)
