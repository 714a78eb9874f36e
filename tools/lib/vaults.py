"""A mounted vault for a tool that locks and unlocks it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from filesystems import TOOL

# A call that takes longer than so many seconds counts as hanging.
PATIENCE = 60
PASSCODE = "a passcode of the tools\n"


class Vault:
    """Unlocked when it is made; `folder_of` makes a folder for each class."""

    def __init__(self, folder: Path, latchkey: Path, grace: int, *options: str) -> None:
        self.latchkey, self.vault, self.point = latchkey, folder / "vault", folder / "mount"
        self.passfile, self.device_key = folder / "passcode", folder / "device.key"
        self.environment = {**os.environ, "XDG_STATE_HOME": str(folder / "state")}
        self.passfile.touch(mode=0o600)
        self.passfile.write_text(PASSCODE)
        self.point.mkdir()
        self.run("init", self.vault, "--device-key", self.device_key, "--recovery-key-file", folder / "recovery-key",
                 "--kdf-memory", "19", "--kdf-passes", "2", "--passcode-file", self.passfile)
        self.run("mount", self.vault, self.point, "--device-key", self.device_key, "--unlock", "--passcode-file",
                 self.passfile, "--grace", str(grace), *options)

    def run(self, *words: str | Path) -> str:
        try:
            done = subprocess.run([str(word) for word in (self.latchkey, *words)], env=self.environment, text=True,
                                  stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE, check=False)
        except subprocess.TimeoutExpired:
            raise SystemExit(f"{TOOL}: latchkey {words[0]} hangs") from None
        if done.returncode != 0:
            raise SystemExit(f"{TOOL}: latchkey {words[0]}: status {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def folder_of(self, protection_class: str) -> Path:
        folder = self.point / protection_class
        if not folder.exists():
            folder.mkdir()
            os.setxattr(folder, "user.latchkey.class", protection_class.encode())
        return folder

    def unlock(self) -> None:
        self.run("unlock", self.point, "--passcode-file", self.passfile)

    def lock(self, *, now: bool, deep: bool = False) -> None:
        self.run("lock", self.point, "--wait", *(["--now"] if now else []), *(["--deep"] if deep else []))

    def status(self) -> dict[str, object]:
        return json.loads(self.run("status", self.point, "--json"))

    def fsck(self) -> None:
        self.run("unmount", self.point)
        self.run("fsck", self.vault, "--unlock", "--passcode-file", self.passfile, "--device-key", self.device_key)
