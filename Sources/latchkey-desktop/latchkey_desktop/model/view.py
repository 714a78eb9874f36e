"""What the window and the tray say about a vault at a moment."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..text import _, apart, counted
from .classes import CLASSES, ProtectionClass, Reach, meaning, reach_text
from .state import MOUNTED, OPEN, VaultState, grace_end, state_of
from .status import Hold, Status
from .vault import Vault

MOST_NAMED_HOLDS, MOST_TOLD_HOLDS = 3, 5
# A program chooses its name and its reason; no layout is made for texts without end.
LONGEST_NAME, LONGEST_REASON = 60, 200


@dataclass(frozen=True)
class ClassRow:
    """A class in the picture of a vault."""

    item: ProtectionClass
    reach: Reach
    open_files: int

    @property
    def spoken(self) -> str:
        """The row as one sentence, for a screen reader."""
        return _("Class {letter}, {name}: {reach}. {files}.").format(
            letter=self.item.letter, name=self.item.name, reach=reach_text(self.reach), files=self.files)

    @property
    def files(self) -> str:
        """How many files of the class are open."""
        return counted("{number} open file", "{number} open files", self.open_files)

    @property
    def meaning(self) -> str:
        """When files of the class can be read."""
        return meaning(self.item)


@dataclass(frozen=True)
class VaultView:
    """A vault in words, for one moment."""

    key: str
    title: str
    state: VaultState
    headline: str
    detail: str
    icon: str
    rows: tuple[ClassRow, ...]
    warns: bool
    can: frozenset[str]

    @property
    def spoken(self) -> str:
        """The vault in one line."""
        return _("{title}: {state}").format(title=apart(self.title), state=self.headline)


def seconds_left(deadline: float | None, now: float) -> int:
    """Whole seconds until a deadline, never less than 0 nor more than a day."""
    return 0 if deadline is None else min(86400, max(0, math.ceil(deadline - now)))


def view_of(vault: Vault, now: float) -> VaultView:
    """What is shown of a vault at a time, in seconds since 1970."""
    state = state_of(vault.contact, vault.status, vault.is_in_table, vault.listed, now)
    freshness = vault.status.freshness if vault.status else None
    refused = vault.status.refusals if vault.status else 0
    return VaultView(
        key=vault.key,
        title=vault.title,
        state=state,
        headline=_headline(vault, state, now),
        detail=_detail(vault, state, now),
        icon=icon_of(state),
        rows=_rows(vault, state),
        warns=state in _TROUBLED or refused > 0 or (freshness is not None and freshness.warns),
        can=_allowed(vault, state),
    )


_TROUBLED = frozenset({VaultState.HELD, VaultState.CANNOT_LOCK, VaultState.SILENT, VaultState.DEAD,
                       VaultState.TAKEN_OVER, VaultState.DAMAGED, VaultState.FOLDER_MISSING,
                       VaultState.KEYBAG_MISSING})


STATE_ICONS = ("latchkey-unlocked-symbolic", "latchkey-locking-symbolic", "latchkey-attention-symbolic",
               "latchkey-locked-symbolic")


def icon_of(state: VaultState) -> str:
    """The name of the icon for a state."""
    if state is VaultState.UNLOCKED:
        return "latchkey-unlocked-symbolic"
    if state in (VaultState.LOCKING, VaultState.EVICTING):
        return "latchkey-locking-symbolic"
    if state in _TROUBLED or state is VaultState.UNKNOWN:
        return "latchkey-attention-symbolic"
    return "latchkey-locked-symbolic"


def _headline(vault: Vault, state: VaultState, now: float) -> str:
    status = vault.status
    if state is VaultState.LOCKING:
        left = seconds_left(grace_end(status) if status else None, now)
        return counted("Locks in {number} second", "Locks in {number} seconds", left)
    if state is VaultState.HELD and status:
        names = ", ".join(apart(hold.command or str(hold.pid), LONGEST_NAME)
                          for hold in status.holds[:MOST_NAMED_HOLDS])
        return _("Locking, held by {programs}").format(programs=names)
    return {
        VaultState.NOT_MOUNTED: _("Not mounted"),
        VaultState.BEFORE_FIRST_UNLOCK: _("Locked, class C too"),
        VaultState.UNLOCKED: _("Unlocked"),
        VaultState.EVICTING: _("Taking the keys out of memory"),
        VaultState.CANNOT_LOCK: _("Cannot lock yet"),
        VaultState.LOCKED: _("Locked"),
        VaultState.ENDING: _("Unmounted, but programs still use it"),
        VaultState.SILENT: _("Does not answer"),
        VaultState.DEAD: _("Its process has ended"),
        VaultState.TAKEN_OVER: _("Another machine has taken it over"),
        VaultState.FOLDER_MISSING: _("Its folder is missing"),
        VaultState.NO_ACCESS: _("You have no access to its folder"),
        VaultState.KEYBAG_MISSING: _("Its keybag is missing"),
        VaultState.ERASED: _("Erased"),
        VaultState.NOT_A_VAULT: _("Not a vault"),
        VaultState.DAMAGED: _("Its keybag is damaged"),
        VaultState.UNKNOWN: _("Asking for its state"),
    }[state]


def _detail(vault: Vault, state: VaultState, now: float) -> str:
    status = vault.status
    lines = [_sentence(status, state)]
    if state is VaultState.HELD and status and status.deadline is not None:
        lines = [counted("The keys go in {number} second at the latest. To lock now does not wait.",
                         "The keys go in {number} seconds at the latest. To lock now does not wait.",
                         seconds_left(status.deadline, now))]
    if status and state in (VaultState.UNLOCKED, VaultState.LOCKING, VaultState.HELD):
        lines += [_hold_text(hold) for hold in status.holds[:MOST_TOLD_HOLDS]]
        more = len(status.holds) - MOST_TOLD_HOLDS
        if more > 0:
            lines.append(counted("{number} more program", "{number} more programs", more))
    return "\n".join(line for line in lines if line)


def _sentence(status: Status | None, state: VaultState) -> str:
    if state in (VaultState.EVICTING, VaultState.CANNOT_LOCK) and status:
        return _phase_text(status.phase, status.inodes_to_invalidate)
    if state is VaultState.SILENT:
        return _("The daemon of this vault has not answered for two seconds. It may be stopped, or its disk may hang. "
                 "What is shown here is the last that it said.")
    return {
        VaultState.DEAD: _("The keys are gone with it, and no file can be used. Unmount the vault and open it again."),
        VaultState.TAKEN_OVER: _("Every call in the mount fails. Unmount the vault and open it again."),
        VaultState.ENDING: _("The vault is locked; it ends with the last program that has files of it open."),
        VaultState.ERASED: _("Its keys are destroyed. Nothing opens it any more."),
        VaultState.LOCKING: _("Until then, programs can finish and save. An unlock cancels the lock."),
    }.get(state, "")


def _hold_text(hold: Hold) -> str:
    name = apart(hold.command, LONGEST_NAME) if hold.command else _("A program")
    # The daemon cannot see every process.
    if hold.pid:
        name = _("{program} (process {pid})").format(program=name, pid=hold.pid)
    line = _("{program} holds a lock back").format(program=name)
    if hold.seconds is not None:
        line = _("{sentence}, for {time} at most").format(
            sentence=line, time=counted("{number} second", "{number} seconds", max(0, math.ceil(hold.seconds))))
    if hold.because:
        line = _("{sentence}: {reason}").format(sentence=line, reason=apart(hold.because, LONGEST_REASON))
    return line


def _phase_text(phase: str, inodes: int) -> str:
    if phase == "flushing":
        return _("The kernel writes back what programs have changed through mappings.")
    if phase == "invalidating":
        return counted("The kernel drops cached contents: {number} file is left.",
                       "The kernel drops cached contents: {number} files are left.", inodes)
    return _("The daemon waits for calls that still use a key. The open files say which programs make them.")


def _rows(vault: Vault, state: VaultState) -> tuple[ClassRow, ...]:
    status = vault.status
    is_known = status is not None and state in MOUNTED - {VaultState.DEAD, VaultState.SILENT}
    rows = []
    for item in CLASSES:
        if not is_known or status is None:
            reach = Reach.UNKNOWN if state in (VaultState.SILENT, VaultState.UNKNOWN) else Reach.CLOSED
        elif item.name in status.class_keys and not status.is_taken_over:
            reach = Reach.READABLE
        elif item.letter == "B" and not status.is_read_only and not status.is_taken_over:
            reach = Reach.CREATE
        else:
            reach = Reach.CLOSED
        files = status.open_files.get(item.name, 0) if status and state is not VaultState.DEAD else 0
        rows.append(ClassRow(item, reach, files))
    return tuple(rows)


def _allowed(vault: Vault, state: VaultState) -> frozenset[str]:
    can = set()
    if state is VaultState.UNLOCKED:
        can |= {"lock", "lock-now", "lock-deep"}
    if state in (VaultState.LOCKING, VaultState.HELD):
        can |= {"lock-now", "unlock"}
    if state in (VaultState.LOCKED, VaultState.BEFORE_FIRST_UNLOCK, VaultState.EVICTING, VaultState.CANNOT_LOCK):
        can.add("unlock")
    if state is VaultState.LOCKED:
        can.add("lock-deep")
    if state is VaultState.NOT_MOUNTED and vault.name:
        can.add("open")
    if state in MOUNTED - {VaultState.ENDING, VaultState.SILENT}:
        can.add("unmount")
    if state in OPEN | {VaultState.LOCKED, VaultState.BEFORE_FIRST_UNLOCK}:
        can |= {"files", "browse"}
    if state in _TROUBLED:
        can.add("diagnose")
    if state in MOUNTED - {VaultState.DEAD, VaultState.TAKEN_OVER, VaultState.SILENT} | {VaultState.NOT_MOUNTED}:
        can |= {"slots", "backup"}
    return frozenset(can)
