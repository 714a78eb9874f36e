"""The first page: the state, and what changes it."""

from __future__ import annotations

from typing import Callable

from ..model import commands
from ..model.commands import Command
from ..model.vault import Vault
from ..model.view import VaultView
from ..text import _
from .actions import Actions
from .command_row import CommandRow
from .page import Page
from .parts import heading, named
from .picture import Picture


class StatePage(Page):
    """The picture of the vault, and its actions."""

    def __init__(self, actions: Actions) -> None:
        super().__init__(actions, _("State"))
        self._picture = Picture()
        named(self._picture, _("What can be read now, by protection class"))
        self.append(heading(_("What can be read now")))
        self.append(self._picture)
        self.append(heading(_("What you can do")))
        self._rows: list[tuple[str, CommandRow, Callable[[Vault], Command]]] = []
        run = actions.run
        self._add("open", _("Open the vault"), commands.open_vault,
                  lambda vault: run(commands.open_vault(vault)), suggested=True)
        self._add("unlock", _("Unlock"), commands.unlock, lambda vault: run(commands.unlock(vault)), suggested=True)
        self._add("unlock", _("Unlock with the recovery key"), lambda vault: commands.unlock(vault, True),
                  lambda vault: run(commands.unlock(vault, True)))
        self._add("lock", _("Lock after the grace period"), commands.lock, actions.lock)
        self._add("lock-now", _("Lock now"), lambda vault: commands.lock(vault, now=True),
                  lambda vault: actions.lock(vault, now=True), suggested=True)
        self._add("lock-deep", _("Lock class C too"), lambda vault: commands.lock(vault, deep=True),
                  lambda vault: actions.lock(vault, deep=True))
        self._add("browse", _("Show the files"), commands.browse, lambda vault: run(commands.browse(vault)))
        self._add("unmount", _("Unmount"), commands.unmount, lambda vault: run(commands.unmount(vault)))
        self._add("diagnose", _("Ask what is wrong"), commands.diagnose, lambda vault: run(commands.diagnose(vault)))

    def _add(self, name: str, title: str, command: Callable[[Vault], Command], act: Callable[[Vault], None],
             suggested: bool = False) -> None:
        row = CommandRow(title, lambda: act(self.vault) if self.vault else None, suggested=suggested)
        self._rows.append((name, row, command))
        self.append(row)

    def draw(self, vault: Vault, view: VaultView) -> None:
        self._picture.draw(view.rows)
        for name, row, command in self._rows:
            if name == "diagnose" or (name == "open" and not vault.name):
                row.set_visible(name in view.can)
            row.show_command(command(vault), name in view.can)
