#!/usr/bin/env python3
"""fuzz-seeds.py FOLDER: makes inputs for the fuzz targets from Tests/Vectors, in FOLDER/TARGET/.

They are in the current format of docs/FORMAT.md. The corpora in Tests/Fuzz/Corpus may be from an earlier one.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import struct
from pathlib import Path
from typing import Any, Iterator

VECTORS = Path(__file__).resolve().parents[2] / "Tests" / "Vectors"


def vectors(name: str) -> dict[str, Any]:
    return json.loads((VECTORS / f"{name}.json").read_text(encoding="utf-8"))


def values(tree: Any, *keys: str) -> Iterator[str]:
    """Every string under one of the keys, at any depth of a JSON value."""
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
    for text in (*values(vectors("base64url"), "text"), *values(vectors("xattrs"), "storedName", "restName")):
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
    for name in ("keybag", "openKeybag", "securityKeyKeybag", "rotatingKeybag", "backup"):
        yield from map(bytes.fromhex, values(vectors("keybag"), name))


def device_key() -> Iterator[bytes]:
    yield from map(bytes.fromhex, values(vectors("keybag"), "deviceKeyFile"))
    # A device key sealed by a TPM: bound to PCRs 7 and 16, with the sizes of its two parts.
    yield b"LKTPMKEY\1\0" + bytes(6) + bytes(range(16)) + bytes((0x80, 0, 1, 0)) + bytes(4) + b"\3\0abc\4\0defg"


def claim() -> Iterator[bytes]:
    yield from list(map(bytes.fromhex, values(vectors("claims"), "claim")))[:16]


def marks() -> Iterator[bytes]:
    parts = vectors("marks")
    records = [bytes.fromhex(text) for text in values(parts["records"], "record")]
    yield from (b"\0" + bytes.fromhex(text) for text in (parts["whole"], parts["damaged"][0]["marks"]))
    yield from (b"\1" + record for record in records)
    runs = [bytes.fromhex(text) for text in values(parts["runs"], "record")]
    yield from (b"\1" + run for run in runs)
    yield b"\0" + bytes.fromhex(parts["wholeRuns"])
    yield b"\7" + b"".join(runs + records + runs)
    yield b"\3" + b"".join(records)
    yield b"\5" + b"".join(records * 4)
    yield b"\1" + records[0][:33] + b"\2" + records[0][34:] + bytes([0xFF]) * 40


def sidecar() -> Iterator[bytes]:
    yield from map(bytes.fromhex, values(vectors("sidecars")["cases"], "plain"))
    yield from (bytes.fromhex(text) for text in values(vectors("sidecars")["refused"], "plain") if len(text) < 1000)


def recovery_key() -> Iterator[bytes]:
    yield from (text.encode() for text in values(vectors("recovery"), "text"))
    yield from map(bytes.fromhex, values(vectors("recovery"), "key"))


def header() -> Iterator[bytes]:
    yield from map(bytes.fromhex, values(vectors("headers"), "header"))


def journal() -> Iterator[bytes]:
    parts = vectors("journal") if (VECTORS / "journal.json").exists() else {}
    yield from (b"\0" + bytes.fromhex(head) for head in values(parts, "head"))
    yield from (b"\1" + bytes.fromhex(record) for record in values(parts, "record"))
    yield from (b"\2" + bytes.fromhex(note) for note in values(parts.get("asides", {}), "payload"))
    yield b"\2folder\0lk.tmp.x\0name"


def block() -> Iterator[bytes]:
    parts = vectors("blocks")
    for case in parts["cases"] + parts["refused"]:
        yield struct.pack("<QHB", case["index"], 40, 1) + bytes.fromhex(case["stored"])
    yield struct.pack("<QHB", 2**62, 0, 128) + bytes(range(48))


def written(length: int, more: int, sparse: int, sizes: list[int], left: int = 0xFFFF, changes: bytes = b"") -> bytes:
    """A file: its length, the provisional length beyond it, the first sparse block, the sizes of the stored blocks, the
    length to which they are truncated, and the bytes to change."""
    head = length.to_bytes(3, "little") + struct.pack("<HBB", more, sparse, len(sizes))
    return head + b"".join(struct.pack("<H", size) for size in sizes) + struct.pack("<H", left) + changes


def file() -> Iterator[bytes]:
    yield written(0, 0, 255, [])
    yield written(13, 0, 255, [13])
    yield written(4096, 0, 255, [4096])
    yield written(10000, 0, 255, [4096, 4096, 1808])
    yield written(10000, 0, 255, [4096, 4096, 1808], changes=struct.pack("<HB", 4200, 1))
    yield written(10000, 0, 255, [4096, 4096, 4096])
    yield written(10000, 0, 255, [4096, 4096, 1808], left=9000)
    yield written(12288, 0, 1, [4096, 0, 4096])
    yield written(12288, 0, 255, [4096, 0, 4096])
    yield written(4096, 8192, 255, [4096, 4096, 100])
    yield written(4096, 8192, 255, [4096, 4096, 100], left=8200, changes=struct.pack("<HB", 4300, 1))
    yield written(100, 5000, 255, [100, 904])
    yield written(100, 5000, 255, [4096, 904])
    yield written(20480, 0, 255, [4096] * 5)


def replay() -> Iterator[bytes]:
    """A file, whether it is void, a journal's head and epochs, and its records: choice, needs, generation, number."""
    whole = written(10000, 0, 255, [4096, 4096, 1808])
    named = struct.pack("<BBB", 0, 7, 7)
    anywhere = struct.pack("<BBBB", 1, 0, 7, 7)
    block = struct.pack("<BBHBB", 2, 1, 4096, 0, 1)
    header = b"\4" + struct.pack("<B", 8) + (10000).to_bytes(3, "little") + struct.pack("<HBB", 0, 0, 0)
    longer = b"\4" + struct.pack("<B", 8) + (12288).to_bytes(3, "little") + struct.pack("<HBB", 100, 0, 0)
    last = struct.pack("<BBHBB", 2, 2, 4096, 0, 2)
    forget = struct.pack("<BBB", 6, 0, 0)
    reborn = struct.pack("<BBB", 0, 9, 0)
    aside = b"\7" + struct.pack("<B", 11) + b"\0lk.tmp.x\0n" + b"\0\0"
    sector = bytes([0x10])

    def journal(*records: bytes, void: int = 0, opened: int = 1, epochs: tuple[int, int] = (5, 6)) -> bytes:
        return bytes([len(whole)]) + whole + bytes([void, opened, 5, *epochs]) + b"".join(records)

    def at(record: bytes, control: bytes) -> bytes:
        return bytes([record[0] | control[0]]) + record[1:]

    yield journal()
    yield journal(named, block, header)
    yield journal(named, block, header, opened=0)
    yield journal(anywhere, block, header)
    yield journal(named, block, header, at(named, sector), last, longer)
    yield journal(named, block, header, *(at(record, b"\x08") for record in (named, last, longer)))
    yield journal(named, block, header, *(at(record, b"\x08") for record in (named, last, longer)), epochs=(6, 5))
    yield journal(named, block, header, epochs=(4, 4))
    yield journal(named, block)
    yield journal(named, block, header, forget)
    yield journal(reborn, block, header, void=255)
    yield journal(named, aside, block, header)
    run = struct.pack("<BBHBB", 0x42, 1, 4096, 1, 1)
    yield journal(named, run, header)
    yield journal(named, run, header, *(at(record, b"\x80") for record in (named, last, longer)), opened=3)
    again = [at(record, b"\x88") for record in (named, run, longer)]
    yield journal(named, run, header, *again, opened=3, epochs=(5, 5))


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
        {"method": "io.latchkey.AddSlot", "parameters": {"secret": 0, "newKind": "fido2", "new": 1, "securityKey": {
            "credential": "00ff", "salt": "00" * 32, "withPin": True, "withTouch": True}}},
        {"method": "io.latchkey.AddSlot", "parameters": {"secret": 0, "newKind": "escrow-key", "publicKey": "00" * 32}},
        {"method": "io.latchkey.Explain", "parameters": {"file": 0}},
        {"method": "io.latchkey.Unmount", "parameters": {"lazy": True}},
        {"method": "io.latchkey.Monitor", "more": True},
        {"method": "io.latchkey.Hold", "more": True, "parameters": {"seconds": 1.5, "command": "c", "because": "b"}},
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
        "holds": [{"pid": 1, "uid": 0, "command": "c", "because": "b", "seconds": 1.5}], "longestHold": 900,
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


def policy() -> Iterator[bytes]:
    rules = [
        "minimum-passcode-strength = 3", 'default-class = "complete" # A', "minimum-class = 'C'",
        "longest-grace = 3_600", "longest-hold = 900", "lock-when-idle-after = 600", "forget-after = 72",
        "freshness = 'strict'",
        "erase-after = 10", f"required-escrow-key = '{'0f' * 32}'",
        "allowed-device-keys = [\n  'tpm2', # preferred\n  \"software\",\n]",
    ]
    yield from (rule.encode() for rule in rules)
    for end in ("\n", "\r\n"):
        yield ("# all of them\n\n" + "\n".join(rules) + "\n").replace("\n", end).encode()
    yield from (b"[rules]\n", b"a.b = 1\n", b"erase-after = 0x10\n", b"required-escrow-key = '/a'\nerase-after = 1")


def config() -> Iterator[bytes]:
    keys = [
        "folder = \"~/v\"", "mount = '/m'", "default-class = \"complete\"", "grace = 10", "lock-when-idle = 600",
        "forget-after = 72",
        "when-locked = \"freeze\"", "freeze-timeout = 5", "store-risk = \"accept\"", "transport = \"io_uring\"",
        "read-only = true", "allow-other = false",
        "shared = false", "options = [\"noexec\"]", "device-key = \"~/k\"", "policy = '/p'", "guard-mount-point = true",
    ]
    yield ("# mine\n[vaults.work]\n" + "\n".join(keys) + "\n").encode()
    yield ("[vaults]\r\n[vaults.'a.b']\r\n" + "\r\n".join(keys)).encode()
    yield from (("[vaults.w]\nfolder = '/v'\n" + key).encode() for key in keys[1:])
    yield b"[vaults.w]\nfolder = '/v'\n\n[ vaults . \"x\" ] # x\nfolder = '~/x/./y//'\n"
    yield b"[vaults.w]\nfolder = '/v'\npasscode-command = \"pass show w\"\n"
    yield b"[vaults.w]\nfolder = '/v'\nunlock-at-login = true\n"
    yield b"[vaults.a-name-that-is-new]\nfolder = '/v'\n"
    yield from (b"", b"x = 1", b"[vaults.w]\n", b"[[vaults]]", b"[vaults.w]\nfolder = '/v'\n[vaults.w.x]")


TARGETS = {
    "block": block, "claim": claim, "config": config, "control": control, "device-key": device_key,
    "directory": directory, "file": file, "header": header, "journal": journal, "keybag": keybag, "marks": marks,
    "names": names,
    "policy": policy, "recovery-key": recovery_key, "replay": replay, "sidecar": sidecar,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="fuzz-seeds.py", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="the folder for the inputs, which is made if it is missing")
    top = parser.parse_args().folder
    for target, seeds in TARGETS.items():
        folder = top / target
        folder.mkdir(parents=True, exist_ok=True)
        for seed in seeds():
            (folder / hashlib.sha1(seed).hexdigest()).write_bytes(seed)


main()
