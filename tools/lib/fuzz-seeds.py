#!/usr/bin/env python3
"""fuzz-seeds.py FOLDER: inputs for the fuzz targets, made from Tests/Vectors, in FOLDER/TARGET/.

They are in what format docs/FORMAT.md has today, whatever the corpora in Tests/Fuzz/Corpus are from.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any, Iterator

VECTORS = Path(__file__).resolve().parents[2] / "Tests" / "Vectors"


def vectors(name: str) -> dict[str, Any]:
    return json.loads((VECTORS / f"{name}.json").read_text(encoding="utf-8"))


def values(tree: Any, *keys: str) -> Iterator[str]:
    """Every string under one of the keys, anywhere in a tree."""
    if isinstance(tree, dict):
        for key, value in tree.items():
            if key in keys and isinstance(value, str):
                yield value
            else:
                yield from values(value, *keys)
    elif isinstance(tree, list):
        for item in tree:
            yield from values(item, *keys)


def names() -> Iterator[bytes]:
    for text in values(vectors("names"), "backingName"):
        yield b"\0" + text.encode()
        yield b"\0" + text.encode() + b".name"
    for text in (*values(vectors("base64url"), "text"), *values(vectors("xattrs"), "storedName")):
        yield b"\0" + text.encode()
    for text in ("complete", "b", "NSFileProtectionNone", "lk.dir", "lk.keybag.new", "lk.tmp.x", "lk.long."):
        yield b"\0" + text.encode()
    for sealed in values(vectors("names"), "sealed", "sidecar"):
        yield b"\2" + bytes.fromhex(sealed)
    for name in values(vectors("names"), "name"):
        yield b"\1" + bytes.fromhex(name)
        yield b"\3" + bytes.fromhex(name)
    yield from (b"\3.", b"\3..", b"\3a/b", b"\3", b"\3" + b"x" * 256)


def directory() -> Iterator[bytes]:
    for record in values(vectors("directories"), "record"):
        yield b"\0" + bytes.fromhex(record)
        yield b"\2" + bytes.fromhex(record)
    for target in values(vectors("directories"), "target"):
        yield b"\1" + target.encode()
        yield b"\3" + target.encode()


def keybag() -> Iterator[bytes]:
    yield from map(bytes.fromhex, values(vectors("keybag"), "keybag"))


def device_key() -> Iterator[bytes]:
    yield from map(bytes.fromhex, values(vectors("keybag"), "deviceKeyFile"))


def recovery_key() -> Iterator[bytes]:
    yield from (text.encode() for text in values(vectors("recovery"), "text"))
    yield from map(bytes.fromhex, values(vectors("recovery"), "key"))


def control() -> Iterator[bytes]:
    calls: list[dict[str, Any]] = [
        {"method": "org.varlink.service.GetInfo"},
        {"method": "org.varlink.service.GetInterfaceDescription", "parameters": {"interface": "io.latchkey"}},
        {"method": "io.latchkey.Status", "parameters": {}},
        {"method": "io.latchkey.Lock", "parameters": {"now": True, "wait": True}},
        {"method": "io.latchkey.Lock", "oneway": True},
        {"method": "io.latchkey.Unlock", "parameters": {"secret": 0}},
        {"method": "io.latchkey.Unlock", "parameters": {"kind": "recovery-key", "secret": 1}},
        {"method": "io.latchkey.ChangePasscode", "parameters": {"old": 0, "new": 1}},
        {"method": "io.latchkey.Explain", "parameters": {"file": 0}},
        {"method": "io.latchkey.Unmount", "parameters": {"lazy": True}},
        {"method": "io.latchkey.Monitor", "more": True},
        {"method": "io.latchkey.Nothing"},
        {"method": "nothing"},
    ]
    encoded = [json.dumps(call).encode() + b"\0" for call in calls]
    yield from (b"\2\4" + call for call in encoded)
    yield b"\2\x20" + b"".join(encoded)
    status: dict[str, Any] = {
        "state": "locking", "graceRemaining": 1.5, "deadline": 1e9, "classKeys": ["none"], "openFiles": {"none": 2},
        "fileKeysInMemory": 0, "mountPoint": "/mnt", "vault": "/v", "volume": "00", "device": 1,
        "deviceKey": "software", "grace": 10, "readOnly": False, "version": "1", "formatVersion": 1, "pid": 1,
    }
    explanation = {
        "kind": "file", "class": "complete", "isExplicit": True, "directoryClass": "none", "wrappedBy": "a key",
        "hasKeyInMemory": False, "actions": [{"name": "read", "allowed": False, "reason": "locked"}],
        "backingPath": "x", "state": "locked",
    }
    replies: list[dict[str, Any]] = [
        {"parameters": {"status": status}, "continues": True},
        {"parameters": {"explanation": explanation}},
        {"parameters": {"vendor": "", "product": "", "version": "", "url": "", "interfaces": ["io.latchkey"]}},
        {"error": "io.latchkey.Failed", "parameters": {"reason": "no"}},
        {"error": "io.latchkey.PasscodeLength", "parameters": {"bytes": 0}},
    ]
    yield b"\x80\0" + b"".join(json.dumps(reply).encode() + b"\0" for reply in replies)
    yield from (b"\x80\0" + json.dumps(reply).encode() + b"\0" for reply in replies)


TARGETS = {
    "control": control, "device-key": device_key, "directory": directory, "keybag": keybag, "names": names,
    "recovery-key": recovery_key,
}


def main() -> None:
    for target, seeds in TARGETS.items():
        folder = Path(sys.argv[1]) / target
        folder.mkdir(parents=True, exist_ok=True)
        for seed in seeds():
            (folder / hashlib.sha1(seed).hexdigest()).write_bytes(seed)


main()
