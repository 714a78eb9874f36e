"""An action with its command line beside it."""

from __future__ import annotations

from typing import Callable

from gi.repository import Gtk

from ..model.commands import Command
from .parts import copy_button, described, label


class CommandRow(Gtk.Box):
    """A button, the command that does the same, and a button that copies it."""

    # Buttons of one width stand in a column, whatever their language.
    _width: Gtk.SizeGroup | None = None

    def __init__(self, title: str, on_click: Callable[[], None], *, suggested: bool = False) -> None:
        super().__init__(spacing=12)
        self.button = Gtk.Button(label=title, valign=Gtk.Align.CENTER)
        CommandRow._width = CommandRow._width or Gtk.SizeGroup(mode=Gtk.SizeGroupMode.HORIZONTAL)
        CommandRow._width.add_widget(self.button)
        if suggested:
            self.button.add_css_class("suggested-action")
        self.button.connect("clicked", lambda *_: on_click())
        self._text = label("", "command", selectable=True)
        # A command line reads from left to right in every language.
        self._text.set_direction(Gtk.TextDirection.LTR)
        self._text.set_hexpand(True)
        self.append(self.button)
        self.append(self._text)
        self.append(copy_button(self._text.get_text))

    def show_command(self, command: Command, is_possible: bool = True) -> None:
        """Shows a command, and whether it can be run now."""
        if self._text.get_text() != command.shown:
            self._text.set_text(command.shown)
            described(self.button, command.shown)
        if self.button.get_sensitive() != is_possible:
            self.button.set_sensitive(is_possible)
