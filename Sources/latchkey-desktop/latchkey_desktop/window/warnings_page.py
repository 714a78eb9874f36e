"""Warnings: older files and conflicts, damage, wrong passcodes."""

from __future__ import annotations

from gi.repository import Gtk

from ..live.program import Outcome
from ..model import commands
from ..model.fields import parsed
from ..model.paths import PathName
from ..model.state import VaultState
from ..model.vault import Vault
from ..model.view import VaultView
from ..model.warnings import OlderFile, older_path, sentences
from ..text import _, apart
from .actions import Actions
from .command_row import CommandRow
from .page import Page
from .parts import column, empty, heading, label
from .question import ask


class WarningsPage(Page):
    """What a person should look at."""

    def __init__(self, actions: Actions) -> None:
        super().__init__(actions, _("Warnings"))
        self._sentences = column()
        self._files_title = heading(_("Files that are older, or in conflict"))
        self._files = column(spacing=12)
        self._accept_all = CommandRow(_("Accept everything"), self._ask_all)
        self._check = CommandRow(_("Check the vault"), lambda: self.vault and actions.run(commands.check(self.vault)))
        for widget in (self._sentences, self._files_title, self._files, self._accept_all,
                       heading(_("Conflict copies and damage")),
                       label(_("While the vault is not mounted, a check lists the copies that a synchronisation "
                               "program has left in its folder, and everything that is damaged.")), self._check):
            self.append(widget)
        self._drawn: object = None
        self._generation = 0

    def open(self, vault: Vault, view: VaultView) -> None:
        self._drawn = None

    def draw(self, vault: Vault, view: VaultView) -> None:
        status = vault.status
        self._check.show_command(commands.check(vault), view.state is VaultState.NOT_MOUNTED)
        freshness = status.freshness if status else None
        has_older = bool(freshness and freshness.warns)
        self._accept_all.set_visible(has_older)
        self._accept_all.show_command(commands.accept_all(vault), "browse" in view.can)
        lines = sentences(status) if status else []
        new = (vault.key, tuple(lines), freshness.files if freshness else ())
        if new == self._drawn:
            return
        self._drawn = new
        empty(self._sentences)
        for line in lines or [_("There is no warning.")]:
            self._sentences.append(label(line, *(["warning"] if lines else [])))
        self._show_files(vault)

    def _show_files(self, vault: Vault) -> None:
        self._generation += 1
        empty(self._files)
        freshness = vault.status.freshness if vault.status else None
        listed = freshness.files if freshness else ()
        self._files_title.set_visible(bool(listed))
        waiting: list[tuple[PathName, Gtk.Label]] = []
        for name in listed:
            path = older_path(vault.status, name) if vault.status else None
            if path is None:
                continue
            verdict = label("", "dim-label")
            row = CommandRow(_("Accept"), lambda path=path: self.actions.run(commands.accept(path)))
            row.show_command(commands.accept(path))
            self._files.append(column(label(apart(name), "name"), verdict, row, spacing=0))
            waiting.append((path, verdict))
        self._explain(waiting, self._generation)

    def _explain(self, waiting: list[tuple[PathName, Gtk.Label]], generation: int) -> None:
        """Asks for the verdict of one file after another."""
        if not waiting or generation != self._generation:
            return
        path, verdict = waiting[0]

        def explained(outcome: Outcome) -> None:
            found = OlderFile.of(parsed(outcome.output)) if outcome.succeeded else None
            if generation == self._generation and found:
                verdict.set_text(found.text)
            self._explain(waiting[1:], generation)

        self.actions.read(commands.as_json(commands.explain(path)), explained)

    def _ask_all(self) -> None:
        if self.vault is None:
            return
        vault = self.vault
        ask(self.get_root(), _("Accept all of {vault} as it is now?").format(vault=apart(vault.title)),
            _("Do this only if you have restored the vault yourself. This machine then forgets how new its files "
              "were."), _("Accept"), lambda: self.actions.run(commands.accept_all(vault)))
