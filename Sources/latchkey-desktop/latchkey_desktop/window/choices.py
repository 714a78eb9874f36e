"""Buttons that stay pressed: one of several, and on or off.

They are not check buttons: before GTK 4.10 a screen reader cannot press those.
"""

from __future__ import annotations

from typing import Callable

from gi.repository import Gtk

from .parts import named


def _button(title: str, role: Gtk.AccessibleRole) -> Gtk.ToggleButton:
    mark = Gtk.Image(icon_name="object-select-symbolic", accessible_role=Gtk.AccessibleRole.PRESENTATION, opacity=0)
    content = Gtk.Box(spacing=8)
    content.append(mark)
    content.append(Gtk.Label(label=title, xalign=0, hexpand=True, wrap=True))
    button = Gtk.ToggleButton(child=content, accessible_role=role)
    named(button, title)

    def toggled(_button: Gtk.ToggleButton) -> None:
        mark.set_opacity(1 if button.get_active() else 0)
        button.update_state([Gtk.AccessibleState.CHECKED], [int(button.get_active())])

    button.connect("toggled", toggled)
    return button


def choice(title: str, group: Gtk.ToggleButton | None, on_choice: Callable[[], None]) -> Gtk.ToggleButton:
    """One of several, of which one is pressed."""
    button = _button(title, Gtk.AccessibleRole.RADIO)
    button.set_group(group)
    button.connect("toggled", lambda _button: on_choice() if button.get_active() else None)
    return button


def option(title: str, is_on: bool, on_change: Callable[[], None]) -> Gtk.ToggleButton:
    """On or off."""
    button = _button(title, Gtk.AccessibleRole.CHECKBOX)
    button.set_active(is_on)
    button.connect("toggled", lambda _button: on_change())
    return button
