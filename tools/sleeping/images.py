"""Searches images of a machine's memory for the secrets of its vaults."""

from __future__ import annotations

import mmap
import os
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Iterator

from keys import fmt, is_gone, secrets_of
from memory import PAGE, Wanted, search

CHUNK = 64 << 10
PIECE = 64 << 20
FILES = 100


@dataclass
class Owner:
    """What belongs to a vault: who can open it, and the markers of its contents by kind."""

    name: str
    vault: Path
    device_key: Path
    recovery_key: Path
    passcode: bytes
    markers: dict[str, bytes]

    def wanted(self) -> Wanted:
        """Everything to search for, by names that begin with the vault's."""
        sample = {f"strict {name}": f"/strict/{name}".encode() for name in ("0", "1", "mapped", "records", "database")}
        sample |= {f"plain {name}": f"/plain/{name}".encode() for name in ("0", "records")}
        secrets = secrets_of(self.vault, self.device_key, self.passcode, self.recovery_key, sample)
        found = secrets.wanted()
        # A processor's registers, where the kernel saves them, hold a key in parts.
        for name, key in secrets.keys.items():
            found.aligned[f"{name}, a half"] = {key[:16], key[16:]}
        volume, device_key = fmt.parse_device_key(self.device_key.read_bytes())
        vault = fmt.Vault(os.fsencode(self.vault), fmt.Credentials(device_key, self.passcode), volume)
        keys = set()
        for number in range(2, FILES):
            header, protection = vault.header(vault.find(b"/strict/%d" % number))
            key = fmt.open_file_key(header.file, protection, volume, vault.classes)
            keys |= {key[:16], key[16:]}
        found.aligned["file keys of the other strict files"] = keys
        for kind, marker in self.markers.items():
            found.whole[f"contents of {kind} files"] = marker
        return Wanted({f"{self.name}: {name}": raw for name, raw in found.whole.items()},
                      {f"{self.name}: {name}": raws for name, raws in found.aligned.items()})


def used_pieces(path: Path) -> Iterator[bytes]:
    """An image without what is zero, in pieces that overlap by a page."""
    zeros = bytes(CHUNK)
    with path.open("rb", 0) as file:
        piece = bytearray()
        while chunk := file.read(CHUNK):
            if chunk != zeros[:len(chunk)]:
                piece += chunk
            if len(piece) >= PIECE:
                yield bytes(piece)
                del piece[:-PAGE]
        yield bytes(piece)


def pages_with(path: Path, raw: bytes) -> int:
    """How many pages of an image hold these bytes."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as image:
        return len({match.start() // PAGE for match in re.finditer(re.escape(raw), image)})


def must_be_gone(name: str) -> bool:
    return is_gone(name.split(": ", 1)[1])


@dataclass
class Finding:
    """What a search has found."""

    megabytes: float
    found: set[str]
    # In how many pages each of the wrong ones is, where that is known.
    pages: dict[str, int] = field(default_factory=dict)

    @property
    def wrong(self) -> set[str]:
        return {name for name in self.found if must_be_gone(name)}


def look(path: Path, wanted: Wanted) -> Finding:
    found, count = search(used_pieces(path), wanted)
    finding = Finding(count / (1 << 20), found)
    for name in finding.wrong & set(wanted.whole):
        finding.pages[name] = pages_with(path, wanted.whole[name])
    return finding


def copy_out(disk: Path, folder: str, destination: Path) -> Path:
    """Copies a folder out of a disk's file system, without a mount."""
    destination.mkdir()
    subprocess.run(["debugfs", "-R", f'rdump "{folder}" "{destination}"', str(disk)], check=True, capture_output=True)
    copied = destination / Path(folder).name
    if not copied.is_dir():
        raise FileNotFoundError(f"{disk} has no {folder}")
    return copied
