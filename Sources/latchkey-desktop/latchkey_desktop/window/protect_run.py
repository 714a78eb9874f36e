"""The second page of the assistant: how far it is, and how it has ended."""

from __future__ import annotations

import os
from typing import Callable

from gi.repository import GLib, Gtk

from ..live.program import Outcome, Program
from ..model import commands
from ..model.commands import Command
from ..model.migration import Migration
from ..model.migration_text import error_text, notices_text, outcome_text, progress_text
from ..model.paths import PathName
from ..text import _, apart
from .actions import reason
from .parts import label, named, row

# Thousands of lines may come at once; a person sees four changes in a second.
_DRAW_MS = 250


class ProtectRun(Gtk.Box):
    """Runs one command at a time. `on_end` is called when it has ended, `leave` when the person wants to go back."""

    def __init__(self, on_end: Callable[[], None], leave: Callable[[], None]) -> None:
        super().__init__(orientation=Gtk.Orientation.VERTICAL, spacing=12)
        self._on_end = on_end
        self._program: Program | None = None
        self._migration = Migration()
        self._timer = 0
        self._is_stopping = False
        self._headline = label("", "headline")
        self._command = label("", "command", selectable=True)
        self._command.set_direction(Gtk.TextDirection.LTR)
        self._bar = Gtk.ProgressBar()
        named(self._bar, _("Progress"))
        self._progress = label("")
        self._notices = label("", selectable=True)
        self._outcome = label("", selectable=True)
        self._digests = label("", selectable=True)
        self._stop = Gtk.Button(label=_("Stop"))
        self._stop.connect("clicked", lambda *_args: self._stop_now())
        self._leave = Gtk.Button(label=_("Back"))
        self._leave.connect("clicked", lambda *_args: leave())
        self._close = Gtk.Button(label=_("Close"))
        self._close.connect("clicked", lambda *_args: self.get_root().close())
        for widget in (self._headline, self._command, self._bar, self._progress, self._outcome, self._digests,
                       self._notices, row(self._stop, self._close, self._leave)):
            self.append(widget)

    @property
    def is_running(self) -> bool:
        """Whether the command has not ended yet."""
        return self._program is not None

    def start(self, command: Command, folder: str) -> None:
        """Runs a command about a folder."""
        self._migration = Migration()
        self._is_stopping = False
        self._folder = PathName(os.fsencode(folder))
        self._headline.set_text(apart(self._folder.name))
        self._command.set_text(command.shown)
        _say(self._outcome, "")
        _say(self._digests, "")
        self._progress.set_text(_("Preparing. A small window may ask for the passcode."))
        self._bar.set_fraction(0)
        self._stop.set_sensitive(True)
        self._show(is_running=True)
        self._program = Program(commands.as_json(command), lambda outcome: self._ended(command, outcome),
                                on_line=self._take)

    def _show(self, is_running: bool) -> None:
        for widget in (self._bar, self._progress, self._stop):
            widget.set_visible(is_running)
        for widget in (self._leave, self._close):
            widget.set_visible(not is_running)
        _say(self._notices, notices_text(self._migration))

    def _take(self, line: bytes) -> None:
        self._migration.take(line)
        if not self._timer:
            self._timer = GLib.timeout_add(_DRAW_MS, self._draw)

    def _draw(self) -> bool:
        self._timer = 0
        progress = self._migration.progress
        if progress is not None and self.is_running:
            self._bar.set_fraction(progress.fraction)
        if progress is not None and self.is_running and not self._is_stopping:
            self._progress.set_text(progress_text(progress))
        _say(self._notices, notices_text(self._migration))
        return GLib.SOURCE_REMOVE

    def _stop_now(self) -> None:
        if self._program is not None:
            self._stop.set_sensitive(False)
            self._is_stopping = True
            self._progress.set_text(_("Stopping after the files that are being moved…"))
            self._program.stop()

    def _ended(self, command: Command, outcome: Outcome) -> None:
        self._program = None
        self._show(is_running=False)
        end = self._migration.end
        name = apart(self._folder.name)
        if outcome.succeeded:
            self._headline.set_text(self._success(command))
            _say(self._outcome, outcome_text(self._migration))
            # Of a run that has gone on, or back, they are those of the rest.
            if end and "--yes" in command.arguments:
                _say(self._digests, _("Digest of all files before: {before}\nand after: {after}").format(
                    before=apart(end.before), after=apart(end.after)))
        else:
            # Of one that was killed it is not known.
            is_whole = self._migration.error is not None and self._migration.progress is None
            self._headline.set_text((_("{folder}: nothing was done") if is_whole else _("{folder}: not finished"))
                                    .format(folder=name))
            _say(self._outcome, error_text(self._migration) or self._why(command, outcome))
        self._on_end()

    def _why(self, command: Command, outcome: Outcome) -> str:
        if self._is_stopping or outcome.code is None:
            return _("It was stopped. Nothing is lost: each file is in the folder, or in the vault.")
        return reason(command, outcome)

    def _success(self, command: Command) -> str:
        name = apart(self._folder.name)
        is_protect = (command.arguments[1] == "protect") != ("--undo" in command.arguments)
        return (_("{folder} is protected.") if is_protect else _("{folder} is an ordinary folder.")).format(folder=name)


def _say(text: Gtk.Label, content: str) -> None:
    """Shows a text; an empty one takes no place."""
    text.set_text(content)
    text.set_visible(bool(content))
