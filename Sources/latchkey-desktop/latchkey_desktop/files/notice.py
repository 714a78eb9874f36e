"""A notification of the desktop."""

from __future__ import annotations

from gi.repository import Gio, GLib

from ..text import _, lines


def tell(message: bytes) -> None:
    """Shows a message of a command, if the session has notifications."""
    bus = Gio.bus_get_sync(Gio.BusType.SESSION)
    body = GLib.markup_escape_text(lines(message))
    bus.call("org.freedesktop.Notifications", "/org/freedesktop/Notifications", "org.freedesktop.Notifications",
             "Notify", GLib.Variant("(susssasa{sv}i)", (_("Latchkey"), 0, "io.latchkey.Desktop",
                                                          _("The protection class was not set"), body, [], {}, -1)),
             None, Gio.DBusCallFlags.NONE, 5000, None, lambda *_args: None)
