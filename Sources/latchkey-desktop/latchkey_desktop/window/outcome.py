"""The bar at the foot of the window: what runs, and what came of the last command."""

from __future__ import annotations

from typing import Callable

from gi.repository import Gtk

from ..text import _
from .parts import label, named, row


class OutcomeBar(Gtk.Box):
    """One message at a time; a later one replaces it."""

    def __init__(self) -> None:
        super().__init__(accessible_role=Gtk.AccessibleRole.ALERT, visible=False)
        self._stop: Callable[[], None] | None = None
        self._spinner = Gtk.Spinner(valign=Gtk.Align.CENTER, accessible_role=Gtk.AccessibleRole.PRESENTATION)
        self._text = label("", selectable=True)
        self._text.set_hexpand(True)
        scroller = Gtk.ScrolledWindow(child=self._text, propagate_natural_height=True, max_content_height=160,
                                      hscrollbar_policy=Gtk.PolicyType.NEVER, hexpand=True)
        self._cancel = Gtk.Button(label=_("Cancel"), valign=Gtk.Align.CENTER)
        self._cancel.connect("clicked", lambda *_args: self._stop and self._stop())
        self._close = Gtk.Button(icon_name="window-close-symbolic", valign=Gtk.Align.CENTER,
                                 tooltip_text=_("Close the message"))
        named(self._close, _("Close the message"))
        self._close.connect("clicked", lambda *_args: self.set_visible(False))
        self._bar = row(self._spinner, scroller, self._cancel, self._close, spacing=12)
        self._bar.add_css_class("outcome")
        self._bar.set_hexpand(True)
        self.append(self._bar)

    def _show(self, message: str, kind: str, stop: Callable[[], None] | None = None) -> None:
        self._stop = stop
        self._text.set_text(message)
        named(self, message)
        for name in ("running", "done", "failed"):
            if name == kind:
                self._bar.add_css_class(name)
            else:
                self._bar.remove_css_class(name)
        self._spinner.set_spinning(kind == "running")
        self._spinner.set_visible(kind == "running")
        self._cancel.set_visible(stop is not None)
        self._close.set_visible(kind != "running")
        self.set_visible(True)

    def running(self, command: str, stop: Callable[[], None] | None) -> None:
        """A command has begun; `stop` ends it."""
        self._show(_("Running: {command}").format(command=command), "running", stop)

    def done(self, message: str) -> None:
        """A command has done what it should."""
        self._show(message, "done")

    def leave(self) -> None:
        """The person looks at something else: what was done need not be said any more."""
        if self._bar.has_css_class("done"):
            self.set_visible(False)

    def failed(self, message: str) -> None:
        """Something was not done, and why."""
        self._show(message, "failed")
