"""The reader held against a file with numbered blocks, of which some are older than a machine has seen."""

from __future__ import annotations

import contextlib
import io
import tempfile
from pathlib import Path
from typing import Any

from .building import build_with_keys
from .keybags import numbered_keybag
from .marks import HEAD, batch
from .marks import record as mark
from .parts import block_vectors
from .sealing import DEVICE_KEY, KEYS, PASSCODE, V, block, fixed, fmt, numbered_nonce
from .vaults import ROOT, VaultBuilder, file_id, file_key

# Blocks 0 and 1 are confirmed, 2 is a hole, 3 and 4 lie behind the confirmed length; 4 does not verify.
NUMBERS = {0: 7, 1: 5, 3: 11, 4: 3}
LENGTH, PROVISIONAL = 3 * 4096, 5 * 4096
TO_THE_END = 2**32 - 1


def stored(path: bytes, index: int, number: int, version: str = "") -> bytes:
    nonce = numbered_nonce(file_key(path), file_id(path), number, fixed(f"random {index}{version}", 8))
    return block(file_key(path), file_id(path), index, fixed(f"numbered {index}", 4096), nonce=nonce)


def numbered_vault() -> dict[str, Any]:
    """A vault with a file that has numbered blocks, and one whose blocks are the same without the flag."""
    vault = VaultBuilder()
    vault.made[0]["content"] = numbered_keybag(6)
    for name, flags in ((b"numbered", fmt.NUMBERED), (b"random", 0)):
        path = ROOT.path + name
        raw = b"".join(stored(path, index, NUMBERS[index]) if index in NUMBERS else bytes(4128) for index in range(5))
        vault.file(ROOT, name, 3, b"", shown=bytes(PROVISIONAL), stored=raw[:-1] + b"\1", flags=flags, sparse=2,
                   length=LENGTH, provisional=PROVISIONAL, generation=12)
    return vault.vectors()


def run(name: bytes, first: int, count: int, number: int) -> bytes:
    path = ROOT.path + name
    fields = number.to_bytes(8, "little") + count.to_bytes(4, "little") + first.to_bytes(8, "little")
    return fmt.mark_key(file_id(path), ROOT.binding(name)) + fields + b"\4\6" + bytes(6)


def gone(name: bytes) -> bytes:
    key = fmt.mark_key(file_id(ROOT.path + name), ROOT.binding(name))
    return key + mark("", 1, 0, 0, 0, 3, flags=1)[12:]


def header_seen(name: bytes, generation: int) -> bytes:
    key = fmt.mark_key(file_id(ROOT.path + name), ROOT.binding(name))
    return key + mark("", generation, 0, 0, 0, 3)[12:]


# Why, what the machine remembers, and what is told of it.
CASES: list[tuple[str, list[bytes], str]] = [
    ("the numbers that the blocks have", [run(b"numbered", 0, 1, 7), run(b"numbered", 1, 1, 5)], ""),
    ("a block's number", [run(b"numbered", 0, 2, 6)], "block 1 has the number 5, and this machine has seen 6"),
    ("two blocks are told once", [run(b"numbered", 0, 2, 9)], "block 0 has the number 7, and this machine has seen 9"),
    ("the higher number counts", [run(b"numbered", 0, 2, 6), run(b"numbered", 1, 1, 3), run(b"numbered", 1, 1, 8)],
     "block 1 has the number 5, and this machine has seen 8"),
    ("a run before the block ends", [run(b"numbered", 0, 1, 7), run(b"numbered", 0, 2, 5)], ""),
    ("to the end", [run(b"numbered", 2, TO_THE_END, 12)], "block 3 has the number 11, and this machine has seen 12"),
    ("a hole, and a block that does not verify", [run(b"numbered", 2, 1, 2**62), run(b"numbered", 4, 1, 2**62)], ""),
    ("behind the file", [run(b"numbered", 5, TO_THE_END, 2**62), run(b"numbered", 2**50, 1, 2**62)], ""),
    ("a count of 0", [run(b"numbered", 0, 2, 9), run(b"numbered", 0, 0, 0)], ""),
    ("after a count of 0", [run(b"numbered", 0, 2, 9), run(b"numbered", 0, 0, 0), run(b"numbered", 1, 1, 6)],
     "block 1 has the number 5, and this machine has seen 6"),
    ("the name was gone", [run(b"numbered", 0, 2, 9), gone(b"numbered")], ""),
    ("a number that none has", [run(b"numbered", 0, 2, 2**62 + 1)], ""),
    ("a file without numbers", [run(b"random", 0, TO_THE_END, 2**62)], ""),
    ("an older header is told alone", [header_seen(b"numbered", 13), run(b"numbered", 0, 2, 9)],
     "this machine has seen generation 13")]


def check_numbers(failures: list[str]) -> None:
    given = block_vectors()
    for case in given["numbers"]["cases"]:
        if fmt.number_in_nonce(given["numbers"]["nonceKey"], case["nonce"]) != case["number"]:
            failures.append(f"blocks: the number {case['number']}")
    with tempfile.TemporaryDirectory() as temporary:
        build_with_keys(numbered_vault(), Path(temporary))
        path = bytes(Path(temporary) / "vault")
        vault = fmt.Vault(path, fmt.Credentials(device_key=DEVICE_KEY, passcode=PASSCODE))
        for why, records, expected in CASES:
            if told(vault, records) != expected:
                failures.append(f"numbers: {why}: {told(vault, records)!r}")
        # What the journal has counts, as if it lay in place.
        entry = vault.find(b"/numbered")
        newer = {fmt.block_offset(1): stored(b"/numbered", 1, 10, "newer")}
        vault.replay.writes[entry.backing] = newer
        for number, expected in ((10, ""), (13, "block 1 has the number 10, and this machine has seen 13")):
            if told(vault, [run(b"numbered", 1, 1, number)]) != expected:
                failures.append(f"numbers: {number} for a block in the journal")
        locked = fmt.Vault(path, fmt.Credentials(device_key=DEVICE_KEY))
        if told(locked, [run(b"numbered", 0, 2, 9)]):
            failures.append("numbers: a file whose key is not at hand")


def told(vault: Any, records: list[bytes]) -> str:
    """What `verify` says of the file that is older."""
    marks = fmt.parse_marks(HEAD + batch(0, records), V, KEYS.marks)
    with contextlib.redirect_stdout(io.StringIO()) as output:
        refused = fmt.verify_command(vault, marks)
    lines = output.getvalue().splitlines()[:-1]
    return "\n".join(line.removeprefix("older: /numbered: ") for line in lines) + "refused" * refused
