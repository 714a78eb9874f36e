"""Ways into a vault: its slots, with add, remove and test."""

from __future__ import annotations

from gi.repository import Gtk

from ..live.program import Outcome
from ..model import commands
from ..model.fields import parsed
from ..model.slots import Slot, kind_text, removal_question
from ..model.vault import Vault
from ..model.view import VaultView
from ..text import _, apart
from .actions import Actions, reason
from .command_row import CommandRow
from .page import FileEntry, Page
from .parts import column, empty, heading, label, named
from .question import ask

KINDS = ("passcode", "key-file", "fido2", "recovery-key", "escrow-key")
_FILES = {"key-file": True, "recovery-key": True, "escrow-key": False}


class WaysPage(Page):
    """The slots of the vault."""

    def __init__(self, actions: Actions) -> None:
        super().__init__(actions, _("Ways in"))
        self._look_row = CommandRow(_("Look again"), self._look)
        self._summary = label("")
        self._slots = column(spacing=12)
        self._test = CommandRow(_("Test the recovery key"), self._test_key)
        self._kind = "passcode"
        self._name = Gtk.Entry(hexpand=True)
        self._name.connect("changed", lambda *_args: self._redraw())
        self._new_file = FileEntry(_("New file"), self._redraw, Gtk.FileChooserAction.SAVE, "latchkey.key")
        self._old_file = FileEntry(_("Public key"), self._redraw, Gtk.FileChooserAction.OPEN)
        self._add = CommandRow(_("Add a way in"), self._add_slot, suggested=True)
        for widget in (heading(_("What opens this vault")), self._look_row, self._summary, self._slots,
                       heading(_("Recovery key")),
                       label(_("Try your recovery key once a year: nothing is unlocked by that.")), self._test,
                       heading(_("A new way in")), self._kind_buttons(), self._name_row(), self._new_file,
                       self._old_file, self._add):
            self.append(widget)

    def _kind_buttons(self) -> Gtk.Widget:
        # Not check buttons: before GTK 4.10 a screen reader cannot press those.
        box = Gtk.Box(accessible_role=Gtk.AccessibleRole.RADIO_GROUP)
        named(box, _("Kind of the new way in"))
        box.add_css_class("linked")
        first: Gtk.ToggleButton | None = None
        for kind in KINDS:
            button = Gtk.ToggleButton(label=kind_text(kind), group=first, accessible_role=Gtk.AccessibleRole.RADIO)
            button.connect("toggled", self._kind_chosen, kind)
            if first is None:
                first = button
            box.append(button)
        assert first is not None
        first.set_active(True)
        return Gtk.ScrolledWindow(child=box, vscrollbar_policy=Gtk.PolicyType.NEVER)

    def _name_row(self) -> Gtk.Box:
        box = Gtk.Box(spacing=6)
        text = label(_("Name of the new way in"))
        text.set_mnemonic_widget(self._name)
        box.append(text)
        box.append(self._name)
        return box

    def _kind_chosen(self, button: Gtk.ToggleButton, kind: str) -> None:
        button.update_state([Gtk.AccessibleState.CHECKED], [int(button.get_active())])
        if button.get_active():
            self._kind = kind
            self._redraw()

    def open(self, vault: Vault, view: VaultView) -> None:
        empty(self._slots)
        self._look()

    def _redraw(self) -> None:
        if self.vault and self.view:
            self.draw(self.vault, self.view)

    def draw(self, vault: Vault, view: VaultView) -> None:
        is_possible = "slots" in view.can
        self._look_row.show_command(commands.slots(vault), is_possible)
        self._test.show_command(commands.test_recovery_key(vault), is_possible)
        is_new = _FILES.get(self._kind)
        self._new_file.set_visible(is_new is True)
        self._old_file.set_visible(is_new is False)
        file = self._file()
        self._add.show_command(commands.add_slot(vault, self._kind, file or "FILE", self._name.get_text().strip()),
                               is_possible and (is_new is None or file.startswith("/")))

    def _file(self) -> str:
        return (self._new_file if _FILES.get(self._kind) else self._old_file).path

    def _look(self) -> None:
        if self.vault is None:
            return
        vault = self.vault
        self.actions.read(commands.as_json(commands.slots(vault)), lambda outcome: self._found(vault, outcome))

    def _found(self, vault: Vault, outcome: Outcome) -> None:
        if self.vault is None or self.vault.key != vault.key:
            return
        empty(self._slots)
        if not outcome.succeeded:
            self._summary.set_text(reason(commands.slots(vault), outcome))
            return
        slots = Slot.all(parsed(outcome.output))
        self._summary.set_text(_("Each of these opens the whole vault."))
        for slot in slots:
            self._slots.append(self._slot_row(vault, slot, slots))

    def _slot_row(self, vault: Vault, slot: Slot, slots: list[Slot]) -> Gtk.Widget:
        row = CommandRow(_("Remove"), lambda: self._remove(vault, slot, slots))
        row.show_command(commands.remove_slot(vault, slot.id), len(slots) > 1)
        named(row.button, _("Remove {slot}").format(slot=slot.title))
        return column(label(slot.title, "name"), label(slot.text, "dim-label"), row, spacing=0)

    def _remove(self, vault: Vault, slot: Slot, slots: list[Slot]) -> None:
        ask(self.get_root(), _("Remove {slot} from {vault}?").format(slot=slot.title, vault=apart(vault.title)),
            removal_question(slot, slots), _("Remove"),
            lambda: self.actions.run(commands.remove_slot(vault, slot.id), lambda _outcome: self._look()))

    def _add_slot(self) -> None:
        if self.vault:
            self.actions.run(commands.add_slot(self.vault, self._kind, self._file(), self._name.get_text().strip()),
                             lambda _outcome: self._look())

    def _test_key(self) -> None:
        if self.vault:
            self.actions.run(commands.test_recovery_key(self.vault))
