"""The first page of the assistant: which folder, how, and what it takes."""

from __future__ import annotations

import os
from typing import Callable

from gi.repository import GLib, Gtk

from ..live.program import Outcome, Program
from ..model import commands
from ..model.commands import Command
from ..model.migration import Migration
from ..model.migration_text import error_text, notices_text, plan_text, writers_text
from ..model.paths import PathName
from ..text import _, apart
from .actions import reason
from .choices import choice, option
from .command_row import CommandRow
from .folders import known_folders
from .page import FileEntry
from .parts import heading, label
from .question import ask

# A path that is typed is looked at when the person pauses.
_PAUSE_MS = 400
# Seconds: a million files are looked at in less.
_LOOKING = 600.0


class ProtectChoice(Gtk.Box):
    """`is_mounted` says whether a vault is mounted on a path; `start` runs what was chosen."""

    def __init__(self, is_mounted: Callable[[str], bool], start: Callable[[Command, str], None]) -> None:
        super().__init__(orientation=Gtk.Orientation.VERTICAL, spacing=12)
        self._is_mounted = is_mounted
        self._start = start
        self._folder = ""
        self._found: Migration | None = None
        self._trouble = ""
        self._looking: Program | None = None
        self._timer = 0
        self._other = FileEntry(_("Folder"), self._typed, Gtk.FileChooserAction.SELECT_FOLDER)
        self._plan = label("", selectable=True)
        self._screen = option(_("Lock its files when the screen locks"), True, self._draw)
        self._keep = option(_("Keep the originals, which needs twice the space"), False, self.look_again)
        self._recovery = FileEntry(_("New file for the recovery key"), self._draw, Gtk.FileChooserAction.SAVE)
        self._protect = CommandRow(_("Protect"), self._begin, suggested=True)
        self._unprotect = CommandRow(_("Make it an ordinary folder"), self._unprotect_now)
        self._on = CommandRow(_("Go on"), lambda: self._go(False), suggested=True)
        self._back = CommandRow(_("Go back"), lambda: self._go(True))
        self._settings = Gtk.Box(orientation=Gtk.Orientation.VERTICAL, spacing=6)
        for widget in (
            self._screen, self._keep, self._recovery,
            label(_("If you forget the passcode, only the recovery key opens the folder. Print the file, keep the "
                    "paper, and remove the file.")),
            label(_("First end programs that synchronise this folder, and have a backup. Next you are asked for a "
                    "new passcode.")),
        ):
            self._settings.append(widget)
        for widget in (
            heading(_("Which folder?")),
            label(_("Its files stay where programs look for them, and lie encrypted on the disk.")),
            self._folders(), self._other, self._plan, self._settings, self._protect, self._unprotect, self._on,
            self._back,
        ):
            self.append(widget)
        self._choose_first()

    # The folder

    def _folders(self) -> Gtk.Widget:
        box = Gtk.Box(orientation=Gtk.Orientation.VERTICAL, accessible_role=Gtk.AccessibleRole.RADIO_GROUP)
        box.add_css_class("linked")
        self._choices: list[tuple[Gtk.ToggleButton, str]] = []
        group: Gtk.ToggleButton | None = None
        for title, path in known_folders():
            text = _("{title}, in {path}").format(title=title, path=apart(PathName(os.fsencode(path)).shown))
            button = choice(text, group, lambda path=path: self._chosen(path))
            group = group or button
            self._choices.append((button, path))
            box.append(button)
        self._another = choice(_("Another folder"), group, self._chosen_other)
        box.append(self._another)
        return box

    def _choose_first(self) -> None:
        """The first folder that is not protected yet, as the one that is probably meant."""
        buttons = [button for button, path in self._choices if not self._is_mounted(path)]
        (buttons[0] if buttons else self._another).set_active(True)

    def _chosen(self, path: str) -> None:
        self._other.set_visible(False)
        self._look_at(path)

    def _chosen_other(self) -> None:
        self._other.set_visible(True)
        self._look_at(self._other.path)

    def _typed(self) -> None:
        # What was known is of another folder.
        self.leave()
        self._folder = ""
        self._draw()
        self._timer = GLib.timeout_add(_PAUSE_MS, self._paused)

    def _paused(self) -> bool:
        self._timer = 0
        if self._another.get_active():
            self._look_at(self._other.path)
        return GLib.SOURCE_REMOVE

    # What is known of it

    def look_again(self) -> None:
        """The folder may be another one now, as after a run."""
        if self._folder:
            self._look_at(self._folder)

    def leave(self) -> None:
        """Ends a look that is under way."""
        if self._timer:
            GLib.source_remove(self._timer)
            self._timer = 0
        if self._looking is not None:
            self._looking.stop()
            self._looking = None
        self._found, self._trouble = None, ""

    def _look_at(self, folder: str) -> None:
        self.leave()
        self._folder = os.path.normpath(folder) if folder.startswith("/") else ""
        if self._folder:
            self._recovery.suggest(_recovery_key_file(self._folder))
            found = Migration()
            command = commands.plan(self._folder, self._keep.get_active())
            program = Program(command, lambda outcome: self._looked(program, found, command, outcome),
                              limit=_LOOKING, on_line=found.take)
            self._looking = program
        self._draw()

    def _looked(self, program: Program, found: Migration, command: Command, outcome: Outcome) -> None:
        # The person may have chosen another folder meanwhile.
        if self._looking is not program:
            return
        self._looking = None
        if outcome.succeeded:
            self._found = found
        else:
            self._trouble = error_text(found) or reason(command, outcome)
        self._draw()

    def _draw(self) -> None:
        found, plan = self._found, self._found.plan if self._found else None
        unfinished = found.unfinished if found else ""
        is_protected = found is not None and found.is_protected
        keeps, file = self._keep.get_active(), self._recovery.path
        self._plan.set_text(self._text())
        self._settings.set_visible(not unfinished and not is_protected)
        self._protect.set_visible(not unfinished and not is_protected)
        folder = self._folder or "FOLDER"
        self._protect.show_command(
            commands.protect(folder, file or "FILE", self._screen.get_active(), keeps),
            plan is not None and file.startswith("/") and plan.needed <= plan.free)
        self._unprotect.set_visible(is_protected)
        self._unprotect.show_command(commands.unprotect(folder))
        for row, undo in ((self._on, False), (self._back, True)):
            row.set_visible(bool(unfinished) and (not undo or (found is not None and found.can_go_back)))
            row.show_command(commands.go_on(unfinished or "protect", folder, undo))

    def _text(self) -> str:
        if self._timer:
            return _("Looking at the folder…")
        if not self._folder:
            return _("Choose a folder.") if not self._other.path else _("A path begins with / or ~/.")
        if self._trouble:
            return self._trouble
        if self._found is None:
            return _("Looking at the folder…")
        if self._found.unfinished == "protect":
            return _("Protecting this folder was interrupted. Nothing is lost: each file is here, or in the vault.")
        if self._found.unfinished:
            return _("Making this an ordinary folder was interrupted. Nothing is lost: each file is here, or in the "
                     "vault.")
        if self._found.is_protected:
            return _("This folder is protected. As an ordinary folder its files are readable for all who have the "
                     "disk.")
        if self._found.plan is None:
            return _("The command has said nothing of this folder.")
        parts = (plan_text(self._found.plan, self._keep.get_active()), notices_text(self._found),
                 writers_text(self._found))
        return "\n".join(part for part in parts if part)

    # What is done

    def _begin(self) -> None:
        command = commands.protect(self._folder, self._recovery.path, self._screen.get_active(),
                                   self._keep.get_active())
        self._start(command, self._folder)

    def _unprotect_now(self) -> None:
        folder = self._folder
        ask(self.get_root(), _("Make {folder} an ordinary folder?").format(
            folder=apart(PathName(os.fsencode(folder)).name)),
            _("Its files are then readable for all who have the disk, and its vault with the keys is removed."),
            _("Make it ordinary"), lambda: self._start(commands.unprotect(folder), folder))

    def _go(self, undo: bool) -> None:
        if self._found and self._found.unfinished:
            self._start(commands.go_on(self._found.unfinished, self._folder, undo), self._folder)


def _recovery_key_file(folder: str) -> str:
    """A new file in the home, after the folder."""
    name = os.path.basename(folder).lower().replace(" ", "-")
    base = os.path.join(GLib.get_home_dir(), f"{name if name.isprintable() and name else 'folder'}-recovery-key")
    numbered = (f"{base}-{number}.txt" for number in range(2, 100))
    return next((path for path in (f"{base}.txt", *numbered) if not os.path.lexists(path)), f"{base}.txt")
