"""The icon in the tray."""

from __future__ import annotations

from typing import Any, Callable

from gi.repository import Gio, GLib

from ..live.vaults import Vaults
from ..model import commands
from ..model.menu import menu_of, overall
from ..model.view import VaultView
from .interfaces import ITEM
from .menu import PATH as MENU_PATH
from .menu import BusMenu

_PATH, _INTERFACE = "/StatusNotifierItem", "org.kde.StatusNotifierItem"
_WATCHER, _WATCHER_PATH = "org.kde.StatusNotifierWatcher", "/StatusNotifierWatcher"


class Tray:
    """Shows the state of all vaults. `on_host` hears whether there is a tray that takes the icon."""

    def __init__(self, bus: Gio.DBusConnection, vaults: Vaults, show: Callable[[str], Any],
                 quit_program: Callable[[], None], icons: str) -> None:
        self._bus = bus
        self._vaults = vaults
        self._show = show
        self._quit = quit_program
        self._icons = icons
        self._shown = overall([])
        self.on_host: Callable[[bool], None] = lambda _has_host: None
        self._menu = BusMenu(bus, self._clicked, icons)
        interface = Gio.DBusNodeInfo.new_for_xml(ITEM).interfaces[0]
        bus.register_object(_PATH, interface, self._call, self._property, None)
        # The tray may start after this program, and may be started anew.
        Gio.bus_watch_name_on_connection(bus, _WATCHER, Gio.BusNameWatcherFlags.NONE, self._appeared, self._vanished)

    def draw(self, views: list[VaultView]) -> None:
        """Shows the vaults as they are now."""
        self._menu.draw(menu_of(views))
        shown = overall(views)
        if shown == self._shown:
            return
        before, self._shown = self._shown, shown
        for index, signal in enumerate(("NewIcon", "NewTitle", "NewToolTip")):
            if before[index] != shown[index]:
                self._bus.emit_signal(None, _PATH, _INTERFACE, signal, None)

    def _appeared(self, bus: Gio.DBusConnection, _name: str, owner: str) -> None:
        bus.call(owner, _WATCHER_PATH, _WATCHER, "RegisterStatusNotifierItem", GLib.Variant("(s)", (_PATH,)), None,
                 Gio.DBusCallFlags.NONE, 5000, None, self._registered)

    def _registered(self, bus: Gio.DBusConnection, result: Gio.AsyncResult) -> None:
        try:
            bus.call_finish(result)
        except GLib.Error:
            return
        self.on_host(True)

    def _vanished(self, _bus: Gio.DBusConnection, _name: str) -> None:
        self.on_host(False)

    def _property(self, _bus: Any, _sender: str, _path: str, _interface: str, name: str) -> GLib.Variant:
        icon, title, text = self._shown
        return {
            "Category": GLib.Variant("s", "SystemServices"),
            "Id": GLib.Variant("s", "latchkey-desktop"),
            "Title": GLib.Variant("s", title),
            "Status": GLib.Variant("s", "Active"),
            "WindowId": GLib.Variant("i", 0),
            "IconName": GLib.Variant("s", icon),
            "IconAccessibleDesc": GLib.Variant("s", text),
            "IconThemePath": GLib.Variant("s", self._icons),
            "OverlayIconName": GLib.Variant("s", ""),
            "AttentionIconName": GLib.Variant("s", ""),
            "ToolTip": GLib.Variant("(sa(iiay)ss)", (icon, [], title, GLib.markup_escape_text(text))),
            "ItemIsMenu": GLib.Variant("b", False),
            "Menu": GLib.Variant("o", MENU_PATH),
        }[name]

    def _call(self, _bus: Any, _sender: str, _path: str, _interface: str, method: str, _parameters: GLib.Variant,
              invocation: Gio.DBusMethodInvocation) -> None:
        invocation.return_value(None)
        if method in ("Activate", "SecondaryActivate"):
            self._show("")

    def _clicked(self, action: str, key: str) -> None:
        if action == "quit":
            return self._quit()
        if action == "window":
            self._show(key)
            return
        # What goes wrong, and what asks, is told in the window.
        window = self._show(key)
        if action == "lock-all":
            return window.actions.lock_all()
        vault = self._vaults.find(key)
        if vault is None:
            return
        if action == "lock-now":
            return window.actions.lock(vault, now=True)
        window.actions.run({"unlock": commands.unlock, "open": commands.open_vault, "browse": commands.browse,
                            "unmount": commands.unmount}[action](vault))
