"""The assistant: turns folders into protected ones, and back."""

from __future__ import annotations

import os
from typing import Callable

from gi.repository import Gtk

from ..live.vaults import Vaults
from ..model.commands import Command
from ..text import _
from .protect_choice import ProtectChoice
from .protect_run import ProtectRun


class Assistant(Gtk.ApplicationWindow):
    """A window of its own. Closing it while a command runs hides it; it comes back with the outcome.

    The application stays while a command runs: `on_closed` is called when the window is not needed any more.
    """

    def __init__(self, application: Gtk.Application, vaults: Vaults, on_closed: Callable[[], None]) -> None:
        super().__init__(application=application, title=_("Protect a folder"), default_width=680, default_height=640,
                         icon_name="io.latchkey.Desktop")
        self._vaults = vaults
        self._seen = self._mounted()
        self._on_closed = on_closed
        self._choice = ProtectChoice(self._is_mounted, self._start)
        self._run = ProtectRun(self._ended, self._back)
        whole = Gtk.Box(orientation=Gtk.Orientation.VERTICAL)
        whole.add_css_class("page")
        whole.append(self._choice)
        whole.append(self._run)
        self._run.set_visible(False)
        self.set_child(Gtk.ScrolledWindow(child=whole, hscrollbar_policy=Gtk.PolicyType.NEVER))
        keys = Gtk.ShortcutController(scope=Gtk.ShortcutScope.GLOBAL)
        for trigger in ("Escape", "<Control>w"):
            keys.add_shortcut(Gtk.Shortcut.new(Gtk.ShortcutTrigger.parse_string(trigger),
                                               Gtk.CallbackAction.new(lambda *_args: self.close() or True)))
        self.add_controller(keys)
        self.connect("close-request", lambda _window: self._closing())

    def _is_mounted(self, folder: str) -> bool:
        return os.fsencode(folder) in self._mounted()

    def _mounted(self) -> set[bytes]:
        return {vault.mount_point.raw for vault in self._vaults.vaults if vault.is_in_table}

    def draw(self) -> None:
        """The vaults may have changed."""
        mounted = self._mounted()
        if mounted != self._seen:
            self._seen = mounted
            if self._choice.get_visible():
                self._choice.look_again()

    def _start(self, command: Command, folder: str) -> None:
        self._choice.leave()
        self._choice.set_visible(False)
        self._run.set_visible(True)
        self._run.start(command, folder)

    def _ended(self) -> None:
        self._vaults.read_names()
        self.present()

    def _back(self) -> None:
        self._run.set_visible(False)
        self._choice.set_visible(True)
        self._choice.look_again()

    def _closing(self) -> bool:
        if self._run.is_running:
            # It is still a window of the application, which therefore stays.
            self.set_visible(False)
            return True
        self._choice.leave()
        self._on_closed()
        return False
