"""The menu of the tray icon on the bus."""

from __future__ import annotations

from typing import Any, Callable

from gi.repository import Gio, GLib

from ..model.menu import MenuLine
from ..text import is_right_to_left
from .interfaces import MENU

PATH = "/MenuBar"
_INTERFACE = "com.canonical.dbusmenu"


class BusMenu:
    """Numbers the lines, and tells the tray when they have changed. A number names the same line as long as it is
    there, so a click that comes late hits no other one."""

    def __init__(self, bus: Gio.DBusConnection, on_click: Callable[[str, str], None], icons: str) -> None:
        self._bus = bus
        self._on_click = on_click
        self._icons = [icons] if icons else []
        self._lines: tuple[MenuLine, ...] = ()
        self._numbers: dict[tuple[str, ...], int] = {}
        self._by_number: dict[int, MenuLine] = {}
        self._places: dict[int, tuple[str, ...]] = {0: ()}
        self._revision = 1
        interface = Gio.DBusNodeInfo.new_for_xml(MENU).interfaces[0]
        bus.register_object(PATH, interface, self._call, self._property, None)

    def draw(self, lines: tuple[MenuLine, ...]) -> None:
        """Takes new lines; the tray is told only if they differ."""
        if lines == self._lines:
            return
        self._lines = lines
        self._by_number = {}
        self._places = {0: ()}
        self._count(lines, ())
        self._revision += 1
        self._bus.emit_signal(None, PATH, _INTERFACE, "LayoutUpdated", GLib.Variant("(ui)", (self._revision, 0)))

    def _count(self, lines: tuple[MenuLine, ...], above: tuple[str, ...]) -> None:
        """Gives each line its number. The layout itself is made only when a tray asks for it."""
        for index, line in enumerate(lines):
            place = (*above, line.action or str(index), line.key)
            number = self._numbers.setdefault(place, len(self._numbers) + 1)
            self._by_number[number] = line
            self._places[number] = place
            self._count(line.lines, place)

    def _layout(self, number: int, depth: int) -> GLib.Variant:
        line = MenuLine(lines=self._lines) if number == 0 else self._by_number.get(number, MenuLine())
        above = self._places.get(number, ())
        children = []
        if depth != 0:
            for index, child in enumerate(line.lines):
                place = (*above, child.action or str(index), child.key)
                children.append(self._layout(self._numbers[place], depth - 1))
        return GLib.Variant("(ia{sv}av)", (number, self._properties(number, line), children))

    def _properties(self, number: int, line: MenuLine) -> dict[str, GLib.Variant]:
        if number == 0:
            return {"children-display": GLib.Variant("s", "submenu")}
        if not line.label:
            return {"type": GLib.Variant("s", "separator")}
        # An underscore before a letter would make it a key of the menu.
        found = {"label": GLib.Variant("s", line.label.replace("_", "__")),
                 "enabled": GLib.Variant("b", bool(line.action or line.lines))}
        if line.icon:
            found["icon-name"] = GLib.Variant("s", line.icon)
        if line.lines:
            found["children-display"] = GLib.Variant("s", "submenu")
        return found

    def _property(self, _bus: Any, _sender: str, _path: str, _interface: str, name: str) -> GLib.Variant:
        return {
            "Version": GLib.Variant("u", 3),
            "TextDirection": GLib.Variant("s", "rtl" if is_right_to_left() else "ltr"),
            "Status": GLib.Variant("s", "normal"),
            "IconThemePath": GLib.Variant("as", self._icons),
        }[name]

    def _call(self, _bus: Any, _sender: str, _path: str, _interface: str, method: str, parameters: GLib.Variant,
              invocation: Gio.DBusMethodInvocation) -> None:
        values = parameters.unpack()
        invocation.return_value(self._answer(method, values))

    def _answer(self, method: str, values: tuple[Any, ...]) -> GLib.Variant | None:
        if method == "GetLayout":
            layout = self._layout(values[0], values[1])
            return GLib.Variant.new_tuple(GLib.Variant("u", self._revision), layout)
        if method == "GetGroupProperties":
            numbers = values[0] or list(self._by_number)
            return GLib.Variant("(a(ia{sv}))", ([(number, self._properties(number, self._by_number[number]))
                                                 for number in numbers if number in self._by_number],))
        if method == "GetProperty":
            line = self._by_number.get(values[0], MenuLine())
            return GLib.Variant("(v)", (self._properties(values[0], line).get(values[1], GLib.Variant("s", "")),))
        if method == "AboutToShow":
            return GLib.Variant("(b)", (False,))
        if method == "AboutToShowGroup":
            return GLib.Variant("(aiai)", ([], []))
        events = values[0] if method == "EventGroup" else [values]
        for number, kind, *_rest in events:
            line = self._by_number.get(number)
            if kind == "clicked" and line is not None and line.action:
                self._on_click(line.action, line.key)
        return GLib.Variant("(ai)", ([],)) if method == "EventGroup" else None
