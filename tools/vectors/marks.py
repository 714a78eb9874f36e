"""Files of marks: what a machine remembers of how new files were, and how much of a damaged one counts."""

from __future__ import annotations

import struct
from typing import Any

from .sealing import KEYS, V, fixed, fmt, siv

HEAD = struct.pack("<8sH6x16s16s16x", b"LKMARKS1", 1, V, fixed("file of marks", 16))


def mark_vectors() -> dict[str, Any]:
    records = [record("one", 7, 3, 0x01020304, 1_750_000_000, 1), record("two", 2**62, 2**32 - 1, 0, 0, 4),
               record("one", 9, 0, 1, 2**32 - 1, 2, flags=1), record("three", 1, 0, 5, 6, 3),
               record("folder", 3, 0, 0x103, 6, 3, flags=2), record("value", 1, 0, 0, 6, 4, flags=5)]
    sealed = [batch(0, records[:2]), batch(1, records[2:3]), batch(2, records[3:])]
    whole = HEAD + b"".join(sealed)
    # How many records are read: those of the batches before the first one that is not right.
    damaged = [flaw("cut in the head", whole[:63], 0), flaw("the head alone", whole[:64], 0),
               flaw("cut in the first batch", whole[:64 + len(sealed[0]) - 1], 0),
               flaw("cut in the last batch", whole[:-1], 3), flaw("two batches", whole[:-len(sealed[2])], 3),
               flaw("a batch in another's place", HEAD + sealed[0] + sealed[2] + sealed[1], 2),
               flaw("a batch twice", HEAD + sealed[0] + sealed[0], 2),
               flaw("no records", HEAD + sealed[0] + batch(1, []), 2),
               flaw("more records than a batch has", HEAD + struct.pack("<Q", 4097) + bytes(200), 0),
               flaw("another volume", HEAD[:16] + fixed("another volume", 16) + HEAD[32:] + sealed[0], 0),
               flaw("another file's batches", HEAD[:32] + fixed("another file", 16) + HEAD[48:] + sealed[0], 0),
               flaw("version 2", HEAD[:8] + b"\2" + HEAD[9:] + sealed[0], 0),
               flaw("a byte of the head that is not zero", HEAD[:63] + b"\1" + sealed[0], 0),
               flaw("class 5", HEAD + batch(0, [record("one", 7, 3, 4, 5, 5), records[1]]), 1),
               flaw("kind 3", HEAD + batch(0, [records[0], records[1][:33] + b"\6" + records[1][34:]]), 1),
               flaw("a byte that is not zero", HEAD + batch(0, [records[0], records[1][:39] + b"\1"]), 1)]
    damaged += [flaw(f"byte {at} of a batch changed", flipped(whole, 64 + len(sealed[0]) + at), 2)
                for at in range(len(sealed[1]))]
    return {"volumeID": V, "marksKey": KEYS.marks, "fileID": fixed("file one", 16), "place": fixed("place", 16),
            "key": fmt.mark_key(fixed("file one", 16), fixed("place", 16)),
            "records": [{"record": plain} | fields(plain) for plain in records], "whole": whole, "damaged": damaged}


def record(label: str, generation: int, blocks: int, digest: int, time: int, protection: int, *,
           flags: int = 0) -> bytes:
    key = fmt.mark_key(fixed(f"file {label}", 16), fixed("place", 16))
    return key + struct.pack("<QIIIBB6x", generation, blocks, digest, time, protection, flags)


def fields(plain: bytes) -> dict[str, Any]:
    generation, blocks, digest, time, protection, flags = struct.unpack("<QIIIBB6x", plain[12:])
    return {"key": plain[:12], "generation": generation, "blocks": blocks, "digest": digest, "time": time,
            "class": protection, "gone": flags & 1 == 1, "kind": flags >> 1}


def batch(number: int, records: list[bytes]) -> bytes:
    return struct.pack("<Q", len(records)) + siv(KEYS.marks, [HEAD, struct.pack("<Q", number)], b"".join(records))


def flaw(why: str, raw: bytes, read: int) -> dict[str, Any]:
    return {"why": why, "marks": raw, "read": read}


def flipped(raw: bytes, at: int) -> bytes:
    return raw[:at] + bytes([raw[at] ^ 0x41]) + raw[at + 1:]
