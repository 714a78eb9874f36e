"""Small parts that the pages are made of, each with a name for screen readers."""

from __future__ import annotations

from typing import Callable

from gi.repository import Gdk, Gtk, Pango

from ..model.view import STATE_ICONS
from ..text import _


def named(widget: Gtk.Widget, name: str) -> None:
    """Gives a widget the name that a screen reader speaks."""
    widget.update_property([Gtk.AccessibleProperty.LABEL], [name])


def described(widget: Gtk.Widget, text: str) -> None:
    """Gives a widget a description that a screen reader speaks after its name."""
    widget.update_property([Gtk.AccessibleProperty.DESCRIPTION], [text])


def label(text: str = "", *classes: str, selectable: bool = False) -> Gtk.Label:
    """A text that wraps, and begins where lines of the language begin."""
    found = Gtk.Label(label=text, wrap=True, wrap_mode=Pango.WrapMode.WORD_CHAR, xalign=0, selectable=selectable)
    # A text that can be selected takes the focus only by the pointer: Tab goes from button to button.
    found.set_focusable(selectable)
    for name in classes:
        found.add_css_class(name)
    return found


def heading(text: str) -> Gtk.Label:
    """The title of a part of a page."""
    return label(text, "heading")


def column(*children: Gtk.Widget, spacing: int = 6) -> Gtk.Box:
    """Widgets below each other."""
    box = Gtk.Box(orientation=Gtk.Orientation.VERTICAL, spacing=spacing)
    for child in children:
        box.append(child)
    return box


def row(*children: Gtk.Widget, spacing: int = 6) -> Gtk.Box:
    """Widgets beside each other."""
    box = Gtk.Box(spacing=spacing)
    for child in children:
        box.append(child)
    return box


def empty(box: Gtk.Box | Gtk.ListBox) -> None:
    """Removes all children."""
    while (child := box.get_first_child()) is not None:
        box.remove(child)


def image(name: str, size: int, spoken: str = "") -> Gtk.Image:
    """An icon; without a name for screen readers it only decorates what is written beside it."""
    role = Gtk.AccessibleRole.IMG if spoken else Gtk.AccessibleRole.PRESENTATION
    found = Gtk.Image(icon_name=name, pixel_size=size, accessible_role=role)
    if spoken:
        named(found, spoken)
    return found


def load_icons(widget: Gtk.Widget) -> list[Gtk.IconPaintable]:
    """Begins to load all icons of states in the background. They stay loaded as long as the caller keeps them."""
    theme = Gtk.IconTheme.get_for_display(widget.get_display())
    return [theme.lookup_icon(name, None, size, widget.get_scale_factor(), widget.get_direction(),
                              Gtk.IconLookupFlags.PRELOAD | Gtk.IconLookupFlags.FORCE_SYMBOLIC)
            for name in STATE_ICONS for size in (16, 20, 24, 40)]


def copy_button(text: Callable[[], str]) -> Gtk.Button:
    """A button that puts a text into the clipboard."""
    button = Gtk.Button(icon_name="edit-copy-symbolic", valign=Gtk.Align.CENTER, tooltip_text=_("Copy the command"))
    named(button, _("Copy the command"))
    button.add_css_class("flat")
    button.connect("clicked", lambda *_args: _copy(button.get_display(), text()))
    return button


def _copy(display: Gdk.Display, text: str) -> None:
    display.get_clipboard().set(text)
