"""What locks the vaults by itself, and when it was last heard."""

from __future__ import annotations

from gi.repository import Gtk

from ..live.program import Outcome
from ..model import commands
from ..model.fields import parsed
from ..model.sources import Source, source_text
from ..model.vault import Vault
from ..model.view import VaultView
from ..text import _
from .actions import Actions, reason
from .command_row import CommandRow
from .page import Page
from .parts import column, empty, label, named


class SourcesPage(Page):
    """The lock sources of the agent, which are the same for all vaults of the user."""

    def __init__(self, actions: Actions) -> None:
        super().__init__(actions, _("Lock sources"))
        self._row = CommandRow(_("Look again"), self._look)
        self._summary = label("")
        self._start = CommandRow(_("Start the agent"), lambda: self.actions.run(
            commands.start_agent(), lambda _outcome: self._look()), suggested=True)
        self._start.show_command(commands.start_agent())
        self._list = Gtk.ListBox(selection_mode=Gtk.SelectionMode.NONE)
        self._list.add_css_class("boxed-list")
        named(self._list, _("Lock sources"))
        for widget in (self._row, self._summary, self._start, self._list):
            self.append(widget)
        self._row.show_command(commands.sources())

    def open(self, vault: Vault, view: VaultView) -> None:
        self._look()

    def _look(self) -> None:
        self.actions.read(commands.as_json(commands.sources()), self._found)

    def _found(self, outcome: Outcome) -> None:
        sources = Source.all(parsed(outcome.output)) if outcome.succeeded else None
        empty(self._list)
        self._list.set_visible(bool(sources))
        self._start.set_visible(sources is None)
        if not outcome.succeeded:
            self._summary.set_text(reason(commands.sources(), outcome))
        elif sources is None:
            self._summary.set_text(_("No agent runs, so no screen lock and no sleep locks a vault."))
        else:
            self._summary.set_text(_("The agent locks the vaults when one of these happens."))
        for source in sources or []:
            title = source_text(source.name)
            row = Gtk.ListBoxRow(child=column(label(title, "name"), label(source.text, "dim-label"), spacing=0),
                                 activatable=False)
            named(row, f"{title}: {source.text}")
            self._list.append(row)
