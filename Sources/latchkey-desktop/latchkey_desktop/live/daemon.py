"""One daemon: watched for changes of its lock, and asked now and then whether it still answers."""

from __future__ import annotations

from typing import Any, Callable

from gi.repository import GLib

from ..model import vault
from ..model.state import Contact
from ..model.status import Status
from ..varlink.frames import error_of
from ..varlink.line import Line
from ..varlink.request import LIMIT

# The daemon closes a connection that makes no call for five minutes.
SELDOM, OFTEN = 30.0, 3.0


class LiveDaemon:
    """What the daemon behind a socket says. `on_change` comes after each change, `on_end` once, at its end."""

    def __init__(self, path: str, on_change: Callable[[], None], on_end: Callable[[str], None]) -> None:
        self.path = path
        self.known = vault.Daemon(Contact.ASKED)
        self._on_change = on_change
        self._on_end = on_end
        self._often = False
        self._is_asking = False
        self._timers: dict[str, int] = {}
        self._watch: Line | None = Line(path, self._watch_ended)
        self._watch.call("Monitor", {}, self._heard, more=True)
        self._questions: Line | None = Line(path, self._ended)
        self._ask()

    @property
    def status(self) -> Status | None:
        """The last status that the daemon has sent."""
        return self.known.status

    def ask_often(self, often: bool) -> None:
        """Asks every few seconds, for numbers that change without an event, or seldom."""
        if often != self._often:
            self._often = often
            if not self._is_asking:
                self._ask()

    def close(self) -> None:
        """Ends both connections."""
        for name in list(self._timers):
            self._cancel(name)
        for line in (self._watch, self._questions):
            if line is not None:
                line.close()
        self._watch = self._questions = None

    def _set(self, name: str, seconds: float, then: Callable[[], None]) -> None:
        self._cancel(name)

        def fire() -> bool:
            self._timers.pop(name, None)
            then()
            return GLib.SOURCE_REMOVE

        self._timers[name] = GLib.timeout_add(int(seconds * 1000), fire)

    def _cancel(self, name: str) -> None:
        if name in self._timers:
            GLib.source_remove(self._timers.pop(name))

    def _ask(self) -> None:
        if self._questions is None or self._is_asking:
            return
        self._cancel("next")
        self._is_asking = True
        self._set("late", LIMIT, self._late)
        self._questions.call("Status", {}, self._answered)

    def _late(self) -> None:
        self._update(vault.Daemon(Contact.SILENT, self.known.status))

    def _answered(self, reply: dict[str, Any]) -> None:
        self._is_asking = False
        self._cancel("late")
        self._heard(reply)
        self._set("next", OFTEN if self._often else SELDOM, self._ask)

    def _heard(self, reply: dict[str, Any]) -> None:
        parameters = reply.get("parameters")
        status = Status.of(parameters.get("status") if isinstance(parameters, dict) else None)
        if status is None or error_of(reply):
            return
        known = self.known.status
        # Two connections: an answer that was sent earlier may come later.
        if known and known.instance == status.instance and known.sequence > status.sequence:
            return
        self._update(vault.Daemon(Contact.ANSWERS, status))

    def _update(self, known: vault.Daemon) -> None:
        if known != self.known:
            self.known = known
            self._on_change()

    def _watch_ended(self) -> None:
        self._watch = None
        # The daemon may refuse to be watched: with 48 watchers, or for a client that reads too slowly.
        self._set("watch", OFTEN, self._watch_again)

    def _watch_again(self) -> None:
        self._watch = Line(self.path, self._watch_ended)
        status = self.known.status
        since = {"since": status.sequence, "instance": status.instance} if status else {}
        self._watch.call("Monitor", since, self._heard, more=True)

    def _ended(self) -> None:
        self.close()
        self._on_end(self.path)
