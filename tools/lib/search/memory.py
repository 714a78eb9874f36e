"""Searches the memory of another process, which needs root, or a core file.

Source: proc(5), /proc/PID/maps, mem and pagemap.
"""

from __future__ import annotations

import array
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Iterator

PAGE = 4096
PIECE = 64 << 20


@dataclass
class Wanted:
    """The bytes to search for, by name: `whole` at any address, `aligned` at multiples of 8 bytes."""

    whole: dict[str, bytes] = field(default_factory=dict)
    aligned: dict[str, set[bytes]] = field(default_factory=dict)

    def without(self, names: set[str]) -> Wanted:
        return Wanted({name: raw for name, raw in self.whole.items() if name not in names},
                      {name: pieces for name, pieces in self.aligned.items() if name not in names})


def touched(pagemap: int, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Runs of pages that are present or swapped: most mapped pages have never been touched."""
    first = start // PAGE
    pages = array.array("Q", os.pread(pagemap, (end - start) // PAGE * 8, first * 8))
    begin = None
    for number, page in enumerate(pages):
        is_there = page >> 62 != 0
        if is_there and begin is None:
            begin = number
        elif not is_there and begin is not None:
            yield start + begin * PAGE, (number - begin) * PAGE
            begin = None
    if begin is not None:
        yield start + begin * PAGE, (len(pages) - begin) * PAGE


def pieces_of(pid: int) -> Iterator[bytes]:
    """All readable memory of a process, in large pieces."""
    memory = os.open(f"/proc/{pid}/mem", os.O_RDONLY)
    pagemap = os.open(f"/proc/{pid}/pagemap", os.O_RDONLY)
    try:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            addresses, permissions, rest = line.split(None, 2)
            if permissions[0] != "r" or "[vvar" in rest or "[vsyscall]" in rest:
                continue
            start, end = (int(address, 16) for address in addresses.split("-"))
            for address, count in touched(pagemap, start, end):
                for at in range(0, count, PIECE):
                    try:
                        yield os.pread(memory, min(PIECE, count - at), address + at)
                    except OSError:
                        # The process has unmapped it since this read its line.
                        continue
    finally:
        os.close(memory)
        os.close(pagemap)


def pieces_of_core(path: Path) -> Iterator[bytes]:
    """A core file, in pieces that overlap by a page."""
    with path.open("rb", 0) as core:
        while piece := core.read(PIECE):
            yield piece
            if len(piece) == PIECE:
                core.seek(-PAGE, os.SEEK_CUR)


def found_in(piece: bytes, wanted: Wanted) -> set[str]:
    found = {name for name, raw in wanted.whole.items() if raw in piece}
    if not wanted.aligned:
        return found
    words = array.array("Q", piece[:len(piece) // 8 * 8])
    first_words = {int.from_bytes(raw[:8], "little") for raws in wanted.aligned.values() for raw in raws}
    if first_words.isdisjoint(words):
        return found
    present = first_words.intersection(words)
    for name, raws in wanted.aligned.items():
        if any(int.from_bytes(raw[:8], "little") in present and raw in piece for raw in raws):
            found.add(name)
    return found


def search(pieces: Iterator[bytes], wanted: Wanted) -> tuple[set[str], int]:
    """The names of what was found, and the number of bytes searched."""
    found: set[str] = set()
    count = 0
    for piece in pieces:
        found |= found_in(piece, wanted.without(found))
        count += len(piece)
    return found, count
