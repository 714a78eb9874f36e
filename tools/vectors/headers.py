"""File headers, good ones and, for each rule, one that breaks it alone."""

from __future__ import annotations

from typing import Any

from .sealing import KEYS, NEVER_SPARSE, V, Second, algorithm_of, fixed, fmt, header, wrap

FILE_KEY = fixed("file key", 32)


def header_vectors() -> dict[str, Any]:
    here, there, pending = fixed("place", 16), fixed("another place", 16), fixed("coming place", 16)
    thirteen = [fixed(f"place {number}", 16) for number in range(13)]
    to_a = Second(1, False, wrap(FILE_KEY, fixed("file 3", 16), 1))
    to_mark = Second(4, True, wrap(FILE_KEY, fixed("file 4", 16), 4))
    to_b = Second(2, True, wrap(FILE_KEY, fixed("file 1", 16), 2))
    cases = [
        case(1, [here], length=10_000, flags=1, generation=3), case(2, [here], length=4096, provisional=5000),
        case(3, [], length=1 << 62, sparse=5), case(4, [here]), case(3, [here, pending]), case(4, thirteen),
        case(4, [here], provisional=1 << 62),
        case(3, [here, there, pending], flags=1, second=to_a, generation=2**63),
        case(1, [here, pending], second=to_b), case(4, thirteen, second=to_mark),
        case(3, [here], modified=(1_750_000_000, 123_456_789), stamp=1_750_000_007),
        case(4, thirteen, modified=(-2**63, 999_999_999), stamp=2**63 - 1),
        case(1, [], modified=(2**63 - 1, 0), stamp=-1),
        case(2, [here], changed=(1_750_000_000, 123_456_789), written=(1_750_000_003, 999_999_999)),
        case(3, thirteen, changed=(-2**63, 999_999_999), written=(2**63 - 1, 1)),
        case(4, [], changed=(2**63 - 1, 0), written=(-2**63, 0)),
        case(3, [here], length=10_000, flags=8, generation=2**62), case(1, [], flags=9),
        case(3, [here, pending], flags=8, second=to_a)]
    return {"volumeID": V, "headersKey": KEYS.headers, "cases": cases, "refused": refused(here, pending),
            "readOnly": [bad("an unknown read-only compatible feature", [here], read_only=1)],
            "compatible": [bad("an unknown compatible feature", [here], compatible=1)]}


def case(protection: int, bindings: list[bytes], **fields: Any) -> dict[str, Any]:
    file = fixed(f"file {protection}", 16)
    wrapped = wrap(FILE_KEY, file, protection)
    second, flags = fields.get("second"), fields.get("flags", 0)
    explicit = bool(flags & fmt.EXPLICIT)
    first = {"class": protection, "explicit": explicit, "wrapAlgorithm": algorithm_of(protection), "wrap": wrapped}
    pending = None if second is None else {
        "class": second.protection, "explicit": second.explicit, "wrapAlgorithm": algorithm_of(second.protection),
        "wrap": second.wrapped}
    elsewhere = fixed("elsewhere", 16)
    standing = [{"place": binding, **first} for binding in bindings or [elsewhere]]
    if pending:
        standing[-1] |= pending
    return {"fileID": file, "first": first, "second": pending, "places": bindings, "length": fields.get("length", 0),
            "provisionalLength": fields.get("provisional", fields.get("length", 0)),
            "modified": shown_times(fields.get("modified", (0, 0)), fields.get("stamp", 0)),
            "changed": shown_changes(fields.get("changed", (0, 0)), fields.get("written", (0, 0))),
            "numbered": bool(flags & fmt.NUMBERED),
            "generation": fields.get("generation", 1), "firstSparseBlock": fields.get("sparse", NEVER_SPARSE),
            "header": header(file, protection, wrapped, bindings, **fields),
            "at": standing, "notAt": [elsewhere, bytes(16)] if bindings else []}


def shown_times(modified: tuple[int, int], stamp: int) -> dict[str, Any]:
    """The fields, and what is shown for some times of the backing file."""
    others = [(stamp, 1), (stamp ^ 1, 0), (modified[0] ^ 4, modified[1])]
    return {"seconds": modified[0], "nanoseconds": modified[1], "stamp": stamp,
            "shown": [{"backing": [stamp, 0], "time": list(modified)}]
                     + [{"backing": list(other), "time": list(other)} for other in others]}


def shown_changes(changed: tuple[int, int], written: tuple[int, int]) -> dict[str, Any]:
    """The fields, and what is shown for some times of change of the backing file."""
    at = written[0] * 10**9 + written[1]
    moments = {moment: moment < at or moment > at + 10**9
               for moment in [at, at + 1, at + 10**9, at - 1, at + 10**9 + 1, 0] if -2**63 <= moment // 10**9 < 2**63}
    return {"seconds": changed[0], "nanoseconds": changed[1], "written": list(written),
            "shown": [{"backing": list(divmod(moment, 10**9)),
                       "time": list(divmod(moment, 10**9) if is_other else changed)}
                      for moment, is_other in moments.items()]}


def bad(why: str, bindings: list[bytes], protection: int = 3, wrapped: bytes | None = None, by: str = "fields",
        **fields: Any) -> dict[str, Any]:
    file = fixed("file", 16)
    good = wrap(FILE_KEY, file, 3) if wrapped is None else wrapped
    return {"why": why, "by": by, "header": header(file, protection, good, bindings, **fields)}


def refused(here: bytes, pending: bytes) -> list[dict[str, Any]]:
    file = fixed("file", 16)
    good, of_b, one, two = wrap(FILE_KEY, file, 3), wrap(FILE_KEY, file, 2), [here], [here, pending]
    whole, to_a = header(file, 3, good, one), wrap(FILE_KEY, file, 1)
    return [
        {"why": "cut short", "by": "fields", "header": whole[:511]}, {"why": "empty", "by": "fields", "header": b""},
        {"why": "all zeros", "by": "fields", "header": bytes(512)},
        {"why": "a bit flipped in the MAC", "by": "mac", "header": whole[:511] + bytes([whole[511] ^ 1])},
        {"why": "C lowered to D", "by": "mac", "header": whole[:56] + b"\4" + whole[57:]},
        {"why": "another place", "by": "mac", "header": whole[:104] + pending + whole[120:]},
        bad("magic", one, magic=b"LKFILE\n\n"), bad("version 2", one, version=2), bad("version 0", one, version=0),
        bad("header size", one, size=1024), bad("an unknown incompatible feature", one, incompatible=1),
        bad("another volume", one, volume=fixed("another volume", 16), by="volume"),
        bad("class 0", one, protection=0, algorithm=1), bad("class 5", one, protection=5, algorithm=1),
        bad("an unknown flag", one, flags=16),
        bad("generation above 2^63", one, generation=2**63 + 1), bad("generation 2^64 - 1", one, generation=2**64 - 1),
        bad("length above 2^62", one, length=(1 << 62) + 1),
        bad("provisional length above 2^62", one, provisional=(1 << 62) + 1),
        bad("provisional length below the length", one, length=4097, provisional=4096),
        bad("zero at 97", one, zero1=1), bad("10^9 nanoseconds", one, modified=(0, 10**9)),
        bad("2^32 - 1 nanoseconds", one, modified=(0, 2**32 - 1)),
        bad("10^9 nanoseconds of change", one, changed=(0, 10**9)),
        bad("10^9 nanoseconds of writing", one, written=(0, 10**9)),
        bad("a byte behind the time of change", one, zero2=1 << 31),
        bad("a byte behind the time of writing", one, zero3=1),
        # Places.
        bad("14 places", [bytes([at]) * 16 for at in range(13)], count=14),
        bad("15 places", one, count=15), bad("no place without many links", [], all_flags=0),
        bad("a place with many links", one, flags=2),
        bad("a place behind the last", one, tail=pending),
        bad("a byte behind the places", one, tail=bytes(191) + b"\1"),
        bad("many links and moving", [], second=Second(1, False, to_a)),
        # The wrap.
        bad("algorithm 0", one, algorithm=0, by="wrap"), bad("algorithm 3", one, algorithm=3, by="wrap"),
        bad("class B wrapped as the others", one, protection=2, algorithm=1, by="wrap"),
        bad("class C wrapped as B", one, wrapped=of_b, algorithm=2, by="wrap"),
        bad("a wrap of 32 bytes", one, wrapped=good[:32], by="wrap"), bad("wrap length 121", one, wrap_length=121),
        bad("wrap length 0", one, wrap_length=0), bad("a byte behind the wrap", one, padding=bytes(79) + b"\1"),
        # The second class.
        bad("moving without a second class", two, flags=4),
        bad("second class 5", two, second=Second(5, False, to_a), second_algorithm=1),
        bad("an unknown second flag", two, second=Second(1, False, to_a), second_flags=2),
        bad("numbered blocks as a second flag", two, second=Second(1, False, to_a), second_flags=8),
        bad("moving as a second flag", two, second=Second(1, False, to_a), second_flags=4),
        bad("a second class without moving", two, second=Second(1, False, to_a), all_flags=0),
        bad("a second class alone without moving", two, second=Second(1, False), second_algorithm=0, all_flags=0),
        bad("a second mark without moving", two, second_flags=1),
        bad("a second algorithm without moving", two, second_algorithm=1),
        bad("a second wrap without moving", two, second_length=40),
        bad("wraps of 72 and 72 bytes", two, protection=2, wrapped=of_b, second=Second(2, True, of_b[:48]),
            second_length=72),
        bad("a wrap of 40 and one of 81 bytes", two, second=Second(1, False, to_a), second_length=81),
        bad("a byte behind the second wrap", two, second=Second(1, False, to_a), padding=bytes(39) + b"\1"),
        bad("no second wrap", two, second=Second(1, True), by="wrap"),
        bad("second algorithm 2 for class A", two, second=Second(1, False, to_a), second_algorithm=2, by="wrap"),
        bad("second algorithm 0", two, second=Second(1, False, to_a), second_algorithm=0, by="wrap"),
        bad("class B as the second, wrapped as the others", two, second=Second(2, False, to_a), second_algorithm=1,
            by="wrap"),
        bad("a second wrap of 32 bytes", two, second=Second(1, False, to_a[:32]), by="wrap")]
