"""Latchkey in Caja: emblem, column, menu and properties of the protection class."""

import sys
from pathlib import Path

import gi

gi.require_version("Caja", "2.0")
from gi.repository import Caja, Gtk  # noqa: E402

_beside = Path(__file__).resolve().parent.parent
sys.path.append(str(_beside if (_beside / "latchkey_desktop").is_dir() else "/usr/share/latchkey-desktop"))
from latchkey_desktop.files.extension import FilesExtension, PageProperties  # noqa: E402


class LatchkeyExtension(FilesExtension, PageProperties, Caja.ColumnProvider, Caja.InfoProvider, Caja.MenuProvider,
                        Caja.PropertyPageProvider):
    """What Caja calls."""

    api = Caja
    gtk = Gtk
