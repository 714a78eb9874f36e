"""The list of vaults by name."""

from __future__ import annotations

from typing import Callable

from gi.repository import Gtk, Pango

from ..model.view import VaultView
from ..text import _
from .parts import label, named


class _VaultRow(Gtk.ListBoxRow):
    def __init__(self, key: str) -> None:
        super().__init__()
        self.key = key
        self._icon = Gtk.Image(pixel_size=24, accessible_role=Gtk.AccessibleRole.PRESENTATION)
        self._title = label("", "name")
        self._state = label("", "dim-label")
        for text in (self._title, self._state):
            text.set_wrap(False)
            text.set_ellipsize(Pango.EllipsizeMode.END)
        words = Gtk.Box(orientation=Gtk.Orientation.VERTICAL, hexpand=True)
        words.append(self._title)
        words.append(self._state)
        self._warning = Gtk.Image(icon_name="latchkey-attention-symbolic", pixel_size=16,
                                  accessible_role=Gtk.AccessibleRole.PRESENTATION)
        box = Gtk.Box(spacing=10)
        for widget in (self._icon, words, self._warning):
            box.append(widget)
        self.set_child(box)

    def draw(self, view: VaultView) -> None:
        self._icon.set_from_icon_name(view.icon)
        self._title.set_text(view.title)
        self._state.set_text(view.headline)
        self._warning.set_visible(view.warns)
        spoken = view.spoken
        named(self, _("{sentence}. There are warnings.").format(sentence=spoken) if view.warns else spoken)


class Sidebar(Gtk.ListBox):
    """One row for each vault; `on_choice` gets the key of the chosen one."""

    def __init__(self, on_choice: Callable[[str], None]) -> None:
        super().__init__(selection_mode=Gtk.SelectionMode.BROWSE)
        self.add_css_class("vaults")
        named(self, _("Vaults"))
        self._rows: dict[str, _VaultRow] = {}
        self._drawn: dict[str, VaultView] = {}
        self.connect("row-selected", lambda _box, row: on_choice(row.key) if row else None)

    def draw(self, views: list[VaultView]) -> None:
        """Shows the vaults in their order; only what has changed is drawn."""
        keys = [view.key for view in views]
        if keys != list(self._rows):
            self._arrange(keys)
        for view in views:
            if self._drawn.get(view.key) != view:
                self._rows[view.key].draw(view)
        self._drawn = {view.key: view for view in views}

    def _arrange(self, keys: list[str]) -> None:
        """Makes and removes rows. A row that stays is not touched, so it keeps the focus."""
        for key in [key for key in self._rows if key not in keys]:
            self.remove(self._rows.pop(key))
            self._drawn.pop(key, None)
        if list(self._rows) != [key for key in keys if key in self._rows]:
            for row in self._rows.values():
                self.remove(row)
            self._rows = {}
            self._drawn = {}
        for index, key in enumerate(keys):
            if key not in self._rows:
                self._rows[key] = _VaultRow(key)
                self.insert(self._rows[key], index)
        self._rows = {key: self._rows[key] for key in keys}
        if self.get_selected_row() is None:
            self.choose(next(iter(keys), ""))

    def choose(self, key: str) -> None:
        """Selects a vault."""
        if key in self._rows:
            self.select_row(self._rows[key])
