"""What a step needs: two machines, a vault, and words for what happened."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from machines import Machine
from store import Store
from vaults import Program, Vault

PASS, FAIL, REFUSED, NONE = "pass", "fail", "refused", "none"
# The step has not come to its question.
ERROR = "error"
NO_SERVER = "the store has no server"


@dataclass
class Result:
    result: str
    what: str
    figures: dict[str, Any] = field(default_factory=dict)


class Scene:
    """The machines of one step."""

    def __init__(self, program: Program, store: Store, tools: Path) -> None:
        self.program = program
        self.store = store
        self.tools = tools
        self.scratch = store.scratch
        self.machines: list[Machine] = []
        self.count = 0
        self.notes: list[str] = []

    def machine(self, number: int) -> Machine:
        machine = Machine(number, self.scratch)
        self.machines.append(machine)
        machine.boot()
        self.store.attach(machine)
        return machine

    def vault(self, machine: Machine, name: str, *options: str) -> Vault:
        vault = Vault(self.program, self.store, machine, name)
        vault.init(*options)
        return vault

    def seen_from(self, vault: Vault, machine: Machine) -> Vault:
        other = Vault(self.program, self.store, machine, vault.name)
        vault.share_keys(other)
        self.store.settle()
        return other

    def acks(self) -> Path:
        self.count += 1
        return self.scratch / f"acks-{time.monotonic_ns()}"

    def end(self) -> None:
        for machine in self.machines:
            machine.leave()
        for machine in self.machines:
            machine.end()
        self.machines = []


def number(count: int, what: str) -> str:
    return f"{count} {what}" + ("" if count == 1 else "s")


def counted(errors: dict[str, int]) -> str:
    return ", ".join(f"{error} {count} times" for error, count in errors.items()) or "no call fails"


def survived(found: dict[str, Any]) -> str:
    """What of the acknowledged writes is lost, or nothing."""
    return "" if not found["lost"] else \
        f"{found['lost']} of {found['acknowledged']} acknowledged writes are lost: {', '.join(found['first'])}"


def judged(problems: list[str], good: str, **figures: Any) -> Result:
    wrong = [problem for problem in problems if problem]
    return Result(FAIL if wrong else PASS, "; ".join(wrong) if wrong else good, figures)
