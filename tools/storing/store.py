"""A store: the functions of its file in tools/stores.d, called in the namespace of the servers or on a machine."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from machines import SERVER, Failed, Machine, Outcome, run

FILES = Path(__file__).resolve().parent.parent / "stores.d"


class Store:
    def __init__(self, name: str, scratch: Path) -> None:
        self.name = name
        self.file = FILES / f"{name}.sh"
        self.scratch = scratch
        self.folder = scratch / "store"
        self.folder.mkdir(exist_ok=True)
        text = self.file.read_text()
        self.functions = set(re.findall(r"^(\w+)\(\) \{", text, re.MULTILINE))
        self.about = re.search(r"^# (.*)", text, re.MULTILINE)[1]  # type: ignore[index]

    def has(self, function: str) -> bool:
        return function in self.functions

    def _words(self, function: str, *arguments: str | Path) -> list[str]:
        script = 'set -euo pipefail; . "$1"; . "$2"; shift 2; "$@"'
        return ["bash", "-c", script, self.name, str(FILES / "lib.bash"), str(self.file), function,
                *map(str, arguments)]

    def _environment(self) -> dict[str, str]:
        return {"store": str(self.folder), "server": SERVER, "scratch": str(self.scratch)}

    def call(self, function: str, *arguments: str | Path, seconds: float = 90) -> Outcome:
        """Calls a function where the servers are."""
        outcome = run(self._words(function, *arguments), seconds, self.folder / f"{function}.log",
                      self._environment())
        if outcome.status != 0:
            raise Failed(f"{function}: {outcome.last}" if outcome.status != 124 else
                         f"{function}: no end after {seconds:g} s")
        return outcome

    def on(self, machine: Machine, function: str, *arguments: str | Path, seconds: float = 60) -> Outcome:
        """Calls a function on a machine."""
        outcome = machine.run(*self._words(function, *arguments), seconds=seconds, environment=self._environment())
        if outcome.status != 0:
            raise Failed(f"{function} on machine {machine.number}: {outcome.last}" if outcome.status != 124 else
                         f"{function} on machine {machine.number}: no end after {seconds:g} s")
        return outcome

    def attach(self, machine: Machine) -> None:
        """Mounts the store on the machine."""
        self.on(machine, "client", str(machine.number), machine.store)

    def settle(self) -> None:
        """Waits until what one machine has written can be seen on the other, if the store says when that is."""
        if self.has("settle"):
            self.call("settle")

    def server_processes(self) -> list[int]:
        if not self.has("server_processes"):
            return []
        return [int(word) for word in self.call("server_processes").output.split()]

    def version(self) -> str:
        done = subprocess.run(self._words("version"), capture_output=True, text=True, check=False,
                              env={"HOME": "/root", **os.environ, **self._environment()})
        return " ".join(done.stdout.split())
