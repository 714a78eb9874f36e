"""Members: the machines that work in one vault together."""

from __future__ import annotations

import hashlib
import hmac
import struct
from typing import Any

from .sealing import V, VOLUME_KEY, fmt

FIELDS = struct.Struct("<8sHBBIQQQ24s")


def member_vectors() -> dict[str, Any]:
    key = fmt.hkdf(VOLUME_KEY, V, b"latchkey members", 32)
    cases = [case(key, 1, 15_000, 0x0123_4567_89ab_cdef, 1, 0x0123_4567_89ab_cdef),
             case(key, 2, 100, 2**64 - 1, 2**62, 7), case(key, 3, 60_000, 0, 5, 9)]
    good = cases[0]["record"]
    refused = [bad(why, signed(key, good[:at] + bytes([value]) + good[at + 1:64])) for why, at, value in [
        ("magic", 0, 0), ("version 2", 8, 2), ("state 0", 10, 0), ("state 4", 10, 4),
        ("a byte that is not zero", 11, 1), ("a lease of 80 s", 14, 1), ("an epoch above 2^62", 31, 0x41),
        ("another byte that is not zero", 63, 1)]]
    refused += [bad(f"byte {at} changed", good[:at] + bytes([good[at] ^ 1]) + good[at + 1:]) for at in range(96)]
    refused += [bad("a byte short", good[:95]), bad("a byte long", good + b"\0"), bad("empty", b"")]
    return {"volumeID": V, "membersKey": key, "cases": cases, "refused": refused}


def signed(key: bytes, fields: bytes) -> bytes:
    return fields + hmac.new(key, V + fields, hashlib.sha256).digest()


def case(key: bytes, state: int, lease: int, machine: int, epoch: int, writer: int) -> dict[str, Any]:
    fields = FIELDS.pack(b"LKMEMBR\n", 1, state, 0, lease, machine, epoch, writer, bytes(24))
    return {"state": state, "lease": lease, "machine": f"{machine:016x}", "epoch": epoch, "writer": f"{writer:016x}",
            "record": signed(key, fields)}


def bad(why: str, record: bytes) -> dict[str, Any]:
    return {"why": why, "record": record}
