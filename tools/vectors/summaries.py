"""Summaries of files, and what makes one count for nothing."""

from __future__ import annotations

import struct
from typing import Any

from .sealing import KEYS, fixed, fmt


def summary_vectors() -> dict[str, Any]:
    binding = fixed("place", 16)
    cases = [case(binding, 512 + 13 + 32, 1_750_000_008, 3),
             case(binding, 512, 0, 1, explicit=True, generation=2**64 - 1),
             case(binding, 512 + 4128, 2**63 - 1, 2, modified=-1), case(bytes(16), 512 + 4128 + 33, -2, 4),
             case(binding, 512 + 4128 * 2**40, 2, 3, modified=2**63 - 1, changed=-2**63, written=10**9)]
    good = cases[0]["summary"]
    refused = [bad(why, good, **changed) for why, changed in [
        ("of another place", {"binding": fixed("another place", 16)}), ("of another size", {"size": 512 + 14 + 32}),
        ("of another stamp", {"stamp": 1_750_000_010})]]
    refused += [bad(f"byte {at} changed", good[:at] + bytes([good[at] ^ 1]) + good[at + 1:]) for at in range(66)]
    refused += [bad("a byte short", good[:65]), bad("a byte long", good + b"\0"), bad("empty", b""),
                bad("version 2", sealed(binding, 557, 1_750_000_008, b"\2" + good[1:50])),
                bad("class 0", sealed(binding, 557, 1_750_000_008, b"\1\0" + good[2:50])),
                bad("class 5", sealed(binding, 557, 1_750_000_008, b"\1\5" + good[2:50]))]
    return {"summariesKey": KEYS.summaries, "cases": cases, "refused": refused}


def sealed(binding: bytes, size: int, stamp: int, fields: bytes) -> bytes:
    return fields + fmt.hmac_sha256(KEYS.summaries, fields + binding + struct.pack("<Qq", size, stamp))[:16]


def case(binding: bytes, size: int, stamp: int, protection: int, *, explicit: bool = False, generation: int = 7,
         modified: int = 1_750_000_000_123_456_789, changed: int = 1_750_000_001_999_999_999,
         written: int = 1_750_000_002_000_000_000) -> dict[str, Any]:
    file = fixed(f"file {protection}", 16)
    fields = struct.pack("<BB16sQqqq", 1, protection + 128 * explicit, file, generation, modified, changed, written)
    blocks, rest = divmod(size - 512, 4128)
    return {"place": binding, "size": size, "stamp": stamp, "class": protection, "explicit": explicit, "fileID": file,
            "generation": generation, "length": 4096 * blocks + (rest - 32 if rest else 0),
            "modified": list(divmod(modified, 10**9)), "changed": list(divmod(changed, 10**9)),
            "written": list(divmod(written, 10**9)), "summary": sealed(binding, size, stamp, fields)}


def bad(why: str, summary: bytes, binding: bytes = fixed("place", 16), size: int = 557,
        stamp: int = 1_750_000_008) -> dict[str, Any]:
    return {"why": why, "place": binding, "size": size, "stamp": stamp, "summary": summary}
