"""AT-SPI over D-Bus, without the cache of libatspi, which keeps what a program does not tell it to forget."""

from __future__ import annotations

import time
from functools import cache
from typing import Any, Callable, Iterator

from gi.repository import Gio, GLib

_ACCESSIBLE, _ACTION = "org.a11y.atspi.Accessible", "org.a11y.atspi.Action"
_PROPERTIES = "org.freedesktop.DBus.Properties"
_ROOT = "/org/a11y/atspi/accessible/root"
# A program that hangs must not hang the test.
_LIMIT = 3000
_DEEPEST = 40
# Numbers of AtspiStateType.
FOCUSED, SELECTED, SENSITIVE, SHOWING, VISIBLE = 12, 23, 24, 25, 30
# Of AtspiRole, those that are looked for.
_ROLES = {2: "alert", 7: "check box", 8: "check menu item", 16: "dialog", 23: "frame", 27: "image", 29: "label",
          31: "list", 32: "list item", 33: "menu", 35: "menu item", 37: "page tab", 38: "page tab list",
          43: "push button", 44: "radio button", 55: "table", 56: "table cell", 61: "text", 62: "toggle button",
          69: "window", 79: "entry"}


@cache
def bus() -> Gio.DBusConnection:
    """The bus of AT-SPI in this session."""
    session = Gio.bus_get_sync(Gio.BusType.SESSION)
    address = session.call_sync("org.a11y.Bus", "/org/a11y/bus", "org.a11y.Bus", "GetAddress", None, None,
                                Gio.DBusCallFlags.NONE, _LIMIT).unpack()[0]
    flags = Gio.DBusConnectionFlags.AUTHENTICATION_CLIENT | Gio.DBusConnectionFlags.MESSAGE_BUS_CONNECTION
    return Gio.DBusConnection.new_for_address_sync(address, flags, None, None)


class Accessible:
    """One object of a program, as a screen reader sees it: as it was when it was found. `has` asks anew."""

    def __init__(self, owner: str, path: str) -> None:
        self.owner = owner
        self.path = path
        self.name = ""
        self.role = ""
        self.states = 0
        self.children: list[Accessible] = []

    def _call(self, interface: str, method: str, parameters: GLib.Variant | None = None) -> tuple[Any, ...]:
        try:
            return bus().call_sync(self.owner, self.path, interface, method, parameters, None,
                                   Gio.DBusCallFlags.NO_AUTO_START, _LIMIT).unpack()
        except GLib.Error:
            # It has gone away.
            return ()

    def get(self, interface: str, name: str) -> Any:
        """A property, asked for now."""
        found = self._call(_PROPERTIES, "Get", GLib.Variant("(ss)", (interface, name)))
        return found[0] if found else None

    @property
    def description(self) -> str:
        return self.get(_ACCESSIBLE, "Description") or ""

    def has(self, state: int) -> bool:
        """Whether it has a state now."""
        found = self._call(_ACCESSIBLE, "GetState")
        return bool(found and found[0][state // 32] >> state % 32 & 1)

    def extents(self) -> tuple[int, int, int, int]:
        """Left edge, top, width and height in the window; empty if it is not drawn."""
        found = self._call("org.a11y.atspi.Component", "GetExtents", GLib.Variant("(u)", (1,)))
        return found[0] if found and found[0][2] > 0 else ()

    def act(self) -> bool:
        """Does the first action."""
        if not self.get(_ACTION, "NActions"):
            return False
        found = self._call(_ACTION, "DoAction", GLib.Variant("(i)", (0,)))
        return bool(found and found[0])

    def all(self) -> Iterator[Accessible]:
        """This object and everything that was found in it, in the order of the tree."""
        yield self
        for child in self.children:
            yield from child.all()


class _Look:
    """Asks for all objects below some at once: a tree of hundreds takes as long as a few calls."""

    def __init__(self) -> None:
        self._open = 0

    def run(self, roots: list[Accessible]) -> None:
        """Fills in names, roles, states and children of what is visible."""
        end = time.monotonic() + _LIMIT / 1000
        for root in roots:
            self.fill(root, 0)
        while self._open and time.monotonic() < end:
            GLib.MainContext.default().iteration(True)

    def _ask(self, item: Accessible, interface: str, method: str, parameters: GLib.Variant | None,
             then: Callable[[Any], None]) -> None:
        self._open += 1

        def answered(connection: Gio.DBusConnection, result: Gio.AsyncResult) -> None:
            self._open -= 1
            try:
                found = connection.call_finish(result).unpack()[0]
            except GLib.Error:
                return
            then(found)

        bus().call(item.owner, item.path, interface, method, parameters, None, Gio.DBusCallFlags.NO_AUTO_START, _LIMIT,
                   None, answered)

    def fill(self, item: Accessible, depth: int) -> None:
        """One object, and then what is in it."""
        def name(found: str) -> None:
            item.name = found

        def role(found: int) -> None:
            item.role = _ROLES.get(found, f"role {found}")

        def states(found: list[int]) -> None:
            item.states = found[0] | found[1] << 32
            # What is in an invisible object is not visible either.
            if depth < 2 or item.states >> VISIBLE & 1:
                self._ask(item, _ACCESSIBLE, "GetChildren", None, children)

        def children(found: list[tuple[str, str]]) -> None:
            item.children = [Accessible(owner, path) for owner, path in found]
            for child in item.children if depth < _DEEPEST else []:
                self.fill(child, depth + 1)

        self._ask(item, _PROPERTIES, "Get", GLib.Variant("(ss)", (_ACCESSIBLE, "Name")), name)
        self._ask(item, _ACCESSIBLE, "GetRole", None, role)
        self._ask(item, _ACCESSIBLE, "GetState", None, states)


def windows(program: str) -> list[Accessible]:
    """The windows of the programs with a part of a name, with all that is visible in them now."""
    root = Accessible("org.a11y.atspi.Registry", _ROOT)
    found = [Accessible(owner, path) for owner, path in (root._call(_ACCESSIBLE, "GetChildren") or ([],))[0]]
    programs = [item for item in found if program in (item.get(_ACCESSIBLE, "Name") or "")]
    _Look().run(programs)
    return [window for item in programs for window in item.children]


def visible(items: list[Accessible]) -> Iterator[Accessible]:
    """All that is visible in windows, in the order of the tree."""
    for window in items:
        for item in window.all():
            if item is window or item.states >> VISIBLE & 1:
                yield item
