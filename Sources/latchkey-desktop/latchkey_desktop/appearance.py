"""Dark or light, as the desktop says. GTK alone follows only the name of a theme."""

from __future__ import annotations

from gi.repository import Gio, GLib, Gtk

_NAME, _PATH = "org.freedesktop.portal.Desktop", "/org/freedesktop/portal/desktop"
_SETTINGS, _APPEARANCE, _SCHEME = "org.freedesktop.portal.Settings", "org.freedesktop.appearance", "color-scheme"
_DARK = 1


def follow(bus: Gio.DBusConnection) -> None:
    """Asks the desktop's portal for its colour scheme, and follows its changes. Without a portal nothing is changed."""
    bus.signal_subscribe(_NAME, _SETTINGS, "SettingChanged", _PATH, _APPEARANCE, Gio.DBusSignalFlags.NONE, _changed)
    bus.call(_NAME, _PATH, _SETTINGS, "Read", GLib.Variant("(ss)", (_APPEARANCE, _SCHEME)), None,
             Gio.DBusCallFlags.NONE, 5000, None, _read)


def _changed(_bus: Gio.DBusConnection, _sender: str, _path: str, _interface: str, _signal: str,
             parameters: GLib.Variant) -> None:
    namespace, key, value = parameters.unpack()
    if (namespace, key) == (_APPEARANCE, _SCHEME):
        _use(value)


def _read(bus: Gio.DBusConnection, result: Gio.AsyncResult) -> None:
    try:
        value = bus.call_finish(result).unpack()[0]
    except GLib.Error:
        return
    _use(value)


def _use(value: object) -> None:
    settings = Gtk.Settings.get_default()
    if settings is not None and isinstance(value, int):
        settings.set_property("gtk-application-prefer-dark-theme", value == _DARK)
