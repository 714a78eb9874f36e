"""What is said of a migration, to people."""

from __future__ import annotations

from ..text import _, apart, counted
from .migration import MOST_NOTICES, Migration, Notice, Plan, Progress
from .spans import files, size, span


def plan_text(plan: Plan, keeps: bool) -> str:
    """What it takes, before it begins. `keeps`: the originals stay, and the plan is one for that."""
    text = _("{files}, {size}. It takes about {time}.").format(
        files=files(plan.files), size=size(plan.bytes), time=span(plan.seconds))
    if plan.needed > plan.free:
        text += " " + _("There is not enough space: it needs {needed}, and {free} are free.").format(
            needed=size(plan.needed), free=size(plan.free))
    else:
        text += " " + _("It needs {needed} of the {free} that are free.").format(
            needed=size(plan.needed), free=size(plan.free))
    if keeps:
        text += " " + _("The originals stay beside it, readable for all who have the disk.")
    elif plan.overwrites:
        text += " " + _("The originals are overwritten, and removed.")
    else:
        text += " " + _("The originals are removed. They are not overwritten, which would be of no use on this disk.")
    return text


def writers_text(migration: Migration) -> str:
    """Who has to close files first; empty if that is no program."""
    names = list(dict.fromkeys(migration.writers))
    return _("Programs have files of it open for writing, and have to close them first: {names}").format(
        names=", ".join(apart(name) for name in names)) if names else ""


def error_text(found: Migration) -> str:
    """Why it was not done; empty if it did not say so itself."""
    if found.error is None:
        return ""
    parts = [apart(found.error.message)]
    return "\n".join(parts + [_("try: {command}").format(command=item) for item in found.error.advice])


def outcome_text(found: Migration) -> str:
    """What a person needs to know of a run that has done what it should."""
    parts = []
    if found.end:
        parts.append(_("The files were moved in {time}, and each was read back from the disk.").format(
            time=span(found.end.seconds)))
    if found.recovery_key and found.recovery_key_opens:
        parts.append(_("The recovery key is in {file}. Print it, keep the paper, and remove the file.").format(
            file=apart(found.recovery_key.shown)))
    elif found.recovery_key:
        parts.append(_("The recovery key in {file} opens nothing any more: remove the file.").format(
            file=apart(found.recovery_key.shown)))
    if found.kept:
        parts.append(_("The originals are in {folder}, readable for all who have the disk.").format(
            folder=apart(found.kept.shown)))
    if found.sharing_vault:
        parts.append(_("The device key stays, because the vault {folder} needs it.").format(
            folder=apart(found.sharing_vault.shown)))
    if found.is_enabled is False:
        parts.append(_("After the next login, open the vault yourself: no service of this session mounts it."))
    if found.closed_vault:
        parts.append(_("Its vault is not open: choose {vault} in the window of Latchkey, and open it.").format(
            vault=apart(found.closed_vault)))
    return "\n".join(parts)


def progress_text(progress: Progress) -> str:
    """How far it is."""
    text = _("{done} of {files}, {size}").format(
        done=progress.entries, files=files(progress.all_entries), size=size(progress.bytes))
    if progress.seconds_left is None:
        return text
    return _("{progress}; {time} left").format(progress=text, time=span(progress.seconds_left))


def notices_text(migration: Migration) -> str:
    """What there is to know of single files, a line each."""
    found = [_notice_text(notice) for notice in migration.notices]
    more = migration.noticed - len(found)
    if more > 0 and len(found) >= MOST_NOTICES:
        found.append(counted("and {number} more", "and {number} more", more))
    return "\n".join(found)


def _notice_text(notice: Notice) -> str:
    path = apart(notice.path.shown)
    texts = {
        "busy": _("{path}: a program has it open for writing, or has just changed it. It stays where it is."),
        "unreadable": _("{path}: it cannot be read. It stays where it is."),
        "unmovable": _("{path}: it cannot be moved. It stays where it is."),
        "stranger": _("{path}: the vault has something here whose name cannot be read."),
        "put-back": _("{path}: it was changed after it was copied. It is back in its place."),
        "linked-outside": _("{path}: it has other names outside of the folder, and stays readable there."),
        "set-aside": _("{path}: there are two versions. The one that was moved earlier is now {other}."),
    }
    return texts[notice.kind].format(path=path, other=apart(notice.other.shown) if notice.other else "")
