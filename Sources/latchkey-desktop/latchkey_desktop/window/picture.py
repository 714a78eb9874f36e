"""The picture of a vault: its classes as four rows, with what can be read now."""

from __future__ import annotations

from gi.repository import Gtk, Pango

from ..model.classes import Reach, reach_text
from ..model.view import ClassRow
from .parts import label, named

_ICONS = {
    Reach.READABLE: "latchkey-unlocked-symbolic",
    Reach.CREATE: "list-add-symbolic",
    Reach.CLOSED: "latchkey-locked-symbolic",
    Reach.UNKNOWN: "dialog-question-symbolic",
}


class ClassBand(Gtk.Box):
    """One class: letter, name and meaning, what can be done now, and the number of open files."""

    def __init__(self) -> None:
        super().__init__(spacing=12, accessible_role=Gtk.AccessibleRole.LIST_ITEM)
        self.add_css_class("band")
        self._letter = label("", "letter")
        self._name = label("", "name")
        self._meaning = label("", "dim-label")
        self._icon = Gtk.Image(pixel_size=20, accessible_role=Gtk.AccessibleRole.PRESENTATION)
        self._reach = label("", "name")
        self._files = label("", "dim-label")
        for text in (self._reach, self._files):
            text.set_wrap(False)
            text.set_ellipsize(Pango.EllipsizeMode.END)
        left = Gtk.Box(orientation=Gtk.Orientation.VERTICAL, hexpand=True)
        left.append(self._name)
        left.append(self._meaning)
        right = Gtk.Box(orientation=Gtk.Orientation.VERTICAL)
        right.append(self._reach)
        right.append(self._files)
        for widget in (self._letter, left, self._icon, right):
            self.append(widget)
        self._shown: ClassRow | None = None

    def draw(self, row: ClassRow) -> None:
        """Shows a class as it is now."""
        if row == self._shown:
            return
        self._shown = row
        self._letter.set_text(row.item.letter)
        self._name.set_text(row.item.name)
        self._meaning.set_text(row.meaning)
        self._icon.set_from_icon_name(_ICONS[row.reach])
        self._reach.set_text(reach_text(row.reach))
        self._files.set_text(row.files)
        for reach in Reach:
            if reach is row.reach:
                self.add_css_class(reach.value)
            else:
                self.remove_css_class(reach.value)
        named(self, row.spoken)


class Picture(Gtk.Box):
    """The four classes below each other, the strictest first."""

    def __init__(self) -> None:
        super().__init__(orientation=Gtk.Orientation.VERTICAL, spacing=3, accessible_role=Gtk.AccessibleRole.LIST)
        self._bands = [ClassBand() for _ in range(4)]
        for band in self._bands:
            self.append(band)

    def draw(self, rows: tuple[ClassRow, ...]) -> None:
        """Shows the classes as they are now."""
        for band, row in zip(self._bands, rows):
            band.draw(row)
