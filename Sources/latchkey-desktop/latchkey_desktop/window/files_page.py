"""Open files, by program."""

from __future__ import annotations

from gi.repository import Gtk

from ..live.program import Outcome
from ..model import commands
from ..model.fields import parsed
from ..model.holders import Holders
from ..model.vault import Vault
from ..model.view import VaultView
from ..text import _
from .actions import Actions, reason
from .command_row import CommandRow
from .page import Page
from .parts import column, empty, label, named


class FilesPage(Page):
    """Which programs have files of the vault open."""

    def __init__(self, actions: Actions) -> None:
        super().__init__(actions, _("Open files"))
        self._row = CommandRow(_("Look again"), self._look)
        self._summary = label("")
        self._list = Gtk.ListBox(selection_mode=Gtk.SelectionMode.NONE)
        self._list.add_css_class("boxed-list")
        named(self._list, _("Programs that have files open"))
        self._asked = ""
        for widget in (self._row, self._summary, self._list):
            self.append(widget)

    def open(self, vault: Vault, view: VaultView) -> None:
        empty(self._list)
        self._list.set_visible(False)
        if "files" in view.can:
            self._look()
        else:
            self._summary.set_text(_("No program can have files of this vault open now."))

    def draw(self, vault: Vault, view: VaultView) -> None:
        self._row.show_command(commands.holders(vault), "files" in view.can)

    def _look(self) -> None:
        if self.vault is None or self._asked == self.vault.key:
            return
        vault = self.vault
        self._asked = vault.key
        self._summary.set_text(_("Looking at all processes…"))
        command = commands.as_json(commands.holders(vault))
        self.actions.read(command, lambda outcome: self._found(vault, outcome))

    def _found(self, vault: Vault, outcome: Outcome) -> None:
        self._asked = ""
        if self.vault is None or self.vault.key != vault.key:
            return
        holders = Holders.of(parsed(outcome.output)) if outcome.succeeded else None
        empty(self._list)
        self._list.set_visible(bool(holders and holders.shown))
        if holders is None:
            self._summary.set_text(reason(commands.holders(vault), outcome))
            return
        self._summary.set_text(holders.summary)
        for holder in holders.shown:
            content = column(label(holder.title, "name"), label(holder.text, "dim-label"), spacing=0)
            row = Gtk.ListBoxRow(child=content, activatable=False)
            named(row, f"{holder.title}: {holder.text}")
            self._list.append(row)
