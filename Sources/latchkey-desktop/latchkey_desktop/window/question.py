"""A question before something that cannot be undone."""

from __future__ import annotations

from typing import Callable

from gi.repository import Gtk

from ..text import _


def ask(parent: Gtk.Window | None, title: str, text: str, verb: str, then: Callable[[], None]) -> None:
    """Asks, and calls `then` if the person presses the button with the verb. Escape and Enter cancel."""
    dialog = Gtk.MessageDialog(transient_for=parent, modal=True, text=title, secondary_text=text)
    dialog.add_button(_("Cancel"), Gtk.ResponseType.CANCEL)
    button = dialog.add_button(verb, Gtk.ResponseType.ACCEPT)
    button.add_css_class("destructive-action")
    dialog.set_default_response(Gtk.ResponseType.CANCEL)

    def answered(_dialog: Gtk.MessageDialog, response: int) -> None:
        dialog.destroy()
        if response == Gtk.ResponseType.ACCEPT:
            then()

    dialog.connect("response", answered)
    dialog.present()
