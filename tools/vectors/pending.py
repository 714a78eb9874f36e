"""Pending bindings of files, and what makes some count for nothing."""

from __future__ import annotations

import struct
from typing import Any

from .sealing import KEYS, fixed, fmt

FILE = fixed("moved file", 16)
PLACES = [fixed(f"place {number}", 16) for number in range(13)]


def pending_vectors() -> dict[str, Any]:
    cases = [case(PLACES[:2], 7), case(PLACES[:1], 0), case(PLACES, 2**64 - 1)]
    good = cases[0]["value"]
    refused = [bad(f"byte {at} changed", good[:at] + bytes([good[at] ^ 1]) + good[at + 1:]) for at in range(len(good))]
    refused += [bad("of another file", good, fixed("another file", 16)), bad("a byte short", good[:-1]),
                bad("a byte long", good + b"\0"), bad("empty", b""), bad("version 1", sealed(PLACES[:2], 7, version=1)),
                bad("version 3", sealed(PLACES[:2], 7, version=3)), bad("no bindings", sealed([], 7)),
                bad("14 bindings", sealed([*PLACES, fixed("place 13", 16)], 7)),
                bad("more bindings than it says", sealed(PLACES[:3], 7, count=2)),
                bad("fewer bindings than it says", sealed(PLACES[:2], 7, count=3))]
    return {"summariesKey": KEYS.summaries, "cases": cases, "refused": refused}


def sealed(places: list[bytes], generation: int, *, version: int = 2, count: int | None = None) -> bytes:
    fields = struct.pack("<BBQ", version, len(places) if count is None else count, generation) + b"".join(places)
    return fields + fmt.hmac_sha256(KEYS.summaries, fields + FILE)[:16]


def case(places: list[bytes], generation: int) -> dict[str, Any]:
    return {"fileID": FILE, "generation": generation, "places": places, "value": sealed(places, generation)}


def bad(why: str, value: bytes, file: bytes = FILE) -> dict[str, Any]:
    return {"why": why, "fileID": file, "value": value}
