"""The program: one for each session, with a window and an icon in the tray."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import gi

gi.require_version("Gtk", "4.0")
gi.require_version("Gdk", "4.0")
from gi.repository import Gdk, Gio, GLib, Gtk  # noqa: E402

from . import appearance, heartbeat  # noqa: E402
from .live.vaults import Vaults, now  # noqa: E402
from .model.state import VaultState  # noqa: E402
from .model.view import view_of  # noqa: E402
from .text import _, is_right_to_left  # noqa: E402
from .tray.tray import Tray  # noqa: E402
from .window.assistant import Assistant  # noqa: E402
from .window.window import Window  # noqa: E402

IDENTIFIER = "io.latchkey.Desktop"
# Those change with the clock.
_TIMED = (VaultState.LOCKING, VaultState.EVICTING, VaultState.HELD, VaultState.CANNOT_LOCK)


def icons() -> Path | None:
    """The icons of a source tree; None if they are installed."""
    found = Path(__file__).resolve().parent.parent / "data" / "icons"
    return found if found.is_dir() else None


class Desktop(Gtk.Application):
    """Holds what is known of the vaults, and tells the window and the tray of changes."""

    def __init__(self) -> None:
        super().__init__(application_id=IDENTIFIER, flags=Gio.ApplicationFlags.HANDLES_COMMAND_LINE)
        self._window: Window | None = None
        self._vaults: Vaults | None = None
        self._assistant: Assistant | None = None
        self._tray: Tray | None = None
        self._ticking = 0
        self._drawing = 0
        self._is_held = False
        self.add_main_option("tray", 0, GLib.OptionFlags.NONE, GLib.OptionArg.NONE,
                             _("Show only the icon in the tray"), None)

    def do_handle_local_options(self, _options: GLib.VariantDict) -> int:
        if Gdk.Display.get_default() is not None:
            return -1
        print(_("latchkey-desktop: there is no display to show a window on"), file=sys.stderr)
        print("  " + _("try: {command}").format(command="latchkey status"), file=sys.stderr)
        return 1

    def do_startup(self) -> None:
        Gtk.Application.do_startup(self)
        heartbeat.start()
        GLib.unix_signal_add(GLib.PRIORITY_DEFAULT, signal.SIGTERM, self._end)
        GLib.unix_signal_add(GLib.PRIORITY_DEFAULT, signal.SIGINT, self._end)
        if is_right_to_left():
            Gtk.Widget.set_default_direction(Gtk.TextDirection.RTL)
        display = Gdk.Display.get_default()
        folder = icons()
        if display is not None and folder is not None:
            Gtk.IconTheme.get_for_display(display).add_search_path(str(folder))
        bus = self.get_dbus_connection()
        if bus is not None:
            appearance.follow(bus)
        self._vaults = Vaults(self._changed)
        if bus is not None:
            self._tray = Tray(bus, self._vaults, self._show, self._quit, str(folder or ""))
            self._tray.on_host = self._host_changed

    def do_command_line(self, line: Gio.ApplicationCommandLine) -> int:
        if line.get_options_dict().contains("tray"):
            # The tray may come later than this program, at the begin of a session.
            self._hold()
        else:
            self._show("")
        return 0

    def do_activate(self) -> None:
        self._show("")

    def _hold(self) -> None:
        if not self._is_held:
            self._is_held = True
            self.hold()

    def _host_changed(self, has_host: bool) -> None:
        # With an icon, the program stays when its window is closed.
        if has_host:
            self._hold()

    def _show(self, key: str) -> Window:
        assert self._vaults is not None
        if self._window is None:
            self._window = Window(self, self._vaults, self._protect)
            self._window.connect("close-request", self._closed)
        if key:
            self._window.choose(key)
        self._window.present()
        return self._window

    def _protect(self) -> None:
        assert self._vaults is not None
        if self._assistant is None:
            self._assistant = Assistant(self, self._vaults, self._assistant_closed)
        self._assistant.present()

    def _assistant_closed(self) -> None:
        self._assistant = None

    def _closed(self, window: Window) -> bool:
        assert self._vaults is not None
        self._vaults.ask_often(False)
        self._window = None
        return False

    def _quit(self) -> None:
        self.quit()

    def _end(self) -> bool:
        self.quit()
        return GLib.SOURCE_REMOVE

    def _changed(self) -> None:
        # Many changes at once, as of 20 daemons, are drawn once.
        if not self._drawing:
            self._drawing = GLib.timeout_add(20, self._draw)

    def _draw(self) -> bool:
        self._drawing = 0
        if self._vaults is None:
            return GLib.SOURCE_REMOVE
        if self._window is not None:
            self._window.draw()
        if self._assistant is not None:
            self._assistant.draw()
        moment = now()
        views = [view_of(vault, moment) for vault in self._vaults.vaults]
        if self._tray is not None:
            self._tray.draw(views)
        if any(view.state in _TIMED for view in views):
            if not self._ticking:
                self._ticking = GLib.timeout_add(500, self._tick)
        return GLib.SOURCE_REMOVE

    def _tick(self) -> bool:
        self._ticking = 0
        self._draw()
        return GLib.SOURCE_REMOVE


def main() -> int:
    """Runs the program until its window is closed and no tray has its icon."""
    GLib.set_prgname(IDENTIFIER)
    GLib.set_application_name(_("Latchkey"))
    return Desktop().run(sys.argv)
