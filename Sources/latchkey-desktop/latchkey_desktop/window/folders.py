"""The folders of the desktop that can be protected by one click."""

from __future__ import annotations

import os

from gi.repository import GLib

from ..text import _

_KINDS = (GLib.UserDirectory.DIRECTORY_DOCUMENTS, GLib.UserDirectory.DIRECTORY_PICTURES,
          GLib.UserDirectory.DIRECTORY_DESKTOP, GLib.UserDirectory.DIRECTORY_DOWNLOAD,
          GLib.UserDirectory.DIRECTORY_MUSIC, GLib.UserDirectory.DIRECTORY_VIDEOS)


def _titles() -> tuple[str, ...]:
    return (_("Documents"), _("Pictures"), _("Desktop"), _("Downloads"), _("Music"), _("Videos"))


def known_folders() -> list[tuple[str, str]]:
    """Their titles and paths, each path once, without the home itself. Nothing is looked at on the disk."""
    home = os.path.normpath(GLib.get_home_dir())
    found: dict[str, str] = {}
    for kind, title in zip(_KINDS, _titles(), strict=True):
        path = GLib.get_user_special_dir(kind)
        if path and os.path.normpath(path) != home:
            found.setdefault(os.path.normpath(path), title)
    return [(title, path) for path, title in found.items()]
