"""Where the daemons of this user have their sockets."""

from __future__ import annotations

import os
import re
import stat

MOST_SOCKETS = 500
_NAME = re.compile(r"[0-9a-f]{32}(-[0-9a-f]+)?\.socket")


def folders(user: int, base: str = "/tmp", of_root: str = "/run/latchkey", runtime: str = "/run/user") -> list[str]:
    """The socket folders of a user that can be trusted: they belong to the user, and no other one may enter."""
    if user == 0:
        candidates = [of_root]
    else:
        own = re.compile(rf"latchkey-{user}(\.[0-9]+)?")
        try:
            with os.scandir(base) as entries:
                candidates = sorted(entry.path for entry in entries if own.fullmatch(entry.name))
        except OSError:
            return []
        # Earlier versions of the daemon, which may still run.
        candidates.append(os.path.join(runtime, str(user), "latchkey"))
    return [path for path in candidates if is_private(path, user)]


def is_private(folder: str, user: int) -> bool:
    """Whether a folder belongs to a user alone; a link to one does not count."""
    try:
        found = os.lstat(folder)
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == user and not found.st_mode & 0o077


def sockets(user: int, base: str = "/tmp", of_root: str = "/run/latchkey") -> list[str]:
    """The paths of the control sockets of a user's daemons."""
    found = []
    for folder in folders(user, base, of_root):
        try:
            with os.scandir(folder) as entries:
                found += [entry.path for entry in entries if _NAME.fullmatch(entry.name) and _is_socket(entry, user)]
        except OSError:
            continue
    return sorted(found)[:MOST_SOCKETS]


def _is_socket(entry: os.DirEntry[str], user: int) -> bool:
    try:
        found = entry.stat(follow_symlinks=False)
    except OSError:
        return False
    return stat.S_ISSOCK(found.st_mode) and found.st_uid == user
