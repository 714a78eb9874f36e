"""Programs that have files of a mount open, as `latchkey status --holders --json` lists them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..text import _, apart, counted
from .classes import CLASSES
from .fields import count, fields, objects, text

MOST_SHOWN = 200


@dataclass(frozen=True)
class Holder:
    """One process."""

    pid: int
    name: str
    open_files: int
    mapped_files: int
    folders: int
    letters: str

    @staticmethod
    def of(message: dict[str, Any]) -> Holder:
        opened, mapped = fields(message.get("openFiles")), fields(message.get("mappedFiles"))
        letters = "".join(item.letter for item in CLASSES
                          if count(opened.get(item.name)) + count(mapped.get(item.name)))
        return Holder(
            pid=count(message.get("pid")),
            name=text(message.get("name")),
            open_files=sum(count(opened.get(item.name)) for item in CLASSES),
            mapped_files=sum(count(mapped.get(item.name)) for item in CLASSES),
            folders=count(message.get("folders")),
            letters=letters,
        )

    @property
    def title(self) -> str:
        """The program, for people."""
        return _("{program} (process {pid})").format(program=apart(self.name), pid=self.pid)

    @property
    def text(self) -> str:
        """What it has open."""
        parts = []
        if self.open_files:
            parts.append(counted("{number} open file", "{number} open files", self.open_files))
        if self.mapped_files:
            parts.append(counted("{number} mapped file", "{number} mapped files", self.mapped_files))
        if self.folders:
            parts.append(counted("{number} folder", "{number} folders", self.folders))
        if self.letters:
            parts.append(_("of class {letters}").format(letters=" ".join(self.letters)))
        return ", ".join(parts)


@dataclass(frozen=True)
class Holders:
    """The programs with the most files first, cut to what a person reads, with the number of those left out."""

    shown: tuple[Holder, ...]
    left_out: int
    unseen: int

    @staticmethod
    def of(value: Any) -> Holders | None:
        """What the command says; None if that is not what it should be."""
        message = fields(value)
        if not isinstance(message.get("holders"), list):
            return None
        every = [Holder.of(item) for item in objects(message["holders"], 1 << 20)]
        every.sort(key=lambda holder: (-holder.open_files - holder.mapped_files, holder.pid))
        return Holders(tuple(every[:MOST_SHOWN]), max(0, len(every) - MOST_SHOWN),
                       count(message.get("unseenProcesses")))

    @property
    def summary(self) -> str:
        """How many programs there are, and how many were not seen."""
        total = len(self.shown) + self.left_out
        lines = [counted("{number} program uses this vault.", "{number} programs use this vault.", total)
                 if total else _("No program that you may see uses this vault.")]
        if self.left_out:
            lines.append(counted("{number} of them with fewer files is not shown.",
                                 "{number} of them with fewer files are not shown.", self.left_out))
        if self.unseen:
            lines.append(counted("{number} process could not be looked at.",
                                 "{number} processes could not be looked at.", self.unseen))
        return " ".join(lines)
