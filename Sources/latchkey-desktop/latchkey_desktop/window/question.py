"""A question before something that cannot be undone."""

from __future__ import annotations

from typing import Callable

from gi.repository import Gtk

from ..text import _
from .parts import described, label, named


class Question(Gtk.Window):
    """Asks, and calls `then` if the person presses the button with the verb. Escape and Enter cancel."""

    def __init__(self, parent: Gtk.Window | None, title: str, text: str, verb: str, then: Callable[[], None]) -> None:
        super().__init__(transient_for=parent, modal=True, title=title, resizable=False,
                         accessible_role=Gtk.AccessibleRole.DIALOG)
        named(self, title)
        described(self, text)
        self._then = then
        cancel = Gtk.Button(label=_("Cancel"))
        cancel.connect("clicked", lambda *_args: self.close())
        go_on = Gtk.Button(label=verb)
        go_on.add_css_class("destructive-action")
        go_on.connect("clicked", lambda *_args: self._go_on())
        buttons = Gtk.Box(spacing=12, homogeneous=True)
        buttons.append(cancel)
        buttons.append(go_on)
        box = Gtk.Box(orientation=Gtk.Orientation.VERTICAL, spacing=12)
        box.add_css_class("question")
        for widget in (label(title, "heading"), label(text), buttons):
            box.append(widget)
        self.set_child(box)
        self.set_default_widget(cancel)
        self.set_focus(cancel)
        keys = Gtk.ShortcutController(scope=Gtk.ShortcutScope.GLOBAL)
        keys.add_shortcut(Gtk.Shortcut.new(Gtk.ShortcutTrigger.parse_string("Escape"),
                                           Gtk.CallbackAction.new(lambda *_args: self.close() or True)))
        self.add_controller(keys)

    def _go_on(self) -> None:
        self.close()
        self._then()


def ask(parent: Gtk.Window | None, title: str, text: str, verb: str, then: Callable[[], None]) -> None:
    """Shows a question."""
    Question(parent, title, text, verb, then).present()
