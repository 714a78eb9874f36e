"""Claims: who works with a vault, and what makes one count for nothing."""

from __future__ import annotations

import hashlib
import struct
from typing import Any

from .sealing import V, VOLUME_KEY, fixed, fmt, siv

FIELDS = struct.Struct("<8sHBBIQQQ16s16s16sQQQQQ80s16s")


def claim_vectors() -> dict[str, Any]:
    key = fmt.hkdf(VOLUME_KEY, V, b"latchkey claims", 64)
    cases = [case(key, "held", 2, True, 15_000, 1, "nas.example"), case(key, "taking", 1, False, 100, 2**62, None),
             case(key, "released", 3, True, 60_000, 7, "h" * 64),
             case(key, "shared", 2, True, 15_000, 9, "nas.example", shared=True)]
    good = cases[0]["claim"]
    refused = [bad(why, summed(good[:at] + bytes([value]) + good[at + 1:224])) for why, at, value in [
        ("magic", 0, 0), ("version 2", 8, 2), ("state 0", 10, 0), ("state 4", 10, 4), ("flag 8", 11, 11),
        ("a lease of 80 s", 14, 1), ("an epoch above 2^62", 23, 0x41), ("a byte that is not zero", 208, 1),
        ("a host that is not there", 11, 1)]]
    refused += [bad(f"byte {at} changed", good[:at] + bytes([good[at] ^ 1]) + good[at + 1:]) for at in range(256)]
    refused += [bad("a byte short", good[:255]), bad("a byte long", good + b"\0"), bad("empty", b"")]
    return {"volumeID": V, "claimsKey": key, "cases": cases, "refused": refused}


def summed(fields: bytes) -> bytes:
    return fields + hashlib.sha256(fields).digest()


def digest(label: str, daemon: bytes, identity: bytes) -> bytes:
    return hashlib.sha256(f"latchkey claim {label}".encode() + daemon + identity).digest()[:16]


def case(key: bytes, label: str, state: int, renews: bool, lease: int, epoch: int, host: str | None,
         shared: bool = False) -> dict[str, Any]:
    daemon, machine = fixed(f"daemon {label}", 16), fixed("machine", 16).hex().encode() + b"\n"
    boot = fixed("boot", 16).hex().encode() + b"-boot\n"
    sealed = siv(key, [V], host.encode().ljust(64, b"\0")) if host else bytes(80)
    fields = FIELDS.pack(
        b"LKCLAIM\n", 1, state, renews + 2 * (host is not None) + 4 * shared, lease, epoch, 17, 1_750_000_000,
        digest("machine", daemon, machine), digest("boot", daemon, boot), daemon, 4_026_531_836, 1234, 567_890, 2049,
        98_765, sealed, bytes(16))
    return {"state": state, "renews": renews, "isShared": shared, "lease": lease, "epoch": epoch, "renewals": 17,
            "written": 1_750_000_000, "machineID": machine, "machine": digest("machine", daemon, machine),
            "boot": digest("boot", daemon, boot), "daemon": daemon, "process": [4_026_531_836, 1234, 567_890],
            "folder": [2049, 98_765], "host": host or "", "claim": summed(fields)}


def bad(why: str, claim: bytes) -> dict[str, Any]:
    return {"why": why, "claim": claim}
