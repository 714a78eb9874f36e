"""The state of a vault, decided from what its daemon, the table of mounts and the configuration say."""

from __future__ import annotations

from enum import Enum

from .status import Status

# An eviction that lasts longer than this is told as one that does not come to its end.
SLOW_EVICTION = 5.0


class VaultState(Enum):
    """What a vault is, for the list, the picture and the tray."""

    NOT_MOUNTED = "not-mounted"
    BEFORE_FIRST_UNLOCK = "before-first-unlock"
    UNLOCKED = "unlocked"
    LOCKING = "locking"
    EVICTING = "evicting"
    HELD = "held"
    CANNOT_LOCK = "cannot-lock"
    LOCKED = "locked"
    ENDING = "ending"
    SILENT = "silent"
    DEAD = "dead"
    TAKEN_OVER = "taken-over"
    FOLDER_MISSING = "folder-missing"
    NO_ACCESS = "no-access"
    KEYBAG_MISSING = "keybag-missing"
    ERASED = "erased"
    NOT_A_VAULT = "not-a-vault"
    DAMAGED = "damaged"
    UNKNOWN = "unknown"


class Contact(Enum):
    """How a daemon can be reached."""

    NONE = "none"
    ASKED = "asked"
    ANSWERS = "answers"
    SILENT = "silent"


UNREADABLE = {
    item.value: item
    for item in (VaultState.FOLDER_MISSING, VaultState.NO_ACCESS, VaultState.KEYBAG_MISSING, VaultState.ERASED,
                 VaultState.NOT_A_VAULT, VaultState.DAMAGED)
}
OPEN = frozenset({VaultState.UNLOCKED, VaultState.LOCKING, VaultState.EVICTING, VaultState.HELD,
                  VaultState.CANNOT_LOCK})
MOUNTED = OPEN | {VaultState.BEFORE_FIRST_UNLOCK, VaultState.LOCKED, VaultState.TAKEN_OVER, VaultState.SILENT,
                  VaultState.DEAD, VaultState.ENDING}


def state_of(contact: Contact, status: Status | None, is_in_table: bool, listed: str, now: float) -> VaultState:
    """The state of a vault at a time, in seconds since 1970. `listed` is what `latchkey list` says, or empty."""
    if contact is Contact.NONE:
        if is_in_table:
            return VaultState.DEAD
        return UNREADABLE.get(listed, VaultState.NOT_MOUNTED)
    if contact is Contact.SILENT:
        return VaultState.SILENT
    if status is None:
        return VaultState.UNKNOWN
    if status.is_taken_over:
        return VaultState.TAKEN_OVER
    if status.state == "locking":
        return _locking(status, now)
    if status.is_ending:
        return VaultState.ENDING
    return {
        "unlocked": VaultState.UNLOCKED,
        "locked": VaultState.LOCKED,
        "before-first-unlock": VaultState.BEFORE_FIRST_UNLOCK,
    }.get(status.state, VaultState.UNKNOWN)


def grace_end(status: Status) -> float | None:
    """When the grace period of a lock ends: without holds, the deadline. Holds move the deadline to their own end."""
    if status.deadline is None:
        return None
    return status.deadline - max((hold.seconds or 0 for hold in status.holds), default=0)


def _locking(status: Status, now: float) -> VaultState:
    late = status.deadline is not None and now >= status.deadline
    end = grace_end(status)
    if status.holds and not status.phase and not late and (end is None or now >= end):
        return VaultState.HELD
    if status.phase or late:
        if status.deadline is not None and now - status.deadline > SLOW_EVICTION:
            return VaultState.CANNOT_LOCK
        return VaultState.EVICTING
    return VaultState.LOCKING
