#!/usr/bin/env python3
"""Write Tests/Vectors/*.json: what docs/FORMAT.md says, worked out with fixed keys and nonces.

The vectors come from Python's cryptography and argon2-cffi, never from Latchkey, so that its tests hold it against
somebody else's arithmetic. Running this twice gives the same bytes. `--check` writes nothing: it tells whether the
committed vectors are these, and reads vault.json back with tools/read-vault.py. `--vault` and `--compare` let any
other implementation be held against vault.json.

Bytes are in hexadecimal, other strings as they are. "cases" must work in both directions where the value is
deterministic, else (wraps of class B, blocks, attributes) with the nonce given; "refused" must be refused. A refused
header says by what: its fields alone, its MAC, the volume ID, or the wrap algorithm and length that its class has.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import os
import struct
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from argon2.low_level import Type, hash_secret_raw
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, AESSIV
from cryptography.hazmat.primitives.keywrap import aes_key_wrap

TOOLS = Path(__file__).resolve().parent
VECTORS = TOOLS.parent / "Tests" / "Vectors"

# Equations that are the same in both directions (HKDF, places, wrapping keys) have one home, the reader.
sys.dont_write_bytecode = True
specification = importlib.util.spec_from_file_location("read_vault", TOOLS / "read-vault.py")
assert specification is not None and specification.loader is not None
fmt = importlib.util.module_from_spec(specification)
sys.modules["read_vault"] = fmt
specification.loader.exec_module(fmt)


def fixed(label: str, count: int) -> bytes:
    """Bytes that look random, are the same on every run, and say where they come from."""
    return hashlib.shake_256(b"latchkey test vector: " + label.encode()).digest(count)


V = fixed("volume ID", 16)
VOLUME_KEY = fixed("volume key", 32)
KEYS = fmt.VolumeKeys.derive(VOLUME_KEY, V)
PRIVATE_B = fixed("class key B", 32)
PUBLIC_B = fmt.public_key(X25519PrivateKey.from_private_bytes(PRIVATE_B))
CLASSES = fmt.ClassKeys(fixed("class key D", 32), fixed("class key A", 32), PRIVATE_B, fixed("class key C", 32))
UNLOCK_MAC_KEY = fixed("unlock MAC key", 32)
DEVICE_KEY = fixed("device key", 32)
RECOVERY_KEY = fixed("recovery key", 32)
PASSCODE = "correct horse, naïve battery".encode()
NEVER_SPARSE = 2**64 - 1


# The writing half of each equation ---------------------------------------------------------------------------------


def siv(key: bytes, associated: list[bytes], plain: bytes) -> bytes:
    return AESSIV(key).encrypt(plain, associated)


def backing_name(directory: bytes, name: bytes) -> tuple[str, bytes]:
    """The backing name, and the sidecar's contents (empty for a short name)."""
    sealed = siv(KEYS.names, [directory], name)
    short = fmt.b64_encode(sealed).decode()
    if len(short) <= 255:
        return short, b""
    return "lk.long." + fmt.b64_encode(hashlib.sha256(sealed).digest()).decode(), sealed


def directory_target(place: bytes, record: bytes) -> str:
    return fmt.b64_encode(siv(KEYS.directories, [V, place], record)).decode()


def directory_record(identifier: bytes, protection: int, explicit: bool) -> bytes:
    return identifier + bytes([protection, explicit]) + bytes(10)


def wrap(file_key: bytes, file: bytes, protection: int) -> bytes:
    if protection != 2:
        return aes_key_wrap(fmt.wrap_key(CLASSES.key(protection), V, file, protection), file_key)
    ephemeral = X25519PrivateKey.from_private_bytes(fixed("ephemeral " + file.hex(), 32))
    public = fmt.public_key(ephemeral)
    shared = ephemeral.exchange(X25519PublicKey.from_public_bytes(PUBLIC_B))
    return public + aes_key_wrap(fmt.wrap_key_b(shared, public, PUBLIC_B, V, file), file_key)


def header(file: bytes, protection: int, wrapped: bytes, place: bytes, *, length: int = 0, flags: int = 0,
           generation: int = 1, sparse: int = NEVER_SPARSE, second: bytes = bytes(16), **odd: Any) -> bytes:
    """A header. `odd` replaces single fields, to make headers that must be refused for that and nothing else."""
    algorithm = odd.get("algorithm", 2 if protection == 2 else 1)
    body = fmt.HEADER_FIELDS.pack(
        odd.get("magic", b"LKFILE\r\n"), odd.get("version", 1), odd.get("size", 512), odd.get("compatible", 0),
        odd.get("read_only", 0), odd.get("incompatible", 0), odd.get("volume", V), file, protection, flags, algorithm,
        odd.get("zero1", 0), odd.get("wrap_length", len(wrapped)), odd.get("zero2", 0), generation, length, sparse,
        place, second, odd.get("zero3", bytes(8)))
    body += wrapped + odd.get("padding", bytes(352 - len(wrapped)))
    return body + fmt.hmac_sha256(KEYS.headers, body)


def block(file_key: bytes, file: bytes, index: int, plain: bytes) -> bytes:
    nonce = fixed(f"nonce {file.hex()} {index}", 16)
    return nonce + AESGCM(file_key).encrypt(nonce, plain, V + file + struct.pack("<Q", index))


def blocks(file_key: bytes, file: bytes, plain: bytes) -> bytes:
    return b"".join(block(file_key, file, at // 4096, plain[at:at + 4096]) for at in range(0, len(plain), 4096))


def symlink_target(target: bytes) -> str:
    nonce = fixed("symlink " + target.hex(), 16)
    return fmt.b64_encode(nonce + siv(KEYS.symlinks, [nonce], target)).decode()


def xattr(owner: bytes, name: bytes, value: bytes) -> tuple[str, bytes]:
    nonce = fixed(f"xattr {owner.hex()} {name.hex()}", 16)
    stored = "user.lk." + fmt.b64_encode(siv(KEYS.xattrs, [owner, b"name"], name)).decode()
    return stored, nonce + siv(KEYS.xattrs, [owner, name, nonce], b"\0" + value)


def recovery_text(key: bytes) -> str:
    number = int.from_bytes(key, "big") << 4 | hashlib.sha256(key).digest()[0] >> 4
    plain = "".join(fmt.CROCKFORD[number >> shift & 31] for shift in range(255, -5, -5))
    return "-".join(plain[at:at + 4] for at in range(0, 52, 4))


def record(kind: int, value: bytes, zero: int = 0) -> bytes:
    return struct.pack("<HHI", kind, zero, len(value)) + value


def argon(passcode: bytes, salt: bytes, memory: int, passes: int, lanes: int) -> bytes:
    return hash_secret_raw(passcode, fmt.hmac_sha256(DEVICE_KEY, b"argon2 salt" + salt), passes, memory, lanes, 32,
                           Type.ID, 0x13)


def keybag_parts() -> dict[str, Any]:
    """The records of the one keybag of these vectors, and the steps that lead to them."""
    bundle = b"".join([CLASSES.complete, PRIVATE_B, CLASSES.until_first_authentication, CLASSES.none, VOLUME_KEY,
                       UNLOCK_MAC_KEY])
    memory, passes, lanes = 19_456, 2, 1
    salt, recovery_salt = fixed("passcode salt", 16), fixed("recovery salt", 16)
    stretched = argon(PASSCODE, salt, memory, passes, lanes)
    passcode_key = fmt.hkdf(stretched, DEVICE_KEY, V, 32)
    recovery_slot_key = fmt.hkdf(RECOVERY_KEY, recovery_salt, b"latchkey recovery" + V, 32)
    created = 1_750_000_000
    device_slot_key = fmt.hkdf(DEVICE_KEY, V, b"latchkey device slot", 32)
    passcode_head = struct.pack("<IQB3sIII16s", 1, created, 0x13, bytes(3), memory, passes, lanes, salt)
    recovery_head = struct.pack("<IQ16s", 2, created, recovery_salt)
    return {
        "bundle": bundle, "memory": memory, "passes": passes, "lanes": lanes, "salt": salt, "argon": stretched,
        "passcodeKey": passcode_key, "recoverySalt": recovery_salt, "recoverySlotKey": recovery_slot_key,
        "deviceSlotKey": device_slot_key, "created": created,
        "settings": struct.pack("<QHBBI", created, 255, 1, 0, 4096),
        "deviceSlot": aes_key_wrap(device_slot_key, VOLUME_KEY + CLASSES.none),
        "passcodeSlot": passcode_head + aes_key_wrap(passcode_key, bundle) + "Schlüssel".encode(),
        "recoverySlot": recovery_head + aes_key_wrap(recovery_slot_key, bundle),
    }


def keybag(records: list[bytes], *, unlock_mac_key: bytes = UNLOCK_MAC_KEY, device_key: bytes = DEVICE_KEY,
           generation: int = 7, **odd: Any) -> bytes:
    body = b"".join(records)
    head = struct.pack("<8sHHIIII16sQ", odd.get("magic", b"LKKEYBAG"), odd.get("version", 1), odd.get("zero", 0),
                       odd.get("size", 52 + len(body) + 64), 0, 0, odd.get("incompatible", 0), V, generation)
    signed = head + body
    signed += fmt.hmac_sha256(unlock_mac_key, signed)
    return signed + fmt.hmac_sha256(fmt.hkdf(device_key, V, b"latchkey keybag", 32), signed)


def good_keybag() -> bytes:
    parts = keybag_parts()
    # 200 is a kind of slot that no reader of version 1 knows: it is skipped.
    return keybag([record(1, parts["settings"]), record(2, PUBLIC_B), record(3, parts["deviceSlot"]),
                   record(16, parts["passcodeSlot"]), record(200, b"a slot of the future"),
                   record(17, parts["recoverySlot"])])


# The files ---------------------------------------------------------------------------------------------------------


def subkey_vectors() -> dict[str, Any]:
    return {"volumeID": V, "volumeKey": VOLUME_KEY,
            "subkeys": [{"label": f"latchkey {label}", "key": fmt.hkdf(VOLUME_KEY, V, f"latchkey {label}".encode(), n)}
                        for label, n in [("names", 64), ("symlinks", 64), ("xattrs", 64), ("directories", 64),
                                         ("headers", 32), ("places", 32), ("journal", 32)]]}


def base64_vectors() -> dict[str, Any]:
    return {"cases": [{"raw": fixed("base64", n), "text": fmt.b64_encode(fixed("base64", n)).decode()}
                      for n in (0, 1, 2, 3, 16, 44)],
            "refused": [{"why": why, "text": text} for why, text in [
                ("padding", "AA=="), ("standard alphabet", "ab+/"), ("unused bits of one byte", "AB"),
                ("unused bits of two bytes", "AAB"), ("one character left over", "AAAAA"), ("white space", "AAAA ")]]}


def name_vectors() -> dict[str, Any]:
    directory = fixed("directory ID", 16)
    names = [b"a", b"README.md", "Grüße.txt".encode(), b"\xff\xfe not UTF-8", b" ", b"...", b"lk.keybag", b"n" * 175,
             b"n" * 176, bytes(range(1, 47)) + bytes(range(48, 256)), b"z" * 255]
    cases = []
    for name in names:
        backing, sidecar = backing_name(directory, name)
        cases.append({"name": name, "sealed": siv(KEYS.names, [directory], name), "backingName": backing,
                      "sidecar": sidecar, "place": fmt.place_of(KEYS, directory, name)})
    other = fixed("another directory ID", 16)
    return {"namesKey": KEYS.names, "placesKey": KEYS.places, "directoryID": directory, "nameMax": 255, "cases": cases,
            "refused": [
                {"why": "sealed for another directory", "backingName": backing_name(other, b"a")[0]},
                {"why": "a slash in it", "backingName": backing_name(directory, b"a/b")[0]},
                {"why": "a NUL in it", "backingName": backing_name(directory, b"a\0b")[0]},
                {"why": "the name of the directory itself", "backingName": backing_name(directory, b".")[0]},
                {"why": "the name of the parent", "backingName": backing_name(directory, b"..")[0]},
                {"why": "a sync conflict", "backingName": "notes (conflicted copy).txt"},
                {"why": "only a tag", "backingName": fmt.b64_encode(bytes(16)).decode()}]}


def directory_vectors() -> dict[str, Any]:
    cases, refused = [], []
    for protection, explicit, place in [(3, False, bytes(16)), (1, True, fixed("place 1", 16)),
                                        (2, True, fixed("place 2", 16)), (4, False, fixed("place 4", 16))]:
        identifier = fixed(f"directory {protection}", 16)
        plain = directory_record(identifier, protection, explicit)
        cases.append({"place": place, "directoryID": identifier, "class": protection, "explicit": explicit,
                      "record": plain, "target": directory_target(place, plain)})
    good, place = directory_record(fixed("directory", 16), 3, True), fixed("place", 16)
    for why, plain in [("class 0", good[:16] + b"\0" + good[17:]), ("class 5", good[:16] + b"\5" + good[17:]),
                       ("an unknown flag", good[:17] + b"\3" + good[18:]), ("a zero byte is 1", good[:27] + b"\1"),
                       ("a byte short", good[:27]), ("a byte long", good + b"\0")]:
        refused.append({"why": why, "place": place, "target": directory_target(place, plain)})
    refused.append({"why": "sealed for another place", "place": place,
                    "target": directory_target(fixed("elsewhere", 16), good)})
    return {"volumeID": V, "directoriesKey": KEYS.directories, "cases": cases, "refused": refused}


def header_vectors() -> dict[str, Any]:
    place, second = fixed("place", 16), fixed("second place", 16)
    cases = []
    for protection, fields in [(1, {"length": 10_000, "flags": 1, "generation": 3}), (2, {"length": 4096}),
                               (3, {"length": 1 << 62, "flags": 2, "sparse": 5}), (4, {}),
                               (3, {"flags": 7, "second": second, "generation": 2**64 - 1})]:
        file = fixed(f"file {protection}", 16)
        wrapped = wrap(fixed("file key", 32), file, protection)
        cases.append({"class": protection, "flags": fields.get("flags", 0), "fileID": file, "wrap": wrapped,
                      "wrapAlgorithm": 2 if protection == 2 else 1, "place": place,
                      "secondPlace": fields.get("second", bytes(16)), "length": fields.get("length", 0),
                      "generation": fields.get("generation", 1),
                      "firstSparseBlock": fields.get("sparse", NEVER_SPARSE),
                      "header": header(file, protection, wrapped, place, **fields)})

    file = fixed("file", 16)
    good = wrap(fixed("file key", 32), file, 3)

    def bad(why: str, protection: int = 3, wrapped: bytes = good, by: str = "fields", **fields: Any) -> dict[str, Any]:
        return {"why": why, "by": by, "header": header(file, protection, wrapped, place, **fields)}

    whole = header(file, 3, good, place)
    refused = [
        {"why": "cut short", "by": "fields", "header": whole[:511]}, {"why": "empty", "by": "fields", "header": b""},
        {"why": "all zeros", "by": "fields", "header": bytes(512)},
        {"why": "a bit flipped in the MAC", "by": "mac", "header": whole[:511] + bytes([whole[511] ^ 1])},
        {"why": "C lowered to D", "by": "mac", "header": whole[:56] + b"\4" + whole[57:]},
        bad("magic", magic=b"LKFILE\n\n"), bad("version 2", version=2), bad("version 0", version=0),
        bad("header size", size=1024), bad("an unknown incompatible feature", incompatible=1),
        bad("another volume", volume=fixed("another volume", 16), by="volume"),
        bad("class 0", protection=0, algorithm=1), bad("class 5", protection=5, algorithm=1),
        bad("an unknown flag", flags=8), bad("algorithm 0", algorithm=0, by="wrap"),
        bad("algorithm 3", algorithm=3, by="wrap"),
        bad("class B wrapped as the others", protection=2, algorithm=1, by="wrap"),
        bad("class C wrapped as B", wrapped=wrap(fixed("file key", 32), file, 2), algorithm=2, by="wrap"),
        bad("a wrap of 32 bytes", wrapped=good[:32], by="wrap"),
        bad("wrap length 353", wrap_length=353), bad("wrap length 0", wrap_length=0),
        bad("length above 2^62", length=(1 << 62) + 1), bad("zero at 59", zero1=1), bad("zero at 62", zero2=1),
        bad("zero at 120", zero3=bytes(7) + b"\1"), bad("zero after the wrap", padding=bytes(311) + b"\1"),
        bad("second place without moving", second=second)]
    return {"volumeID": V, "headersKey": KEYS.headers, "cases": cases, "refused": refused,
            "readOnly": [bad("an unknown read-only compatible feature", read_only=1)],
            "compatible": [bad("an unknown compatible feature", compatible=1)]}


def wrap_vectors() -> dict[str, Any]:
    file_key, cases = fixed("file key", 32), []
    for protection in (1, 3, 4):
        file = fixed(f"file {protection}", 16)
        cases.append({"class": protection, "classKey": CLASSES.key(protection), "fileID": file, "fileKey": file_key,
                      "wrappingKey": fmt.wrap_key(CLASSES.key(protection), V, file, protection),
                      "algorithm": 1, "wrap": wrap(file_key, file, protection)})
    file = fixed("file 2", 16)
    private = fixed("ephemeral " + file.hex(), 32)
    public = fmt.public_key(X25519PrivateKey.from_private_bytes(private))
    shared = X25519PrivateKey.from_private_bytes(private).exchange(X25519PublicKey.from_public_bytes(PUBLIC_B))
    good = wrap(file_key, file, 2)
    return {"volumeID": V, "cases": cases,
            "caseB": {"class": 2, "algorithm": 2, "privateKeyB": PRIVATE_B, "publicKeyB": PUBLIC_B,
                      "ephemeralPrivateKey": private, "ephemeralPublicKey": public, "sharedSecret": shared,
                      "fileID": file, "fileKey": file_key, "wrap": good,
                      "wrappingKey": fmt.wrap_key_b(shared, public, PUBLIC_B, V, file)},
            "refused": [
                {"why": "of another file", "class": 3, "fileID": fixed("another file", 16), "wrap": cases[1]["wrap"]},
                {"why": "of another class", "class": 4, "fileID": cases[1]["fileID"], "wrap": cases[1]["wrap"]},
                {"why": "shared secret zero", "class": 2, "fileID": file, "wrap": bytes(32) + good[32:]},
                {"why": "another ephemeral key", "class": 2, "fileID": file, "wrap": PUBLIC_B + good[32:]},
                {"why": "of another file, class B", "class": 2, "fileID": fixed("another file", 16), "wrap": good}]}


def block_vectors() -> dict[str, Any]:
    file, file_key = fixed("file", 16), fixed("file key", 32)
    cases = []
    for index, plain in [(0, b"\0"), (1, bytes(4096)), (2, fixed("plaintext", 4096)), (2**40, b"the last one")]:
        stored = block(file_key, file, index, plain)
        cases.append({"index": index, "nonce": stored[:16], "plaintext": plain, "stored": stored})
    stored = cases[1]["stored"]
    return {"volumeID": V, "fileID": file, "fileKey": file_key, "cases": cases,
            "refused": [{"why": "at another index", "index": 0, "stored": stored},
                        {"why": "a byte short", "index": 1, "stored": stored[:-1]},
                        {"why": "all zeros", "index": 1, "stored": bytes(4128)},
                        {"why": "only a nonce and a tag", "index": 1, "stored": bytes(32)},
                        {"why": "a bit flipped", "index": 0,
                         "stored": cases[0]["stored"][:16] + bytes([cases[0]["stored"][16] ^ 1])
                         + cases[0]["stored"][17:]}]}


def symlink_vectors() -> dict[str, Any]:
    targets = [b"a", b"../up/and/over", "Ünïcode".encode(), b"\xff\xfe", b"/" + b"t" * 1023]
    return {"symlinksKey": KEYS.symlinks,
            "cases": [{"target": target, "nonce": fixed("symlink " + target.hex(), 16),
                       "stored": symlink_target(target)} for target in targets]}


def xattr_vectors() -> dict[str, Any]:
    owner, cases = fixed("file", 16), []
    for name, value in [(b"user.comment", b"hello"), (b"user.empty", b""), (b"user.big", fixed("value", 3000))]:
        stored_name, stored = xattr(owner, name, value)
        cases.append({"name": name.decode(), "value": value, "nonce": stored[:16], "storedName": stored_name,
                      "storedValue": stored})
    return {"xattrsKey": KEYS.xattrs, "ownerID": owner, "cases": cases}


def recovery_vectors() -> dict[str, Any]:
    text = recovery_text(RECOVERY_KEY)
    swapped = text[:5] + text[5:].replace(text[5], "0" if text[5] != "0" else "1", 1)
    zeros = recovery_text(bytes(32))
    return {"cases": [{"key": key, "text": recovery_text(key)} for key in (RECOVERY_KEY, bytes(32), b"\xff" * 32)],
            "accepted": [{"key": RECOVERY_KEY, "text": text.lower().replace("-", " ")},
                         {"key": RECOVERY_KEY, "text": text.replace("-", "")},
                         {"key": bytes(32), "text": zeros.replace("0", "O", 3).replace("0", "o", 2)},
                         {"key": RECOVERY_KEY, "text": text.replace("1", "l")}],
            "refused": [{"why": "a wrong character", "text": swapped}, {"why": "cut short", "text": text[:-1]},
                        {"why": "too long", "text": text + "0"}, {"why": "empty", "text": ""},
                        {"why": "a letter that is none", "text": "U" + text[1:]}]}


def keybag_vectors() -> dict[str, Any]:
    parts, good = keybag_parts(), good_keybag()
    settings, public_b = record(1, parts["settings"]), record(2, PUBLIC_B)
    device, passcode, recovery = (record(3, parts["deviceSlot"]), record(16, parts["passcodeSlot"]),
                                  record(17, parts["recoverySlot"]))

    def cost(memory: int, passes: int, lanes: int) -> list[bytes]:
        value = parts["passcodeSlot"]
        return [settings, public_b, device, record(16, value[:16] + struct.pack("<III", memory, passes, lanes)
                                                   + value[28:])]

    def labelled(kind: int, value: bytes, label: bytes) -> list[bytes]:
        return [settings, public_b, device, record(kind, value + label)]

    at_parse = [
        ("empty", b""), ("cut short", good[:-1]), ("a byte too many", good + b"\0"),
        ("magic", keybag([settings, public_b, device, passcode], magic=b"LKKEYBAH")),
        ("version 2", keybag([settings, public_b, device, passcode], version=2)),
        ("zero at 10", keybag([settings, public_b, device, passcode], zero=1)),
        ("size", keybag([settings, public_b, device, passcode], size=65_536)),
        ("an unknown incompatible feature", keybag([settings, public_b, device, passcode], incompatible=1)),
        ("no settings", keybag([public_b, device, passcode])),
        ("settings twice", keybag([settings, settings, public_b, device, passcode])),
        ("another order", keybag([settings, device, public_b, passcode])),
        ("device slot after a passcode slot", keybag([settings, public_b, passcode, device])),
        ("a second public key at the end", keybag([settings, public_b, device, passcode, public_b])),
        ("unknown record 4", keybag([settings, public_b, device, record(4, b"")])),
        ("unknown record 256", keybag([settings, public_b, device, record(256, b"")])),
        ("a record's zero", keybag([settings, public_b, device, record(16, parts["passcodeSlot"], zero=1)])),
        ("a record past the end", keybag([settings, public_b, device, struct.pack("<HHI", 16, 0, 10**6)])),
        ("half a record", keybag([settings, public_b, device, b"\x10\0\0"])),
        ("a short passcode slot", keybag([settings, public_b, device, record(16, parts["passcodeSlot"][:243])])),
        ("a label of 256 bytes", keybag(labelled(16, parts["passcodeSlot"][:244], b"x" * 256))),
        ("a label that is not UTF-8", keybag(labelled(17, parts["recoverySlot"], b"\xff"))),
        ("too little memory", keybag(cost(19_455, 2, 1))), ("too much memory", keybag(cost(4_194_305, 2, 1))),
        ("no passes", keybag(cost(19_456, 0, 1))), ("too many passes", keybag(cost(19_456, 65, 1))),
        ("no lanes", keybag(cost(19_456, 2, 0))), ("too many lanes", keybag(cost(19_456, 2, 17))),
        ("block size 8192", keybag([record(1, struct.pack("<QHBBI", 0, 255, 1, 0, 8192)), public_b, device, passcode])),
        ("name max 55", keybag([record(1, struct.pack("<QHBBI", 0, 55, 1, 0, 4096)), public_b, device, passcode])),
        ("name max 256", keybag([record(1, struct.pack("<QHBBI", 0, 256, 1, 0, 4096)), public_b, device, passcode])),
        ("no such kind of directory record",
         keybag([record(1, struct.pack("<QHBBI", 0, 255, 3, 0, 4096)), public_b, device, passcode])),
    ]
    other_d = aes_key_wrap(parts["deviceSlotKey"], VOLUME_KEY + fixed("another class key D", 32))
    other_volume = aes_key_wrap(parts["deviceSlotKey"], fixed("another volume key", 32) + CLASSES.none)
    other_b = fmt.public_key(X25519PrivateKey.from_private_bytes(fixed("another class key B", 32)))
    flipped = bytearray(good)
    flipped[60] ^= 1
    hexed = ["bundle", "salt", "argon", "passcodeKey", "recoverySalt", "recoverySlotKey", "deviceSlotKey"]
    return {
        "volumeID": V, "volumeKey": VOLUME_KEY, "deviceKey": DEVICE_KEY, "passcode": PASSCODE,
        "recoveryKey": RECOVERY_KEY, "recoveryText": recovery_text(RECOVERY_KEY), "publicKeyB": PUBLIC_B,
        "classKeyA": CLASSES.complete, "privateKeyB": PRIVATE_B, "classKeyC": CLASSES.until_first_authentication,
        "classKeyD": CLASSES.none, "unlockMACKey": UNLOCK_MAC_KEY, "created": parts["created"], "generation": 7,
        "nameMax": 255, "memoryKiB": parts["memory"], "passes": parts["passes"], "lanes": parts["lanes"],
        "passcodeSlotID": 1, "passcodeLabel": "Schlüssel", "recoverySlotID": 2,
        **{name: parts[name] for name in hexed},
        "keybag": good, "deviceKeyFile": b"LKDEVKEY" + struct.pack("<H6s", 1, bytes(6)) + V + DEVICE_KEY,
        "refusedAtParse": [{"why": why, "keybag": raw} for why, raw in at_parse],
        "refusedAtMount": [
            {"why": "a flipped bit in the settings", "keybag": bytes(flipped)},
            {"why": "device MAC under another key",
             "keybag": keybag([settings, public_b, device, passcode], device_key=fixed("another device key", 32))}],
        "refusedAtUnlock": [
            {"why": "unlock MAC under another key",
             "keybag": keybag([settings, public_b, device, passcode], unlock_mac_key=fixed("another", 32))},
            {"why": "the device slot's class key D",
             "keybag": keybag([settings, public_b, record(3, other_d), passcode])},
            {"why": "the device slot's volume key",
             "keybag": keybag([settings, public_b, record(3, other_volume), passcode])},
            {"why": "the public key of class B", "keybag": keybag([settings, record(2, other_b), device, passcode])}],
    }


def vault_vectors() -> dict[str, Any]:
    """A whole small vault: what to put into the backing folder, and what must be seen in the mount."""
    made: list[dict[str, Any]] = []
    seen: list[dict[str, Any]] = []

    def add(path: str, kind: str, **what: Any) -> None:
        made.append({"path": path, "kind": kind, **what})

    def put_name(parent: str, directory: bytes, name: bytes) -> str:
        short, sidecar = backing_name(directory, name)
        if sidecar:
            add(f"{parent}{short}.name", "file", content=sidecar)
        return parent + short

    def put_directory(parent: str, directory: bytes, path: bytes, protection: int, explicit: bool,
                      moved: bool = False) -> tuple[str, bytes]:
        name, identifier = path.rsplit(b"/", 1)[-1], fixed(f"directory {path.hex()}", 16)
        backing = put_name(parent, directory, name) + "/"
        plain, place = directory_record(identifier, protection, explicit), fmt.place_of(KEYS, directory, name)
        add(backing.rstrip("/"), "directory")
        if moved:
            # A rename that a power cut ended after the directory's rename: lk.dir still has the old place.
            add(backing + "lk.dir", "symlink", target=directory_target(fixed("old place", 16), plain))
            add(backing + "lk.dir.new", "symlink", target=directory_target(place, plain))
        else:
            add(backing + "lk.dir", "symlink", target=directory_target(place, plain))
        seen.append({"path": path, "kind": "directory", "class": protection, "explicit": explicit})
        return backing, identifier

    def put_file(parent: str, directory: bytes, path: bytes, protection: int, content: bytes, *, zeros: int = 0,
                 length: int | None = None, residue: bytes = b"", attributes: dict[bytes, bytes] | None = None,
                 flags: int = 0, old_place: bytes = b"", link: bytes = b"") -> None:
        name, file = path.rsplit(b"/", 1)[-1], fixed(f"file {path.hex()}", 16)
        file_key, place = fixed(f"file key {path.hex()}", 32), fmt.place_of(KEYS, directory, name)
        confirmed = content if length is None else content[:length]
        fields: dict[str, Any] = {"flags": flags, "length": len(confirmed) + zeros}
        if old_place:
            fields |= {"flags": flags | 4, "second": place}
        if zeros:
            fields["sparse"] = len(content) // 4096
        raw = header(file, protection, wrap(file_key, file, protection), old_place or place, **fields)
        raw += blocks(file_key, file, content) + residue
        whole, rest = divmod(zeros, 4096)
        backing = put_name(parent, directory, name)
        add(backing, "file", content=raw, zeros=whole * 4128 + (rest + 32 if rest else 0),
            xattrs=dict(xattr(file, key, value) for key, value in (attributes or {}).items()))
        expected = {"kind": "file", "class": protection, "explicit": bool(flags & 1), "content": confirmed,
                    "zeros": zeros, "xattrs": {key.decode(): value for key, value in (attributes or {}).items()}}
        seen.append({"path": path, **expected})
        if link:
            add(put_name(parent, directory, link), "link", to=backing)
            seen.append({"path": path.rsplit(b"/", 1)[0] + b"/" + link, **expected})

    root = fixed("directory /", 16)
    add("lk.keybag", "file", content=good_keybag())
    add("lk.lock", "file", content=b"")
    add("lk.dir", "symlink", target=directory_target(bytes(16), directory_record(root, 3, False)))
    put_file("", root, b"/hello.txt", 3, b"Hello, vault\n", attributes={b"user.comment": b"hi", b"user.empty": b""})
    put_file("", root, b"/empty", 4, b"")
    put_file("", root, b"/public", 4, fixed("public", 5000), flags=1)
    put_file("", root, b"/one block", 3, fixed("one block", 4096))
    put_file("", root, b"/sparse", 3, fixed("sparse", 8192), zeros=2 * 1024 * 1024 + 10)
    put_file("", root, b"/residue", 3, fixed("residue", 4096), residue=b"\1" * 5000)
    put_file("", root, b"/not all confirmed", 3, fixed("confirmed", 5000), length=4500)
    put_file("", root, b"/moving", 3, b"on its way", old_place=fixed("the old place", 16))
    put_file("", root, b"/linked", 3, b"two names", flags=2, link=b"linked too")
    put_file("", root, b"/" + b"long" * 50, 3, b"a long name")
    put_file("", root, "/Grüße".encode(), 3, "schöne Grüße".encode())
    put_file("", root, b"/\xff\xfe", 3, b"a name that is not UTF-8")
    add(put_name("", root, b"link"), "symlink", target=symlink_target(b"secret/../hello.txt"))
    seen.append({"path": b"/link", "kind": "symlink", "target": b"secret/../hello.txt"})
    backing, identifier = put_directory("", root, b"/secret", 1, True)
    put_file(backing, identifier, b"/secret/diary", 1, fixed("diary", 10_000))
    put_file(backing, identifier, b"/secret/inbox", 2, fixed("inbox", 4097), flags=1)
    backing, identifier = put_directory(backing, identifier, b"/secret/" + b"deep" * 60, 1, False)
    put_file(backing, identifier, b"/secret/" + b"deep" * 60 + b"/file", 1, b"deep down")
    put_directory("", root, b"/moved", 2, False, moved=True)
    add("notes (conflicted copy).txt", "file", content=b"foreign")
    add("lk.tmp.0123456789abcdef", "file", content=b"rubbish of a crash")
    add("lk.long." + "A" * 43 + ".name", "file", content=b"a sidecar without its entry")
    return {"deviceKeyFile": b"LKDEVKEY" + struct.pack("<H6s", 1, bytes(6)) + V + DEVICE_KEY, "passcode": PASSCODE,
            "recoveryText": recovery_text(RECOVERY_KEY), "make": made, "see": seen,
            "foreign": ["notes (conflicted copy).txt"]}


FILES = {
    "base64url": base64_vectors, "blocks": block_vectors, "directories": directory_vectors, "headers": header_vectors,
    "keybag": keybag_vectors, "names": name_vectors, "recovery": recovery_vectors, "subkeys": subkey_vectors,
    "symlinks": symlink_vectors, "vault": vault_vectors, "wraps": wrap_vectors, "xattrs": xattr_vectors,
}


def as_json(vectors: dict[str, Any]) -> str:
    def plain(value: Any) -> Any:
        if isinstance(value, bytes):
            return value.hex()
        if isinstance(value, dict):
            return {key: plain(inner) for key, inner in value.items()}
        return [plain(inner) for inner in value] if isinstance(value, list) else value

    return json.dumps(plain(vectors), indent=1, ensure_ascii=False) + "\n"


# The worked example of FORMAT.md -----------------------------------------------------------------------------------


def hex_dump(raw: bytes) -> list[str]:
    """Sixteen bytes a line behind their offset; a run of zero lines is one asterisk, as hexdump(1) writes it."""
    lines: list[str] = []
    for at in range(0, len(raw), 16):
        row = raw[at:at + 16]
        line = f"{at:04x}  {row[:8].hex(' ')}  {row[8:].hex(' ')}".rstrip() if any(row) else "*"
        if line != "*" or lines[-1:] != ["*"]:
            lines.append(line)
    return lines


def worked_example() -> str:
    """The file hello.txt of vault.json, step by step."""
    root, path, content = fixed("directory /", 16), b"/hello.txt", b"Hello, vault\n"
    name, file, file_key = path[1:], fixed(f"file {path.hex()}", 16), fixed(f"file key {path.hex()}", 32)
    place, class_key = fmt.place_of(KEYS, root, name), CLASSES.key(3)
    wrapped, record_bytes = wrap(file_key, file, 3), directory_record(root, 3, False)
    values = [
        ("volume ID V", V), ("volume key", VOLUME_KEY), ("subkey names", KEYS.names), ("subkey places", KEYS.places),
        ("subkey headers", KEYS.headers), ("subkey directories", KEYS.directories), None,
        ("root's ID D", root), ("root's record", record_bytes),
        ("root's lk.dir", directory_target(bytes(16), record_bytes)), None,
        ("name p", name), ("SIV(names, [D], p)", siv(KEYS.names, [root], name)),
        ("backing name", backing_name(root, name)[0]), ("place", place), None,
        ("file ID F", file), ("file key", file_key), ("class key C", class_key),
        ("wrapping key", fmt.wrap_key(class_key, V, file, 3)), ("wrap", wrapped)]
    lines = []
    for value in values:
        if value is None:
            lines.append("")
            continue
        label, raw = value
        text = raw.hex() if isinstance(raw, bytes) else raw
        parts = [text[at:at + 64] for at in range(0, len(text), 64)]
        lines += [f"{label:<20}{parts[0]}"] + [" " * 20 + part for part in parts[1:]]
    stored = header(file, 3, wrapped, place, length=len(content)) + blocks(file_key, file, content)
    return "\n".join(["```", *lines, "```", "", "The backing file, header and one block of 13 bytes:", "", "```",
                      *hex_dump(stored), "```"]) + "\n"


# Reading back ------------------------------------------------------------------------------------------------------


def build(vault: dict[str, Any], folder: Path) -> None:
    """Put the vault of vault.json into an empty folder."""
    for item in vault["make"]:
        path = folder / item["path"]
        if item["kind"] == "directory":
            path.mkdir()
        elif item["kind"] == "symlink":
            path.symlink_to(item["target"])
        elif item["kind"] == "link":
            os.link(folder / item["to"], path)
        else:
            path.write_bytes(item["content"])
            os.truncate(path, len(item["content"]) + item.get("zeros", 0))
            for name, value in item.get("xattrs", {}).items():
                os.setxattr(path, name, value)


def build_with_keys(folder: Path) -> None:
    """The vault, and beside it what opens it."""
    given = vault_vectors()
    (folder / "vault").mkdir()
    build(given, folder / "vault")
    for name, content in [("device.key", given["deviceKeyFile"]), ("passcode", given["passcode"] + b"\n"),
                          ("recovery-key", given["recoveryText"].encode() + b"\n")]:
        path = folder / name
        path.touch(mode=0o600)
        path.write_bytes(content)


def compare(mount: Path) -> list[str]:
    """How a mount of the vault differs from what vault.json says is seen in it."""
    failures: list[str] = []
    root = os.fsencode(mount)
    expected = {item["path"]: item for item in vault_vectors()["see"]}
    found = {os.path.join(parent, name)[len(root):] for parent, folders, files in os.walk(root)
             for name in folders + files}
    failures += [f"not there: {path!r}" for path in sorted(expected.keys() - found)]
    failures += [f"should not be there: {path!r}" for path in sorted(found - expected.keys())]
    for path in sorted(found & expected.keys()):
        item, full = expected[path], root + path
        differ: list[str] = []
        try:
            if item["kind"] == "symlink":
                differ += ["target"] * (os.readlink(full) != item["target"])
                continue
            attributes = {name: os.getxattr(full, name) for name in os.listxattr(full)}
            # getxattr(2) always answers for the class, listxattr(2) names it only where it is explicit.
            explicit = attributes.pop("user.latchkey.class", None) is not None
            differ += ["explicit"] * (explicit != item["explicit"])
            protection = os.getxattr(full, "user.latchkey.class").decode()
            differ += ["class"] * (protection != fmt.CLASS_NAMES[item["class"]])
            differ += ["attributes"] * (attributes != item.get("xattrs", {}))
            if item["kind"] == "file":
                content = item["content"] + bytes(item["zeros"])
                differ += ["size"] * (os.stat(full).st_size != len(content))
                differ += ["contents"] * (Path(os.fsdecode(full)).read_bytes() != content)
        except OSError as error:
            differ.append(str(error))
        finally:
            failures += [f"{path!r}: {what}" for what in differ]
    return failures


def refusal(action: Any, *arguments: Any) -> bool:
    try:
        action(*arguments)
    except (fmt.Refused, fmt.Locked):
        return True
    return False


def check_refusals(failures: list[str]) -> None:
    """Everything that the vectors call refused, the reader refuses."""
    def expect(refused: bool, file: str, case: dict[str, Any]) -> None:
        if not refused:
            failures.append(f"{file}: not refused: {case['why']}")

    for case in base64_vectors()["refused"]:
        expect(refusal(fmt.b64_decode, case["text"].encode()), "base64url", case)
    names = name_vectors()
    for case in names["refused"]:
        expect(refusal(lambda text: fmt.open_name(KEYS, names["directoryID"], fmt.b64_decode(text.encode())),
                       case["backingName"]), "names", case)
    for case in directory_vectors()["refused"]:
        expect(refusal(fmt.open_directory_record, KEYS, case["place"], case["target"].encode()), "directories", case)
    for case in header_vectors()["refused"]:
        expect(refusal(fmt.open_header, KEYS, case["header"]), "headers", case)
    for case in wrap_vectors()["refused"]:
        opened = fmt.FileHeader(case["fileID"], case["class"], 0, 2 if case["class"] == 2 else 1, 1, 0, 0, b"", b"",
                                case["wrap"])
        expect(refusal(fmt.open_file_key, opened, V, CLASSES), "wraps", case)
    blocks_given = block_vectors()
    for case in blocks_given["refused"]:
        expect(refusal(fmt.open_block, blocks_given["fileKey"], V, blocks_given["fileID"], case["index"],
                       case["stored"]), "blocks", case)
    for case in recovery_vectors()["refused"]:
        expect(refusal(fmt.parse_recovery_key, case["text"]), "recovery", case)
    bags = keybag_vectors()
    for case in bags["refusedAtParse"]:
        expect(refusal(fmt.parse_keybag, case["keybag"]), "keybag", case)
    for case in bags["refusedAtMount"]:
        expect(refusal(fmt.open_device_slot, fmt.parse_keybag(case["keybag"]), DEVICE_KEY), "keybag", case)
    given = fmt.Credentials(device_key=DEVICE_KEY, passcode=PASSCODE)
    for case in bags["refusedAtUnlock"]:
        bag = fmt.parse_keybag(case["keybag"])
        expect(refusal(fmt.unlock, bag, given, fmt.open_device_slot(bag, DEVICE_KEY)), "keybag", case)


def check_vault(failures: list[str]) -> None:
    """The reader, run as a person runs it, sees in vault.json's vault what vault.json says."""
    given = vault_vectors()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        build_with_keys(folder)

        def read(*arguments: str | bytes, keys: tuple[str, ...] = ("passcode",)) -> subprocess.CompletedProcess[bytes]:
            options = {"device": ["--device-key", folder / "device.key"],
                       "passcode": ["--device-key", folder / "device.key", "--passcode-file", folder / "passcode"],
                       "recovery": ["--recovery-key-file", folder / "recovery-key"]}
            command = [sys.executable, TOOLS / "read-vault.py", folder / "vault"]
            return subprocess.run(command + [option for key in keys for option in options[key]] + list(arguments),
                                  capture_output=True, check=False)

        def expect(condition: bool, what: str) -> None:
            if not condition:
                failures.append(f"vault: {what}")

        names = sorted(item["path"][1:] for item in given["see"] if item["path"].count(b"/") == 1)
        expect(read("ls").stdout.splitlines() == names, "ls of the root")
        for item in given["see"]:
            if item["kind"] == "file":
                content = item["content"] + bytes(item["zeros"])
                expect(read("cat", item["path"]).stdout == content, f"cat {item['path']!r}")
            facts = json.loads(read("stat", item["path"]).stdout)
            if "class" in item:
                shown = (facts["class"], facts["explicit"])
                expect(shown == (fmt.CLASS_NAMES[item["class"]], item["explicit"]), f"class of {item['path']!r}")
            expect(facts.get("target", "") == item.get("target", b"").decode(), f"target of {item['path']!r}")
            attributes = {name: value.hex() for name, value in item.get("xattrs", {}).items()}
            expect(facts.get("xattrs", {}) == attributes, f"attributes of {item['path']!r}")
        expect(read("verify").returncode == 0, "verify")
        expect(read("verify", keys=("recovery",)).returncode == 0, "verify with the recovery key")
        expect(read("cat", "/public", keys=("device",)).returncode == 0, "class D with the device key alone")
        expect(read("cat", "/hello.txt", keys=("device",)).returncode == 4, "class C with the device key alone")
        bag, previous = folder / "vault" / "lk.keybag", folder / "vault" / "lk.keybag.old"
        bag.rename(previous)
        expect(read("ls").returncode == 0, "the previous keybag, where there is no other")
        bag.write_bytes(given["make"][0]["content"][:-1])
        expect(read("ls").returncode == 0, "the previous keybag, where the other is cut short")
        previous.unlink()
        expect(read("ls").returncode == 6, "a keybag cut short")
        bag.unlink()
        expect(read("ls").returncode == 5, "no keybag")
        bag.write_bytes(given["make"][0]["content"])
        (folder / "passcode").write_bytes(b"wrong\n")
        expect(read("ls").returncode == 3, "a wrong passcode")


def check() -> int:
    failures: list[str] = []
    for name, make in FILES.items():
        path = VECTORS / f"{name}.json"
        if not path.exists() or path.read_text() != as_json(make()):
            failures.append(f"{path.relative_to(TOOLS.parent)} is not what tools/make-vectors.py writes")
    if worked_example() not in (TOOLS.parent / "docs" / "FORMAT.md").read_text():
        failures.append("the worked example in docs/FORMAT.md is not what tools/make-vectors.py --example prints")
    check_refusals(failures)
    check_vault(failures)
    for failure in failures:
        print(failure, file=sys.stderr)
    return 1 if failures else 0


def main() -> int:
    parser = argparse.ArgumentParser(description="Write Tests/Vectors/*.json, the same bytes at every run.")
    parser.add_argument("--check", action="store_true", help="write nothing; compare, and read the vault back")
    parser.add_argument("--example", action="store_true", help="print the worked example of docs/FORMAT.md instead")
    parser.add_argument("--vault", type=Path, metavar="FOLDER", help="make the vault of vault.json in FOLDER/vault "
                        "instead, and device.key, passcode and recovery-key beside it")
    parser.add_argument("--compare", type=Path, metavar="DIR", help="compare a mount of that vault with vault.json")
    given = parser.parse_args()
    if given.vault:
        build_with_keys(given.vault)
        return 0
    if given.compare:
        failures = compare(given.compare)
        print("\n".join(failures), end="\n" if failures else "", file=sys.stderr)
        return 1 if failures else 0
    if given.example:
        print(worked_example(), end="")
        return 0
    if given.check:
        return check()
    VECTORS.mkdir(parents=True, exist_ok=True)
    for name, make in FILES.items():
        (VECTORS / f"{name}.json").write_text(as_json(make()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
