"""Latchkey in Nautilus: emblem, column, menu and properties of the protection class."""

import sys
from pathlib import Path

import gi

gi.require_version("Nautilus", "4.0")
from gi.repository import Nautilus  # noqa: E402

_beside = Path(__file__).resolve().parent.parent
sys.path.append(str(_beside if (_beside / "latchkey_desktop").is_dir() else "/usr/share/latchkey-desktop"))
from latchkey_desktop.files.extension import FilesExtension, ModelProperties  # noqa: E402


class LatchkeyExtension(FilesExtension, ModelProperties, Nautilus.ColumnProvider, Nautilus.InfoProvider,
                        Nautilus.MenuProvider, Nautilus.PropertiesModelProvider):
    """What Nautilus calls."""

    api = Nautilus
