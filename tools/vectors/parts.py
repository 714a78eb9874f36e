"""Subkeys, names, directory records, wraps, blocks, symbolic links, attributes, recovery keys."""

from __future__ import annotations

import hashlib
from typing import Any

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

from .sealing import (CLASSES, KEYS, PRIVATE_B, PUBLIC_B, RECOVERY_KEY, V, VOLUME_KEY, backing_name, block,
                      directory_record, directory_target, fixed, fmt, numbered_nonce, recovery_text, siv,
                      symlink_target, wrap, xattr)


def subkey_vectors() -> dict[str, Any]:
    return {"volumeID": V, "volumeKey": VOLUME_KEY,
            "subkeys": [{"label": f"latchkey {label}", "key": fmt.hkdf(VOLUME_KEY, V, f"latchkey {label}".encode(), n)}
                        for label, n in [("names", 64), ("symlinks", 64), ("xattrs", 64), ("directories", 64),
                                         ("headers", 32), ("places", 32), ("journal", 32), ("journal blocks", 32),
                                         ("summaries", 32), ("claims", 64), ("members", 32), ("marks", 64)]]}


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
                      "sidecar": sidecar, "place": fmt.name_binding(KEYS, directory, name)})
    other = fixed("another directory ID", 16)
    return {"namesKey": KEYS.names, "placesKey": KEYS.bindings, "directoryID": directory, "nameMax": 255,
            "cases": cases,
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
    for protection, explicit, binding, generation in [
            (3, False, bytes(16), 0), (1, True, fixed("place 1", 16), 0), (2, True, fixed("place 2", 16), 0),
            (4, False, fixed("place 4", 16), 0), (3, True, fixed("place 5", 16), 1),
            (1, False, fixed("place 6", 16), 2**63)]:
        identifier = fixed(f"directory {protection}", 16)
        plain = directory_record(identifier, protection, explicit, generation)
        cases.append({"place": binding, "directoryID": identifier, "class": protection, "explicit": explicit,
                      "generation": generation, "record": plain, "target": directory_target(binding, plain)})
    good, binding = directory_record(fixed("directory", 16), 3, True), fixed("place", 16)
    for why, plain in [("class 0", good[:16] + b"\0" + good[17:]), ("class 5", good[:16] + b"\5" + good[17:]),
                       ("an unknown flag", good[:17] + b"\3" + good[18:]), ("a zero byte is 1", good[:27] + b"\1"),
                       ("a generation above 2^63", directory_record(good[:16], 3, True, 2**63 + 1)),
                       ("a byte short", good[:27]), ("a byte long", good + b"\0")]:
        refused.append({"why": why, "place": binding, "target": directory_target(binding, plain)})
    refused.append({"why": "sealed for another place", "place": binding,
                    "target": directory_target(fixed("elsewhere", 16), good)})
    return {"volumeID": V, "directoriesKey": KEYS.directories, "cases": cases, "refused": refused}


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
    randoms = {number: fixed(f"random bytes beside {number}", 8) for number in (0, 1, 2**62)}
    return {"volumeID": V, "fileID": file, "fileKey": file_key, "cases": cases,
            "numbers": {"nonceKey": fmt.nonce_key(file_key, V, file), "cases": [
                {"number": number, "random": random, "nonce": numbered_nonce(file_key, file, number, random)}
                for number, random in randoms.items()]},
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
    for name, value in [(b"user.comment", b"hello"), (b"user.empty", b""), (b"user.big", fixed("value", 3000)),
                        (b"user." + 164 * b"s", b"short"), (b"user." + 165 * b"l", b"long"),
                        (b"user." + 250 * b"m", b"longest")]:
        stored_name, stored = xattr(owner, name, value)
        at = len(stored) - len(value) - 33
        cases.append({"name": name.decode(), "value": value, "nonce": stored[at:at + 16], "storedName": stored_name,
                      "storedValue": stored})
    nodes = []
    for name, value in [(b"security.label", b"node"), (b"trusted." + 159 * b"s", b"short"),
                        (b"trusted." + 160 * b"l", b"long")]:
        stored_name, stored = xattr(bytes(16), name, value, "trusted.lk.")
        nodes.append({"name": name.decode(), "value": value, "storedName": stored_name, "storedValue": stored})
    return {"xattrsKey": KEYS.xattrs, "ownerID": owner, "cases": cases,
            "large": [large_xattr(owner, name, size) for name, size in [
                (b"user.fits", 65503), (b"user.large", 65504), (b"user.largest", 65536),
                (b"user." + 250 * b"m", 65536)]],
            "nodes": nodes}


def large_xattr(owner: bytes, name: bytes, size: int) -> dict[str, Any]:
    """A value of as many bytes "v", of which a hash alone stands in the vectors, and where its rest is."""
    stored_name, stored = xattr(owner, name, size * b"v")
    nonce = stored[len(stored) - size - 33:][:16]
    first, rest = stored[:65536], stored[65536:]
    return {"name": name.decode(), "size": size, "nonce": nonce, "storedName": stored_name,
            "storedSHA256": hashlib.sha256(first).digest(),
            **({"restName": "user.lk.rest." + fmt.b64_encode(nonce).decode(), "rest": rest} if rest else {})}


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
