"""What all pages of a vault have."""

from __future__ import annotations

from typing import Callable

from gi.repository import Gio, GLib, Gtk

from ..model.vault import Vault
from ..model.view import VaultView
from ..text import _
from .actions import Actions
from .parts import label


class Page(Gtk.Box):
    """A page about the chosen vault. `open` is called when it appears, `draw` at each change while it is seen."""

    def __init__(self, actions: Actions, title: str) -> None:
        super().__init__(orientation=Gtk.Orientation.VERTICAL, spacing=12)
        self.actions = actions
        self.title = title
        self.vault: Vault | None = None
        self.view: VaultView | None = None
        self.add_css_class("page")

    def show_vault(self, vault: Vault, view: VaultView) -> None:
        """Takes what is known of the vault now, and draws it."""
        self.vault, self.view = vault, view
        self.draw(vault, view)

    def open(self, vault: Vault, view: VaultView) -> None:
        """The page appears, or another vault was chosen."""

    def draw(self, vault: Vault, view: VaultView) -> None:
        """Something may have changed."""


class FileEntry(Gtk.Box):
    """A path that can be typed, or chosen in a dialog."""

    def __init__(self, title: str, on_change: Callable[[], None], action: Gtk.FileChooserAction,
                 suggested: str = "") -> None:
        super().__init__(spacing=6)
        self._title = title
        self._action = action
        self._suggested = suggested
        self._put = ""
        self._dialog: Gtk.FileChooserNative | None = None
        self._entry = Gtk.Entry(hexpand=True)
        self._entry.set_direction(Gtk.TextDirection.LTR)
        self._entry.connect("changed", lambda *_args: on_change())
        button = Gtk.Button(label=_("Choose…"), valign=Gtk.Align.CENTER)
        button.connect("clicked", lambda *_args: self._choose())
        text = label(title)
        text.set_mnemonic_widget(self._entry)
        for widget in (text, self._entry, button):
            self.append(widget)

    @property
    def path(self) -> str:
        """What was typed or chosen; `~` is the home folder."""
        found = self._entry.get_text()
        return GLib.get_home_dir() + found[1:] if found == "~" or found.startswith("~/") else found

    def suggest(self, path: str) -> None:
        """Puts a path in, unless the person has written another one."""
        if self._entry.get_text() in ("", self._put):
            self._put = path
            self._entry.set_text(path)

    def _choose(self) -> None:
        self._dialog = Gtk.FileChooserNative.new(self._title, self.get_root(), self._action, None, None)
        if self._action == Gtk.FileChooserAction.SAVE and self._suggested:
            self._dialog.set_current_name(self._suggested)
        self._dialog.connect("response", self._chosen)
        self._dialog.show()

    def _chosen(self, dialog: Gtk.FileChooserNative, response: int) -> None:
        file: Gio.File | None = dialog.get_file()
        self._dialog = None
        path = file.get_path() if response == Gtk.ResponseType.ACCEPT and file else None
        # An entry takes no path that is not UTF-8, nor do the commands that the window has for it.
        if path and path.isprintable():
            self._entry.set_text(path)

