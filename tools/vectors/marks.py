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
    runs = [run("one", 17, 3, 2**62), run("one", 2**50, 2**32 - 1, 1), run("two", 0, 0, 0)]
    good = run("one", 17, 3, 5)
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
               flaw("kind 4", HEAD + batch(0, [records[0], records[1][:33] + b"\x08" + records[1][34:]]), 1),
               flaw("kind 3 and gone", HEAD + batch(0, [records[0], good[:33] + b"\7" + good[34:]]), 1),
               flaw("blocks with class 3", HEAD + batch(0, [records[0], good[:32] + b"\3" + good[33:]]), 1),
               flaw("a number above 2^62", HEAD + batch(0, [records[0], run("one", 17, 3, 2**62 + 1)]), 1),
               flaw("a block above 2^50", HEAD + batch(0, [records[0], run("one", 2**50 + 1, 3, 5)]), 1),
               flaw("blocks, and a byte that is not zero",
                    HEAD + batch(0, [records[0], good[:34] + b"\1" + good[35:]]), 1),
               flaw("a byte that is not zero", HEAD + batch(0, [records[0], records[1][:39] + b"\1"]), 1)]
    damaged += [flaw(f"byte {at} of a batch changed", flipped(whole, 64 + len(sealed[0]) + at), 2)
                for at in range(len(sealed[1]))]
    return {"volumeID": V, "marksKey": KEYS.marks, "fileID": fixed("file one", 16), "place": fixed("place", 16),
            "key": fmt.mark_key(fixed("file one", 16), fixed("place", 16)),
            "records": [{"record": plain} | fields(plain) for plain in records], "whole": whole, "damaged": damaged,
            "runs": [{"record": plain, "key": plain[:12]} | run_fields(plain) for plain in runs],
            "wholeRuns": HEAD + batch(0, runs)}


def check_marks(failures: list[str]) -> None:
    """The reader remembers what the files of marks say, and nothing of a record that has a wrong value."""
    given = mark_vectors()
    read = fmt.parse_marks(given["whole"], V, KEYS.marks)
    last = {item["key"]: tuple(item[name] for name in ("generation", "blocks", "digest", "time", "class", "gone",
                                                       "kind")) for item in given["records"]}
    if read != fmt.Marks({key: fmt.Mark(*values) for key, values in last.items()}):
        failures.append("marks: other records")
    read = fmt.parse_marks(given["wholeRuns"], V, KEYS.marks)
    if read != fmt.Marks(runs={given["key"]: [fmt.BlockRun(17, 20, 2**62), fmt.BlockRun(2**50, 2**50, 1)]}):
        failures.append("marks: other records of blocks")
    for item in given["damaged"]:
        read = fmt.parse_marks(item["marks"], V, KEYS.marks)
        # Of one name the last record counts.
        if bool(read.of) != bool(item["read"]) or len(read.of) > item["read"] or read.runs:
            failures.append(f"marks: {item['why']}")


def record(label: str, generation: int, blocks: int, digest: int, time: int, protection: int, *,
           flags: int = 0) -> bytes:
    key = fmt.mark_key(fixed(f"file {label}", 16), fixed("place", 16))
    return key + struct.pack("<QIIIBB6x", generation, blocks, digest, time, protection, flags)


def fields(plain: bytes) -> dict[str, Any]:
    generation, blocks, digest, time, protection, flags = struct.unpack("<QIIIBB6x", plain[12:])
    return {"key": plain[:12], "generation": generation, "blocks": blocks, "digest": digest, "time": time,
            "class": protection, "gone": flags & 1 == 1, "kind": flags >> 1}


def run(label: str, first: int, count: int, number: int) -> bytes:
    """What is remembered of blocks."""
    key = fmt.mark_key(fixed(f"file {label}", 16), fixed("place", 16))
    return key + struct.pack("<QIQBB6x", number, count, first, 4, 6)


def run_fields(plain: bytes) -> dict[str, Any]:
    number, count, first, _, _ = struct.unpack("<QIQBB6x", plain[12:])
    return {"number": number, "count": count, "first": first}


def batch(number: int, records: list[bytes]) -> bytes:
    return struct.pack("<Q", len(records)) + siv(KEYS.marks, [HEAD, struct.pack("<Q", number)], b"".join(records))


def flaw(why: str, raw: bytes, read: int) -> dict[str, Any]:
    return {"why": why, "marks": raw, "read": read}


def flipped(raw: bytes, at: int) -> bytes:
    return raw[:at] + bytes([raw[at] ^ 0x41]) + raw[at + 1:]
