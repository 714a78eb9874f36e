"""One vault of the list: the named ones, and mounts of vaults without a name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .fields import fields, objects, text
from .paths import PathName
from .state import Contact
from .status import Status

MOST_VAULTS = 500


@dataclass(frozen=True)
class NamedVault:
    """A table of the configuration, as `latchkey config check --json` shows it."""

    name: str
    folder: PathName
    mount_point: PathName

    @staticmethod
    def all(value: Any) -> list[NamedVault]:
        found = []
        for item in objects(fields(value).get("vaults"), MOST_VAULTS):
            folder, point = PathName.of(item, "folder"), PathName.of(item, "mount")
            if text(item.get("name")) and folder and point:
                found.append(NamedVault(text(item["name"]), folder, point))
        return found


@dataclass(frozen=True)
class Daemon:
    """What is known of the daemon behind one control socket."""

    contact: Contact
    status: Status | None = None


@dataclass(frozen=True)
class Vault:
    """A vault, with what is known of it now."""

    name: str
    folder: PathName | None
    mount_point: PathName
    contact: Contact
    status: Status | None
    is_in_table: bool
    listed: str = ""

    @property
    def key(self) -> str:
        """Tells vaults apart, also after a change of their state."""
        return self.name or self.mount_point.argument

    @property
    def title(self) -> str:
        """What a person calls it."""
        return PathName(self.name.encode(errors="surrogateescape")).shown if self.name else self.mount_point.name

    @property
    def word(self) -> str:
        """By what a command line names it."""
        return self.name or self.mount_point.argument


def vaults_of(named: list[NamedVault], table: list[tuple[PathName, PathName]], daemons: list[Daemon],
              listed: dict[str, str], young: frozenset[PathName] = frozenset()) -> list[Vault]:
    """All vaults: the named ones in their order, then the other mounts by path.

    `table` has mount points and vaults of this user's mounts, as the kernel's table shows them; `listed` what
    `latchkey list` says of the named ones. The mounts in `young` have just been made: their daemon may still come.
    """
    def silence(point: PathName) -> Contact:
        return Contact.ASKED if point in young else Contact.NONE

    points = {point for point, _ in table}
    rest = {daemon.status.mount_point: daemon for daemon in daemons if daemon.status is not None}
    found = []
    for item in named:
        point = item.mount_point
        if point not in rest and point not in points:
            point = next((daemon.mount_point for daemon in (other.status for other in rest.values())
                          if daemon and daemon.vault == item.folder), point)
            point = next((other for other, source in table if source == item.folder), point)
        daemon = rest.pop(point, None)
        found.append(Vault(item.name, item.folder, point, daemon.contact if daemon else silence(point),
                           daemon.status if daemon else None, point in points, listed.get(item.name, "")))
    taken = {vault.mount_point for vault in found}
    others = [Vault("", daemon.status.vault if daemon.status else None, point, daemon.contact, daemon.status,
                    point in points) for point, daemon in rest.items()]
    others += [Vault("", source, point, silence(point), None, True) for point, source in table
               if point not in rest and point not in taken]
    return found + sorted(others, key=lambda vault: vault.mount_point.raw)
