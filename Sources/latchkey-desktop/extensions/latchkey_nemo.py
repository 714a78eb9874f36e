"""Latchkey in Nemo: emblem, column, menu and properties of the protection class."""

import sys
from pathlib import Path

import gi

gi.require_version("Nemo", "3.0")
from gi.repository import Gtk, Nemo  # noqa: E402

_beside = Path(__file__).resolve().parent.parent
sys.path.append(str(_beside if (_beside / "latchkey_desktop").is_dir() else "/usr/share/latchkey-desktop"))
from latchkey_desktop.files.extension import FilesExtension, PageProperties  # noqa: E402


class LatchkeyExtension(FilesExtension, PageProperties, Nemo.ColumnProvider, Nemo.InfoProvider, Nemo.MenuProvider,
                        Nemo.PropertyPageProvider):
    """What Nemo calls."""

    api = Nemo
    gtk = Gtk
