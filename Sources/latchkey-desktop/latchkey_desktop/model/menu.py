"""The menu of the tray, as a list of lines."""

from __future__ import annotations

from dataclasses import dataclass

from ..text import _
from .state import VaultState
from .view import VaultView

# A tray with hundreds of vaults is no menu any more; the window has them all.
MOST_VAULTS = 30
_EXPLAINED = (VaultState.HELD, VaultState.CANNOT_LOCK)


@dataclass(frozen=True)
class MenuLine:
    """One line. `action` and `key` say what a click does, and for which vault; a line without a label separates."""

    label: str = ""
    action: str = ""
    key: str = ""
    icon: str = ""
    lines: tuple[MenuLine, ...] = ()


def menu_of(views: list[VaultView]) -> tuple[MenuLine, ...]:
    """The lines for the vaults as they are now."""
    lines = [MenuLine(view.spoken, icon=view.icon, key=view.key, lines=_vault_lines(view))
             for view in views[:MOST_VAULTS]]
    if not views:
        lines.append(MenuLine(_("There is no vault yet")))
    return (*lines, MenuLine(), MenuLine(_("Lock all now"), "lock-all"), MenuLine(_("Show the window"), "window"),
            MenuLine(), MenuLine(_("Quit"), "quit"))


def _vault_lines(view: VaultView) -> tuple[MenuLine, ...]:
    titles = (("lock-now", _("Lock now")), ("unlock", _("Unlock")), ("open", _("Open the vault")),
              ("browse", _("Show the files")), ("unmount", _("Unmount")))
    lines = [MenuLine(line) for line in view.detail.splitlines()[:5]] if view.state in _EXPLAINED else []
    lines += [MenuLine(title, action, view.key) for action, title in titles if action in view.can]
    return (*lines, MenuLine(_("Show in the window"), "window", view.key))


def overall(views: list[VaultView]) -> tuple[str, str, str]:
    """Icon, title and text of the tray for all vaults: the state that most needs to be seen."""
    order = ("latchkey-attention-symbolic", "latchkey-locking-symbolic", "latchkey-unlocked-symbolic",
             "latchkey-locked-symbolic")
    icon = next((name for name in order if any(view.icon == name for view in views)), order[-1])
    chosen = [view.spoken for view in views if view.icon == icon]
    title = chosen[0] if len(chosen) == 1 else _("Latchkey")
    return icon, title, "\n".join(view.spoken for view in views[:MOST_VAULTS])
