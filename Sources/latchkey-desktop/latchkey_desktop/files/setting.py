"""Sets the class of many files, by the command, a part after another."""

from __future__ import annotations

import os
from typing import Callable

from ..live.program import Outcome, Program
from ..model.classes import ProtectionClass
from ..model.commands import Command

# The arguments of one command have a bounded length.
PART = 200
LIMIT = 600.0


def commands(item: ProtectionClass, paths: list[bytes]) -> list[Command]:
    """The command lines that give these files a class."""
    words = [os.fsdecode(path) for path in paths]
    return [Command(("latchkey", "class", "set", item.name, *words[start:start + PART]))
            for start in range(0, len(words), PART)]


def set_class(item: ProtectionClass, paths: list[bytes], then: Callable[[bytes], None]) -> None:
    """Runs them. `then` gets what went wrong, or an empty text."""
    waiting = commands(item, paths)
    messages: list[bytes] = []

    def next_part() -> None:
        if waiting:
            Program(waiting.pop(0), ended, LIMIT)
        else:
            then(b"\n".join(messages))

    def ended(outcome: Outcome) -> None:
        if not outcome.succeeded:
            messages.append(outcome.errors)
        next_part()

    next_part()
