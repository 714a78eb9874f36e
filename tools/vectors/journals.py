"""The journal: heads, records, and how a reader finds the records of a part."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field, replace
from typing import Any

from .sealing import KEYS, V, block, fixed, fmt, header, wrap

FILE, BLOCK, HEADER, FORGET, TOMBSTONE, DUPLICATE, HOLE, BLOCKS = 1, 2, 3, 4, 5, 6, 7, 8


@dataclass(frozen=True)
class Record:
    """A record but for where it stands. `odd` replaces single fields, to make records that must be refused."""

    kind: int
    file: bytes = bytes(16)
    payload: bytes = b""
    generation: int = 0
    number: int = 0
    odd: dict[str, Any] = field(default_factory=dict)

    def sealed(self, epoch: int, position: int) -> bytes:
        size = fmt.record_size(len(self.payload))
        body = fmt.RECORD_FIELDS.pack(
            self.odd.get("size", size), self.kind, self.odd.get("zero", bytes(3)), self.odd.get("epoch", epoch),
            self.odd.get("position", position), self.file, self.generation, self.number, self.odd.get("zero2", 0),
            self.odd.get("length", len(self.payload)))
        body += self.payload + self.odd.get("padding", bytes(size - 96 - len(self.payload)))
        keys = replace(KEYS, journal=self.odd.get("key", KEYS.journal), volume=self.odd.get("volume", V),
                       journal_blocks=self.odd.get("blocks_key", KEYS.journal_blocks))
        return body + fmt.record_tag(keys, body, len(self.payload))


def file_record(file: bytes, path: str, lowest: int, highest: int | None = None) -> Record:
    return Record(FILE, file, path.encode(), generation=lowest if highest is None else highest, number=lowest)


def block_record(file_key: bytes, file: bytes, index: int, plain: bytes, version: str) -> Record:
    return Record(BLOCK, file, block(file_key, file, index, plain, version), number=index)


def blocks_record(file_key: bytes, file: bytes, first: int, plains: list[bytes], version: str) -> Record:
    payload = b"".join(block(file_key, file, first + index, plain, version) for index, plain in enumerate(plains))
    return Record(BLOCKS, file, payload, generation=len(plains), number=first)


def header_record(file: bytes, raw: bytes) -> Record:
    return Record(HEADER, file, raw)


def tombstone_record(folder: str, tombstone: str, name: str) -> Record:
    return Record(TOMBSTONE, payload=b"\0".join(part.encode() for part in (folder, tombstone, name)))


def duplicate_record(alias: bytes, file: bytes, path: str, lowest: int, highest: int | None = None) -> Record:
    return replace(file_record(alias, path, lowest, highest), kind=DUPLICATE, payload=file + path.encode())


def hole_record(file: bytes, first: int, count: int) -> Record:
    return Record(HOLE, file, generation=count, number=first)


def journal_head(part_size: int, *, parts: int = 2, opened: int = 0, next_epoch: int = 1,
                 windows: list[tuple[int, int]] | None = None, runs: bool = False, **odd: Any) -> bytes:
    listed = windows or []
    body = fmt.HEAD_FIELDS.pack(
        odd.get("magic", b"LKJRNL\r\n"), odd.get("version", 1), odd.get("zero1", 0), odd.get("zero2", 0),
        odd.get("compatible", 0), odd.get("read_only", 0), odd.get("incompatible", int(parts > 2) | 2 * runs),
        odd.get("zero3", 0), odd.get("volume", V), part_size, opened, next_epoch, odd.get("count", len(listed)),
        odd.get("counted", 0 if parts == 2 else parts), odd.get("zero4", bytes(6)))
    body += b"".join(struct.pack("<QQ", *window) for window in listed)
    body += odd.get("tail", b"").rjust(480 - len(body), b"\0")
    return body + fmt.hmac_sha256(KEYS.journal, body)


@dataclass
class Part:
    """Part of a journal while it is filled, as the writer fills it."""

    size: int
    epoch: int
    raw: bytearray = field(default_factory=bytearray)
    positions: list[int] = field(default_factory=list)

    def add(self, *records: Record) -> None:
        for record in records:
            self.positions.append(len(self.raw))
            self.raw += record.sealed(self.epoch, len(self.raw))

    def flush(self) -> None:
        """The next record begins in a sector of its own."""
        self.raw += bytes(-len(self.raw) % 512)

    def whole(self) -> bytes:
        assert len(self.raw) <= self.size
        return bytes(self.raw) + bytes(self.size - len(self.raw))


def journal(parts: list[Part], **fields: Any) -> bytes:
    head = journal_head(parts[0].size, parts=len(parts), **fields)
    return head.ljust(4096, b"\0") + b"".join(part.whole() for part in parts)


def journal_vectors() -> dict[str, Any]:
    return {"volumeID": V, "journalKey": KEYS.journal, "heads": head_vectors(), "records": record_vectors(),
            "asides": aside_vectors(), "journals": scan_vectors()}


def head_vectors() -> dict[str, Any]:
    # The names of fields are those of the time when there were two parts, called halves.
    cases = []
    for part_size, fields in [
            (4096, {}), (1 << 30, {"opened": 1_750_000_000, "next_epoch": 2**62}),
            (1 << 24, {"windows": [(1_750_000_000, 1_750_000_100)]}),
            (8192, {"opened": 1_760_000_000, "next_epoch": 7, "windows": [(at, at + 9) for at in range(16)]}),
            (4096, {"parts": 3}), (4096, {"runs": True}), (8192, {"parts": 4, "runs": True}),
            (1 << 25, {"parts": 64}), (1 << 26, {"parts": 32, "opened": 1_760_000_000, "windows": [(1, 2)]})]:
        cases.append({"halfSize": part_size, "opened": fields.get("opened", 0), "nextLap": fields.get("next_epoch", 1),
                      "windows": [{"from": since, "to": until} for since, until in fields.get("windows", [])],
                      "head": journal_head(part_size, **fields)})
        cases[-1] |= {key: fields[key] for key in fields if key in ("parts", "runs")}

    def bad(why: str, part_size: int = 4096, by: str = "fields", **fields: Any) -> dict[str, Any]:
        return {"why": why, "by": by, "head": journal_head(part_size, **fields)}

    whole = journal_head(4096)
    return {"cases": cases,
            "readOnly": [bad("an unknown read-only compatible feature", read_only=1)],
            "compatible": [bad("an unknown compatible feature", compatible=1)],
            "refused": [
                {"why": "empty", "by": "fields", "head": b""},
                {"why": "cut short", "by": "fields", "head": whole[:511]},
                {"why": "all zeros", "by": "fields", "head": bytes(512)},
                {"why": "a bit flipped in the MAC", "by": "mac", "head": whole[:511] + bytes([whole[511] ^ 1])},
                {"why": "opened forged", "by": "mac", "head": whole[:56] + b"\1" + whole[57:]},
                bad("another volume", volume=fixed("another volume", 16), by="volume"),
                bad("magic", magic=b"LKJRNL\n\n"), bad("version 0", version=0), bad("version 2", version=2),
                bad("an unknown incompatible feature", incompatible=4), bad("halves of no bytes", 0),
                bad("halves of 512 bytes", 512), bad("halves of 6000 bytes", 6000),
                bad("opened above 2^62", opened=2**62 + 1), bad("opened 2^64 - 1", opened=2**64 - 1),
                bad("next lap above 2^62", next_epoch=2**62 + 1), bad("next lap 2^64 - 1", next_epoch=2**64 - 1),
                bad("halves above 2^30", (1 << 30) + 4096), bad("17 windows", count=17),
                bad("zero at 10", zero1=1), bad("zero at 12", zero2=1), bad("zero at 28", zero3=1),
                bad("zero at 79", zero4=bytes(5) + b"\1"), bad("a window that is not counted", count=0,
                                                              windows=[(1, 2)]),
                bad("zero at 479", tail=b"\1"),
                bad("more parts without their feature", counted=3),
                bad("more parts, of which there are none", incompatible=1),
                bad("more parts, of which there are two", counted=2, incompatible=1), bad("65 parts", parts=65),
                bad("3 parts of 2^30", 1 << 30, parts=3), bad("32 parts of 2^26 and 4096", (1 << 26) + 4096, parts=32),
                bad("zero at 74", parts=3, zero4=b"\1" + bytes(5))]}


def record_vectors() -> dict[str, Any]:
    file, file_key = fixed("file", 16), fixed("file key", 32)
    raw = header(file, 3, wrap(file_key, file, 3), [fixed("place", 16)], length=5000, generation=8,
                 modified=(1_750_000_000, 999_999_999), stamp=1_750_000_009)
    good = [file_record(file, "D6xJjPXJ-yJ1ZLleUWV66Mm4dLf2TOufRQ", 5, 7), file_record(file, "folder/name", 0),
            file_record(file, "p" * 8192, 2**64 - 1), file_record(file, "", 0, 1),
            block_record(file_key, file, 2**40, b"the last one", ""),
            block_record(file_key, file, 0, fixed("plaintext", 4096), ""),
            header_record(file, raw), Record(HEADER, file, raw, generation=2**64 - 1, number=2**64 - 1),
            Record(FORGET, file), tombstone_record("", "lk.tmp.aaaa", "name"),
            tombstone_record("a/b", "lk.tmp.b", "lk.long.H"),
            duplicate_record(fixed("alias", 16), file, "folder/name", 5, 7),
            duplicate_record(fixed("alias", 16), file, "", 3),
            hole_record(file, 0, 1), hole_record(file, 2**50 - 1, 1), hole_record(file, 5, 2**50 - 5),
            blocks_record(file_key, file, 0, [fixed("plaintext", 4096)], ""),
            blocks_record(file_key, file, 2**50 - 3, [fixed(f"block {at}", 4096) for at in range(2)] + [b"last"], ""),
            blocks_record(file_key, file, 7, [fixed(f"block {at}", 4096) for at in range(32)], "")]
    cases = []
    for number, record in enumerate(good):
        epoch, position = 5 + number, 8 * number
        cases.append({"type": record.kind, "lap": epoch, "position": position, "fileID": record.file,
                      "generation": record.generation, "number": record.number, "payload": record.payload,
                      "record": record.sealed(epoch, position)})

    def bad(why: str, record: Record, by: str = "fields", **odd: Any) -> dict[str, Any]:
        return {"why": why, "by": by, "lap": 5, "position": 512, "record": replace(record, odd=odd).sealed(5, 512)}

    path, last_block, header_of, forget, runs = good[1], good[4], good[6], good[8], good[17]
    run = runs.sealed(5, 512)
    whole = path.sealed(5, 512)
    other = header(fixed("another file", 16), 3, wrap(file_key, fixed("another file", 16), 3), [fixed("place", 16)])
    refused = [
        {"why": "empty", "by": "fields", "lap": 5, "position": 512, "record": b""},
        {"why": "all zeros", "by": "fields", "lap": 5, "position": 512, "record": bytes(512)},
        {"why": "cut in its first 64 bytes", "by": "fields", "lap": 5, "position": 512, "record": whole[:63]},
        {"why": "cut short", "by": "size", "lap": 5, "position": 512, "record": whole[:-1]},
        {"why": "torn", "by": "mac", "lap": 5, "position": 512, "record": whole[:64] + bytes(len(whole) - 64)},
        {"why": "another file", "by": "mac", "lap": 5, "position": 512, "record": whole[:24] + bytes(16) + whole[40:]},
        {"why": "blocks of which one is torn", "by": "mac", "lap": 5, "position": 512,
         "record": run[:4096] + bytes(512) + run[4608:]},
        bad("blocks hashed under another key", runs, "mac", blocks_key=KEYS.headers),
        bad("33 blocks", Record(BLOCKS, file, bytes(33 * 4128), generation=33)),
        bad("MAC under another key", path, "mac", key=KEYS.headers),
        bad("MAC without the volume ID", path, "mac", volume=b""),
        bad("another lap", path, "lap", epoch=4), bad("another position", path, "position", position=504),
        bad("type 0", replace(path, kind=0)), bad("type 9", replace(path, kind=9)),
        bad("zero at 7", path, zero=b"\0\0\1"), bad("zero at 56", path, zero2=1),
        bad("size above what the payload needs", path, size=120),
        bad("size below what the payload needs", path, size=104), bad("size 0", path, size=0),
        bad("a payload of 8193 bytes", Record(FILE, file, b"p" * 8193)),
        bad("a length of 2^32 - 1", path, length=2**32 - 1)]
    # Valid, and of no effect.
    ignored = [
        bad("an absolute path", file_record(file, "/etc", 1), "payload"),
        bad("the keybag's path", file_record(file, "lk.keybag", 1), "payload"),
        bad("a path that leads out", file_record(file, "a/../../b", 1), "payload"),
        bad("a path with a NUL", file_record(file, "a\0b", 1), "payload"),
        bad("a path that ends with a slash", file_record(file, "a/", 1), "payload"),
        bad("a block of 32 bytes", Record(BLOCK, file, bytes(32)), "payload"),
        bad("a block of 4129 bytes", Record(BLOCK, file, bytes(4129)), "payload"),
        bad("block 2^50", replace(last_block, number=1 << 50), "payload"),
        bad("a header of 511 bytes", replace(header_of, payload=raw[:511]), "payload"),
        bad("a header without its MAC", replace(header_of, payload=raw[:480] + bytes(32)), "payload"),
        bad("the header of another file", replace(header_of, payload=other), "payload"),
        bad("no blocks", replace(runs, generation=0), "payload"),
        bad("more blocks than there are", replace(runs, generation=4), "payload"),
        bad("fewer blocks than there are", replace(runs, generation=2), "payload"),
        bad("a last block of 32 bytes", replace(runs, payload=runs.payload[:2 * 4128 + 32]), "payload"),
        bad("33 blocks in the place of 32", Record(BLOCKS, file, bytes(32 * 4128), generation=33), "payload"),
        bad("blocks up to 2^50", replace(runs, number=2**50 - 2), "payload"),
        bad("a hole of no blocks", hole_record(file, 5, 0), "payload"),
        bad("a hole behind block 2^50", hole_record(file, 5, 2**50 - 4), "payload"),
        bad("a hole from block 2^50 on", hole_record(file, 2**50, 1), "payload"),
        bad("a hole with a payload", replace(hole_record(file, 5, 1), payload=b"x"), "payload"),
        bad("forget with a payload", replace(forget, payload=b"x"), "payload"),
        bad("an aside record of two parts", Record(TOMBSTONE, payload=b"a\0b"), "payload"),
        bad("a twin record of 15 bytes", Record(DUPLICATE, file, bytes(15)), "payload"),
        bad("a twin record with an absolute path", Record(DUPLICATE, file, bytes(16) + b"/etc"), "payload")]
    return {"cases": cases, "refused": refused, "ignored": ignored}


def aside_vectors() -> dict[str, Any]:
    return {"cases": [{"folder": folder, "aside": tombstone, "name": name,
                       "payload": tombstone_record(folder, tombstone, name).payload}
                      for folder, tombstone, name in [("", "lk.tmp.a", "name"), ("a/b", "lk.tmp.b", "lk.long.H")]],
            "refused": [{"why": why, "by": by, "payload": payload} for why, by, payload in [
                ("empty", "form", b""), ("two parts", "form", b"a\0b"), ("four parts", "form", b"a\0b\0c\0d"),
                ("no aside name", "form", b"a\0\0c"), ("no name", "form", b"a\0b\0"),
                ("a slash in the aside name", "path", b"a\0b/c\0d"), ("a slash in the name", "path", b"a\0b\0c/d"),
                ("up", "path", b"a\0..\0d"), ("a folder that leads out", "path", b"../a\0b\0c"),
                ("an absolute folder", "path", b"/a\0b\0c")]]}


def scan_vectors() -> list[dict[str, Any]]:
    """Whole journals, and where in them a reader finds records that count."""
    file, other = fixed("file", 16), fixed("another file", 16)
    one, two = file_record(file, "one", 1), file_record(other, "another", 2)

    def part(epoch: int, *records: Record) -> Part:
        made = Part(4096, epoch)
        made.add(*records)
        return made

    def case(what: str, all_parts: list[Part], found: list[tuple[int, list[int]]], **fields: Any) -> dict[str, Any]:
        head = journal_head(4096, **({"opened": 1_750_000_000, "next_epoch": 5} | fields))
        return {"what": what, "head": head, "halves": [bytes(part.raw).rstrip(b"\0") for part in all_parts],
                "found": [{"half": number, "position": position} for number, positions in found
                          for position in positions]}

    def followed(*pieces: Record | bytes) -> Part:
        """Records, and bytes between them that are none."""
        made = part(5)
        for piece in pieces:
            if isinstance(piece, bytes):
                made.raw += piece
            else:
                made.add(piece)
        return made

    empty, one_size = part(5), len(one.sealed(5, 0))
    torn = two.sealed(5, one_size)[:-1] + b"\0"
    sector = followed(one, file_record(file, "x" * (512 - one_size - 96), 3), two)
    full = followed(*[file_record(file, "y" * 160, at) for at in range(16)])
    return [
        case("two records in one half", [followed(one, two), empty], [(0, [0, one_size])]),
        case("the lower lap first", [part(6, one), part(5, two, one)], [(1, [0, one_size]), (0, [0])]),
        case("a record in the next sector, after a flush", [followed(one, bytes(512 - one_size), two), empty],
             [(0, [0, 512])]),
        case("a record that ends with its sector", [sector, empty], [(0, sector.positions)]),
        case("a torn record, and a valid one in the next sector",
             [followed(one, torn, bytes(512 - one_size - len(torn)), two), empty], [(0, [0, 512])]),
        case("nothing at the beginning", [followed(bytes(512), one), part(6, one)], [(1, [0])]),
        case("a record of another position behind", [followed(one, two.sealed(5, 0)), empty], [(0, [0])]),
        case("a record of an older lap behind", [followed(one, two.sealed(4, one_size)), empty], [(0, [0])]),
        case("a record of no effect", [followed(one, Record(FORGET, other, b"x"), two), empty],
             [(0, [0, one_size, one_size + 104])]),
        case("blocks among other records",
             [followed(one, Record(BLOCKS, file, bytes(800), generation=1, number=3), two), empty],
             [(0, [0, one_size, one_size + 896])], runs=True),
        case("a sector without a record", [followed(one, bytes(1024 - one_size), two), empty], [(0, [0])]),
        case("records up to the half's end", [full, part(6, one)], [(0, full.positions), (1, [0])]),
        case("a half of an earlier session", [part(5, one), part(4, two)], [(0, [0])]),
        case("both halves of an earlier session", [part(3, one), part(4, two)], []),
        case("closed cleanly", [part(5, one), part(6, two)], [], opened=0),
        case("nothing written yet", [empty, empty], []),
        case("four parts, the lowest lap first", [part(7, one), part(8, two), part(5, two, one), part(6, one)],
             [(2, [0, len(two.sealed(5, 0))]), (3, [0]), (0, [0]), (1, [0])], parts=4),
        case("parts behind the end of the file", [part(5, one), part(6, two), part(7, one)],
             [(0, [0]), (1, [0]), (2, [0])], parts=32),
        case("a part that is not in use any more, among others", [part(9, one), part(4, two), part(8, two)],
             [(2, [0]), (0, [0])], parts=3),
        case("a third part of which the head does not say", [part(5, one), part(6, two), part(7, one)],
             [(0, [0]), (1, [0])])]
