"""Does what the buttons say: by the control socket where it offers that, else by the command."""

from __future__ import annotations

from typing import Any, Callable

from ..live.program import Outcome, Program
from ..live.vaults import Vaults
from ..model import commands
from ..model.commands import Command
from ..model.vault import Vault
from ..text import _, apart, lines
from ..varlink.request import Request
from .outcome import OutcomeBar

Then = Callable[[Outcome], None]


class Actions:
    """Runs one thing at a time in the foreground, and says in the bar what came of it."""

    def __init__(self, vaults: Vaults, bar: OutcomeBar) -> None:
        self._vaults = vaults
        self._bar = bar
        self._running: Program | None = None

    def lock(self, vault: Vault, now: bool = False, deep: bool = False) -> None:
        """Locks by the control socket."""
        socket = self._vaults.socket_of(vault)
        if socket is None:
            return self.run(commands.lock(vault, now, deep))
        parameters: dict[str, Any] = {name: True for name, wanted in (("now", now), ("deep", deep)) if wanted}
        command = commands.lock(vault, now, deep)

        def answered(answer: dict[str, Any] | None, error: str, details: dict[str, Any]) -> None:
            if answer is not None:
                self._bar.done(_("{vault} was told to lock.").format(vault=apart(vault.title)))
            else:
                self._bar.failed(failure(vault, command, error, details))

        Request(socket, "Lock", parameters, answered)

    def lock_all(self) -> None:
        """Locks every mount now, each by its own socket, so that one that hangs delays no other."""
        mounted = [vault for vault in self._vaults.vaults if self._vaults.socket_of(vault)]
        if not mounted:
            return self._bar.done(_("No vault is mounted."))
        for vault in mounted:
            self.lock(vault, now=True)

    def run(self, command: Command, then: Then | None = None) -> None:
        """Runs a command that a button names, and shows its message."""
        if self._running is not None:
            return self._bar.failed(_("Another command still runs. Finish it, or cancel it, and try again."))

        def ended(outcome: Outcome) -> None:
            self._running = None
            if outcome.succeeded:
                self._bar.done(lines(outcome.output) or _("Done: {command}").format(command=command.shown))
            else:
                self._bar.failed(reason(command, outcome))
            if then:
                then(outcome)

        self._running = Program(command, ended)
        running = self._running
        self._bar.running(command.shown, running.stop)

    def read(self, command: Command, then: Then) -> None:
        """Runs a command for a page, without a message."""
        Program(command, then)


def reason(command: Command, outcome: Outcome) -> str:
    """Why a command has not done what it should."""
    if outcome.was_late:
        return _("{command} has not ended in time, and was ended.").format(command=command.shown)
    said = lines(outcome.errors) or lines(outcome.output)
    if said:
        return said
    if outcome.code is None:
        return _("{command} was ended.").format(command=command.shown)
    return _("{command} has failed with exit code {code}.").format(command=command.shown, code=outcome.code)


def failure(vault: Vault, command: Command, error: str, details: dict[str, Any]) -> str:
    """Why a call to a daemon was not carried out."""
    name = apart(vault.title)
    if error == "Late":
        line = _("The daemon of {vault} does not answer, so it is not known whether the vault locks.")
        return line.format(vault=name) + "\n" + _("try: {command}").format(command=commands.diagnose(vault).shown)
    if error == "Ended":
        line = _("The daemon of {vault} has ended; the keys are gone with it.")
        return line.format(vault=name) + "\n" + _("try: {command}").format(command=commands.unmount(vault).shown)
    said = details.get("reason")
    return _("{command} was refused: {reason}").format(
        command=command.shown, reason=apart(said if isinstance(said, str) else error))
