"""All vaults of this user, kept up to date on the main loop."""

from __future__ import annotations

import os
import time
from typing import Callable

from gi.repository import Gio, GLib

from ..model.commands import Command
from ..model.fields import objects, parsed, text
from ..model.paths import PathName
from ..model.vault import MOST_VAULTS, NamedVault, Vault, vaults_of
from ..text import shown
from ..varlink.sockets import folders, sockets
from .daemon import LiveDaemon
from .program import Outcome, Program
from .table import MountTable

SOON, LATER = 0.05, 1.0
# In case a change was not told, such as a socket folder that was made after the look for it.
SELDOM = 20.0
# A mount is in the kernel's table a moment before its daemon listens.
YOUNG, AGAIN = 2.0, 0.2
_CHECK = Command(("latchkey", "config", "check", "--json"))
_LIST = Command(("latchkey", "list", "--json"))


class Vaults:
    """Knows the vaults and tells of changes. `trouble` says why the named vaults are not known, if so."""

    def __init__(self, on_change: Callable[[], None]) -> None:
        self._on_change = on_change
        self._user = os.getuid()
        self._named: list[NamedVault] = []
        self._listed: dict[str, str] = {}
        self._daemons: dict[str, LiveDaemon] = {}
        self._monitors: dict[str, Gio.FileMonitor] = {}
        self._timers: dict[str, int] = {}
        self._running: set[str] = set()
        self._again: set[str] = set()
        self._often = False
        self._seen: dict[PathName, float] = {}
        self.trouble = ""
        self.is_ready = False
        self.vaults: list[Vault] = []
        self._table = MountTable(self._user, self._mounts_changed)
        self._monitor(_configuration(), self.read_names)
        self._look()
        self.read_names()
        GLib.timeout_add_seconds(int(SELDOM), self._look_seldom)

    def find(self, key: str) -> Vault | None:
        """The vault with a key, as it is now."""
        return next((vault for vault in self.vaults if vault.key == key), None)

    def socket_of(self, vault: Vault) -> str | None:
        """The control socket of a mounted vault."""
        return next((path for path, daemon in self._daemons.items()
                     if daemon.status and daemon.status.mount_point == vault.mount_point), None)

    def ask_often(self, often: bool) -> None:
        """Whether numbers that change without an event are asked for every few seconds, as while they are shown."""
        self._often = often
        for daemon in self._daemons.values():
            daemon.ask_often(often)

    def read_names(self) -> None:
        """Reads the configuration again, and then what is known of the vaults that are not mounted."""
        self._run("names", _CHECK, self._names_read)

    def _run(self, name: str, command: Command, then: Callable[[Outcome], None]) -> None:
        # One at a time; what changes meanwhile needs one more run.
        if name in self._running:
            self._again.add(name)
            return
        self._running.add(name)

        def ended(outcome: Outcome) -> None:
            self._running.discard(name)
            then(outcome)
            if name in self._again:
                self._again.discard(name)
                self._run(name, command, then)

        Program(command, ended)

    def _names_read(self, outcome: Outcome) -> None:
        if outcome.succeeded:
            self._named, self.trouble = NamedVault.all(parsed(outcome.output)), ""
        else:
            self.trouble = shown(outcome.errors.decode(errors="backslashreplace").strip().replace("\n", " "))
        self._refresh()
        self._run("list", _LIST, self._list_read)

    def _list_read(self, outcome: Outcome) -> None:
        if outcome.succeeded:
            self._listed = {text(item.get("name")): text(item.get("state"))
                            for item in objects(parsed(outcome.output), MOST_VAULTS)}
        self.is_ready = True
        self._refresh()

    def _monitor(self, path: str, then: Callable[[], None]) -> None:
        if path in self._monitors:
            return
        monitor = Gio.File.new_for_path(path).monitor(Gio.FileMonitorFlags.NONE, None)
        monitor.connect("changed", lambda *_: self._soon(path, SOON, then))
        self._monitors[path] = monitor

    def _soon(self, name: str, seconds: float, then: Callable[[], None]) -> None:
        if name in self._timers:
            return

        def fire() -> bool:
            del self._timers[name]
            then()
            return GLib.SOURCE_REMOVE

        self._timers[name] = GLib.timeout_add(int(seconds * 1000), fire)

    def _mounts_changed(self) -> None:
        points = {point for point, _ in self._table.mounts}
        moment = time.monotonic()
        self._seen = {point: self._seen.get(point, moment) for point in points}
        self._look()
        # The socket may come a moment after the mount, and what `list` says of an unmounted vault is old.
        self._soon("after mount", LATER, self._after_mount)

    def _after_mount(self) -> None:
        self._look()
        self._run("list", _LIST, self._list_read)

    def _look_seldom(self) -> bool:
        self._look()
        return GLib.SOURCE_CONTINUE

    def _look(self) -> None:
        """Finds sockets that are not followed yet."""
        for folder in folders(self._user):
            self._monitor(folder, self._look)
        for path in sockets(self._user):
            if path not in self._daemons:
                daemon = LiveDaemon(path, self._refresh, self._daemon_ended)
                daemon.ask_often(self._often)
                self._daemons[path] = daemon
        self._refresh()

    def _daemon_ended(self, path: str) -> None:
        self._daemons.pop(path, None)
        self._refresh()

    def _refresh(self) -> None:
        moment = time.monotonic()
        known = [daemon.known for daemon in self._daemons.values()]
        answering = {daemon.status.mount_point for daemon in known if daemon.status}
        young = frozenset(point for point, seen in self._seen.items()
                          if moment - seen < YOUNG and point not in answering)
        if young:
            self._soon("young", AGAIN, self._look)
        found = vaults_of(self._named, self._table.mounts, known, self._listed, young)
        if found != self.vaults:
            self.vaults = found
        self._on_change()


def _configuration() -> str:
    base = os.environ.get("XDG_CONFIG_HOME", "")
    if not base.startswith("/"):
        base = os.path.expanduser("~/.config")
    return os.path.join(base, "latchkey", "config.toml")


def now() -> float:
    """The time of deadlines: seconds since 1970."""
    return time.time()
