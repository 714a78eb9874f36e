"""AT-SPI over D-Bus, without the cache of libatspi, which keeps what a program does not tell it to forget."""

from __future__ import annotations

from functools import cache
from typing import Any, Iterator

from gi.repository import Gio, GLib

_ACCESSIBLE, _ACTION = "org.a11y.atspi.Accessible", "org.a11y.atspi.Action"
_ROOT = "/org/a11y/atspi/accessible/root"
# A program that hangs must not hang the test.
_LIMIT = 3000
_DEEPEST = 40
# Of AtspiRole, those that are looked for.
_ROLES = {2: "alert", 7: "check box", 8: "check menu item", 16: "dialog", 23: "frame", 27: "image", 29: "label",
          31: "list", 32: "list item", 33: "menu", 35: "menu item", 37: "page tab", 38: "page tab list",
          43: "push button", 44: "radio button", 55: "table", 56: "table cell", 61: "text", 62: "toggle button",
          69: "window", 79: "entry"}
# Numbers of AtspiStateType.
FOCUSED, SELECTED, CHECKED, SENSITIVE, SHOWING, VISIBLE = 12, 23, 4, 24, 25, 30


@cache
def bus() -> Gio.DBusConnection:
    """The bus of AT-SPI in this session."""
    session = Gio.bus_get_sync(Gio.BusType.SESSION)
    address = session.call_sync("org.a11y.Bus", "/org/a11y/bus", "org.a11y.Bus", "GetAddress", None, None,
                                Gio.DBusCallFlags.NONE, _LIMIT).unpack()[0]
    flags = Gio.DBusConnectionFlags.AUTHENTICATION_CLIENT | Gio.DBusConnectionFlags.MESSAGE_BUS_CONNECTION
    return Gio.DBusConnection.new_for_address_sync(address, flags, None, None)


class Accessible:
    """One object of a program, as a screen reader sees it. What has gone away is empty."""

    def __init__(self, owner: str, path: str) -> None:
        self.owner = owner
        self.path = path

    def _call(self, interface: str, method: str, parameters: GLib.Variant | None = None) -> tuple[Any, ...]:
        try:
            return bus().call_sync(self.owner, self.path, interface, method, parameters, None,
                                   Gio.DBusCallFlags.NO_AUTO_START, _LIMIT).unpack()
        except GLib.Error:
            return ()

    def _property(self, interface: str, name: str) -> Any:
        found = self._call("org.freedesktop.DBus.Properties", "Get", GLib.Variant("(ss)", (interface, name)))
        return found[0] if found else None

    @property
    def name(self) -> str:
        return self._property(_ACCESSIBLE, "Name") or ""

    @property
    def description(self) -> str:
        return self._property(_ACCESSIBLE, "Description") or ""

    @property
    def role(self) -> str:
        """By its number: the names that programs give differ."""
        found = self._call(_ACCESSIBLE, "GetRole")
        return _ROLES.get(found[0], f"role {found[0]}") if found else ""

    def has(self, state: int) -> bool:
        """Whether it has a state now."""
        found = self._call(_ACCESSIBLE, "GetState")
        return bool(found and found[0][state // 32] >> state % 32 & 1)

    def children(self) -> list[Accessible]:
        found = self._call(_ACCESSIBLE, "GetChildren")
        return [Accessible(owner, path) for owner, path in found[0]] if found else []

    def act(self) -> bool:
        """Does the first action."""
        if not self._property(_ACTION, "NActions"):
            return False
        found = self._call(_ACTION, "DoAction", GLib.Variant("(i)", (0,)))
        return bool(found and found[0])

    def below(self, depth: int = 0) -> Iterator[Accessible]:
        """This object and everything in it that is visible, in the order of the tree."""
        yield self
        if depth < _DEEPEST:
            for child in self.children():
                if child.has(VISIBLE):
                    yield from child.below(depth + 1)


def programs() -> list[Accessible]:
    """All programs of the session."""
    return Accessible("org.a11y.atspi.Registry", _ROOT).children()
