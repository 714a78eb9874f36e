"""The command line of everything that the window does."""

from __future__ import annotations

from dataclasses import dataclass

from .paths import PathName, quoted
from .vault import Vault


@dataclass(frozen=True)
class Command:
    """A program with its arguments. `asks`: it may ask a person in a window of its own."""

    arguments: tuple[str, ...]
    asks: bool = False

    @property
    def shown(self) -> str:
        """As a person can paste it into a shell."""
        return " ".join(quoted(argument) for argument in self.arguments)


def _latchkey(*arguments: str, asks: bool = False) -> Command:
    return Command(("latchkey", *arguments), asks)


def lock(vault: Vault, now: bool = False, deep: bool = False) -> Command:
    """Locks, after the grace period or now."""
    options = (["--now"] if now else []) + (["--deep"] if deep else [])
    return _latchkey("lock", *options, vault.word)


def lock_all() -> Command:
    """Locks all mounts of this user now."""
    return _latchkey("lock", "--now", "--all")


def unlock(vault: Vault, with_recovery_key: bool = False) -> Command:
    """Unlocks a mount; the command asks for the passcode or the recovery key."""
    return _latchkey("unlock", *(["--recovery"] if with_recovery_key else []), vault.word, asks=True)


def open_vault(vault: Vault) -> Command:
    """Mounts and unlocks a named vault; the command asks for the passcode."""
    return _latchkey("open", vault.word, asks=True)


def unmount(vault: Vault) -> Command:
    """Ends the mount."""
    return _latchkey("unmount", vault.word)


def browse(vault: Vault) -> Command:
    """Shows the files in the file manager."""
    return Command(("xdg-open", vault.mount_point.argument))


def diagnose(vault: Vault) -> Command:
    """Says why a daemon does not answer."""
    return _latchkey("status", vault.word)


def holders(vault: Vault) -> Command:
    """Lists the programs that use a mount."""
    return _latchkey("status", "--holders", vault.word)


def sources() -> Command:
    """Shows the agent's lock sources."""
    return _latchkey("agent", "--status")


def start_agent() -> Command:
    """Starts the agent, now and at each login."""
    return Command(("systemctl", "--user", "enable", "--now", "latchkey-agent"))


def slots(vault: Vault) -> Command:
    """Lists the ways into a vault."""
    return _latchkey("slot", "list", vault.word)


def add_slot(vault: Vault, kind: str, file: str, name: str) -> Command:
    """Adds a way in. `file` is the new file of a key file or recovery key, or the file of a public key."""
    options = []
    if kind in ("key-file", "recovery-key"):
        options += ["--new-file", file]
    if kind == "escrow-key":
        options += ["--public-key", file]
    if name:
        options.append(f"--name={name}")
    return _latchkey("slot", "add", *options, kind, vault.word, asks=True)


def remove_slot(vault: Vault, slot: int) -> Command:
    """Removes a way in. The window has asked, so the command need not."""
    return _latchkey("slot", "remove", "--yes", str(slot), vault.word, asks=True)


def test_recovery_key(vault: Vault) -> Command:
    """Asks for the recovery key and says whether it opens the vault."""
    return _latchkey("slot", "test", "--recovery", vault.word, asks=True)


def back_up(vault: Vault, file: str) -> Command:
    """Writes the keybag into a new file, under a passphrase that the command asks for."""
    return _latchkey("keybag", "backup", file, vault.word, asks=True)


def accept(path: PathName) -> Command:
    """Takes an older file for the right one."""
    return _latchkey("accept", path.argument)


def accept_all(vault: Vault) -> Command:
    """Takes the whole vault as it is now for the right one."""
    return _latchkey("accept", "--all", vault.word)


def explain(path: PathName) -> Command:
    """Says what protects a file, and what is older about it."""
    return _latchkey("explain", path.argument)


def check(vault: Vault) -> Command:
    """Checks a vault that is not mounted; lists conflict copies of synchronisation programs."""
    return _latchkey("fsck", "--no-contents", vault.word)


def plan(folder: str, keeps: bool) -> Command:
    """Says what it takes to protect a folder, or that this was interrupted."""
    return _latchkey("protect", "--plan", "--json", *(["--keep"] if keeps else []), folder)


def protect(folder: str, recovery_key_file: str, with_screen: bool, keeps: bool) -> Command:
    """Protects a folder; the command asks for a new passcode. The window has asked the rest."""
    options = ["--recovery-key-file", recovery_key_file] + ([] if with_screen else ["--no-lock-with-screen"])
    return _latchkey("protect", "--yes", *options, *(["--keep"] if keeps else []), folder, asks=True)


def unprotect(folder: str) -> Command:
    """Turns a protected folder into an ordinary one."""
    return _latchkey("unprotect", "--yes", folder, asks=True)


def go_on(interrupted: str, folder: str, undo: bool = False) -> Command:
    """Goes on with an interrupted command, or back."""
    return _latchkey(interrupted, *(["--undo"] if undo else []), folder, asks=True)


def as_json(command: Command) -> Command:
    """The same command with its output in JSON."""
    words = list(command.arguments)
    position = 3 if words[1] in ("slot", "keybag", "config") else 2
    return Command(tuple(words[:position] + ["--json"] + words[position:]), command.asks)
