"""The backup of the keybag."""

from __future__ import annotations

from gi.repository import Gtk

from ..model import commands
from ..model.vault import Vault
from ..model.view import VaultView
from ..text import _
from .actions import Actions
from .command_row import CommandRow
from .page import FileEntry, Page
from .parts import heading, label


class BackupPage(Page):
    """All keys in a file, under a passphrase, for another machine."""

    def __init__(self, actions: Actions) -> None:
        super().__init__(actions, _("Backup of the keys"))
        self._file = FileEntry(_("New file"), self._redraw, Gtk.FileChooserAction.SAVE, "vault.keybag")
        self._row = CommandRow(_("Back up the keys"), self._back_up, suggested=True)
        for widget in (
            heading(_("A copy of all keys")),
            label(_("The file and its passphrase together open the vault on any machine, also if this one is lost. "
                    "You are asked for what opens the vault now, and for a new passphrase. Keep the file away from "
                    "this machine, such as on a USB stick. It has no copy of your files: back those up as well.")),
            self._file, self._row,
        ):
            self.append(widget)

    def _redraw(self) -> None:
        if self.vault and self.view:
            self.draw(self.vault, self.view)

    def draw(self, vault: Vault, view: VaultView) -> None:
        path = self._file.path
        self._row.show_command(commands.back_up(vault, path or "FILE"),
                               "backup" in view.can and path.startswith("/"))

    def _back_up(self) -> None:
        if self.vault:
            self.actions.run(commands.back_up(self.vault, self._file.path))
