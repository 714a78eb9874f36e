"""A tray on the session's bus: takes icons, reads them, and clicks their menus, as a panel does."""

from __future__ import annotations

from typing import Any, Iterator

from gi.repository import Gio, GLib

from .waiting import until

_WATCHER = """
<node><interface name="org.kde.StatusNotifierWatcher">
<method name="RegisterStatusNotifierItem"><arg type="s" direction="in"/></method>
<method name="RegisterStatusNotifierHost"><arg type="s" direction="in"/></method>
<property name="RegisteredStatusNotifierItems" type="as" access="read"/>
<property name="IsStatusNotifierHostRegistered" type="b" access="read"/>
<property name="ProtocolVersion" type="i" access="read"/>
</interface></node>
"""
_ITEM, _MENU = "org.kde.StatusNotifierItem", "com.canonical.dbusmenu"


class TrayHost:
    """Takes one icon at a time."""

    def __init__(self) -> None:
        self.bus = Gio.bus_get_sync(Gio.BusType.SESSION)
        self.item: tuple[str, str] | None = None
        self.signals: list[str] = []
        interface = Gio.DBusNodeInfo.new_for_xml(_WATCHER).interfaces[0]
        self._object = self.bus.register_object("/StatusNotifierWatcher", interface, self._call, self._property, None)
        self._name = Gio.bus_own_name_on_connection(self.bus, "org.kde.StatusNotifierWatcher",
                                                    Gio.BusNameOwnerFlags.NONE, None, None)
        self._heard = self.bus.signal_subscribe(None, None, None, None, None, Gio.DBusSignalFlags.NONE, self._signal)

    def close(self) -> None:
        Gio.bus_unown_name(self._name)
        self.bus.unregister_object(self._object)
        self.bus.signal_unsubscribe(self._heard)

    def _call(self, _bus: Any, sender: str, _path: str, _interface: str, method: str, parameters: GLib.Variant,
              invocation: Gio.DBusMethodInvocation) -> None:
        if method == "RegisterStatusNotifierItem":
            self.item = (sender, parameters.unpack()[0])
        invocation.return_value(None)

    def _property(self, _bus: Any, _sender: str, _path: str, _interface: str, name: str) -> GLib.Variant:
        return {"RegisteredStatusNotifierItems": GLib.Variant("as", []), "ProtocolVersion": GLib.Variant("i", 0),
                "IsStatusNotifierHostRegistered": GLib.Variant("b", True)}[name]

    def _signal(self, _bus: Any, sender: str, _path: str, interface: str, name: str, _parameters: GLib.Variant) -> None:
        if self.item and sender == self.item[0] and interface in (_ITEM, _MENU):
            self.signals.append(name)

    def turn(self) -> None:
        """Takes what has come from the bus."""
        context = GLib.MainContext.default()
        for _ in range(200):
            if not context.iteration(False):
                return

    def wait_for_item(self) -> None:
        """Waits until a program has handed its icon over."""
        def came() -> bool:
            self.turn()
            return self.item is not None

        until(came, "an icon in the tray")

    def _ask(self, path: str, interface: str, method: str, parameters: GLib.Variant | None) -> Any:
        assert self.item is not None
        answer: list[Any] = []
        self.bus.call(self.item[0], path, interface, method, parameters, None, Gio.DBusCallFlags.NO_AUTO_START, 5000,
                      None, lambda bus, result: answer.append(bus.call_finish(result).unpack()))

        def answered() -> bool:
            self.turn()
            return bool(answer)

        until(answered, f"an answer to {method}")
        return answer[0]

    def get(self, name: str) -> Any:
        """A property of the icon."""
        assert self.item is not None
        return self._ask(self.item[1], "org.freedesktop.DBus.Properties", "Get", GLib.Variant("(ss)", (_ITEM, name)))[0]

    def activate(self) -> None:
        """Clicks the icon itself."""
        assert self.item is not None
        self._ask(self.item[1], _ITEM, "Activate", GLib.Variant("(ii)", (0, 0)))

    def lines(self) -> list[tuple[int, tuple[str, ...], dict[str, Any]]]:
        """All lines of the menu: number, the labels on the way to it, and its properties."""
        _revision, root = self._ask(self.get("Menu"), _MENU, "GetLayout", GLib.Variant("(iias)", (0, -1, [])))
        return list(_flat(root, ()))

    def labels(self) -> list[tuple[str, ...]]:
        """The labels of all lines."""
        return [labels for _, labels, _ in self.lines()]

    def click(self, *labels: str) -> None:
        """Waits for the line whose labels begin so, and clicks it."""
        def number() -> int:
            return next((number for number, found, properties in self.lines() if len(found) == len(labels)
                         and all(label.startswith(wanted) for label, wanted in zip(found, labels))
                         and properties.get("enabled")), 0)

        found = until(number, lambda: f"{labels} in {self.labels()}")
        self._ask(self.get("Menu"), _MENU, "Event", GLib.Variant("(isvu)", (found, "clicked", GLib.Variant("i", 0), 0)))

    def see(self, *labels: str) -> None:
        """Waits for a line whose labels begin so."""
        def found() -> bool:
            self.turn()
            return any(len(line) == len(labels) and all(label.startswith(wanted) for label, wanted in zip(line, labels))
                       for line in self.labels())

        until(found, lambda: f"{labels} in {self.labels()}")


def _flat(node: Any, above: tuple[str, ...]) -> Iterator[tuple[int, tuple[str, ...], dict[str, Any]]]:
    number, properties, children = node
    labels = above + ((properties.get("label", ""),) if number else ())
    if number:
        yield number, labels, properties
    for child in children:
        yield from _flat(child, labels)
