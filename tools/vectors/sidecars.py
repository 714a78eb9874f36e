"""Sidecars of attributes, and what makes one count for nothing."""

from __future__ import annotations

import struct
from typing import Any

from .sealing import KEYS, fixed, fmt, siv

HEAD = struct.Struct("<BB6x")


def plain_sidecar(attributes: dict[bytes, bytes], shared: bool = False) -> bytes:
    entries = b"".join(struct.pack("<BI", len(name), len(value)) + name + value
                       for name, value in sorted(attributes.items()))
    return HEAD.pack(1, shared) + entries


def sealed_sidecar(owner: bytes, plain: bytes) -> bytes:
    nonce = fixed(f"sidecar {owner.hex()} {plain[:64].hex()}", 16)
    return nonce + siv(KEYS.xattrs, [owner, b"sidecar", nonce], plain)


def sidecar_vectors() -> dict[str, Any]:
    owner, other = fixed("file", 16), fixed("other file", 16)
    cases = [case(owner, {b"user.comment": b"hello"}), case(owner, {}),
             case(owner, {b"user.b": b"", b"user.a": fixed("value", 3000), b"user." + 250 * b"l": b"long",
                          b"user.a.b": bytes(70)}),
             case(other, {b"user.x": b"1"}, shared=True)]
    good = cases[0]["plain"]

    def changed(at: int, value: int) -> bytes:
        return good[:at] + bytes([value]) + good[at + 1:]

    refused = [bad(owner, why, plain) for why, plain in [
        ("empty", b""), ("version 2", changed(0, 2)), ("cut in its head", good[:7]), ("flag 2", changed(1, 2)),
        ("a byte that is not zero", changed(2, 1)), ("another one", changed(7, 1)), ("a byte short", good[:-1]),
        ("a byte long", good + b"\0"), ("no name", good[:8] + struct.pack("<BI", 0, 1) + b"x"),
        ("a value of 65,537 bytes", good[:8] + struct.pack("<BI", 1, 65537) + bytes(65538)),
        ("a value of 2^32 - 1 bytes", good[:8] + struct.pack("<BI", 1, 2**32 - 1) + b"x"),
        ("a name twice", good + good[8:]), ("names out of order", plain_sidecar({b"b": b""}) + b"\1\0\0\0\0a")]]
    file = cases[0]["file"]
    unauthentic = [{"why": "another owner's", "owner": other, "file": file},
                   {"why": "a bit flipped", "owner": owner, "file": file[:40] + bytes([file[40] ^ 1]) + file[41:]},
                   {"why": "another nonce", "owner": owner, "file": bytes(16) + file[16:]},
                   {"why": "cut short", "owner": owner, "file": file[:31]}]
    return {"xattrsKey": KEYS.xattrs, "cases": cases, "refused": refused, "unauthentic": unauthentic}


def case(owner: bytes, attributes: dict[bytes, bytes], **shown: Any) -> dict[str, Any]:
    plain = plain_sidecar(attributes, **shown)
    return {"owner": owner, "name": "lk.attributes." + owner.hex(),
            "attributes": [{"name": name.decode(), "value": value} for name, value in sorted(attributes.items())],
            "shared": bool(plain[1]), "plain": plain,
            "nonce": sealed_sidecar(owner, plain)[:16], "file": sealed_sidecar(owner, plain)}


def bad(owner: bytes, why: str, plain: bytes) -> dict[str, Any]:
    return {"why": why, "owner": owner, "plain": plain, "file": sealed_sidecar(owner, plain)}


def check_sidecars(failures: list[str]) -> None:
    """What was sealed opens, and what is refused does not."""
    given = sidecar_vectors()
    for item in given["cases"]:
        expected = {attribute["name"].encode(): attribute["value"] for attribute in item["attributes"]}
        if fmt.open_sidecar(KEYS, item["owner"], item["file"]) != expected:
            failures.append(f"sidecars: {item['attributes']!r}"[:80])
        if fmt.sidecar_name(item["owner"]).decode() != item["name"]:
            failures.append("sidecars: the name")
    for item in given["refused"] + given["unauthentic"]:
        try:
            fmt.open_sidecar(KEYS, item["owner"], item["file"])
            failures.append(f"sidecars: not refused: {item['why']}")
        except fmt.Refused:
            pass
