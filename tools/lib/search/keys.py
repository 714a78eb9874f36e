"""The secrets of a test vault, computed from its passcode and device key as docs/FORMAT.md says."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from aes import expanded
from memory import Wanted

TOOLS = Path(__file__).resolve().parents[2]


def load_reader() -> ModuleType:
    """tools/read-vault.py, which shares no code with the program."""
    spec = importlib.util.spec_from_file_location("read_vault", TOOLS / "read-vault.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["read_vault"] = module
    spec.loader.exec_module(module)
    return module


fmt: Any = load_reader()
LETTERS = "ABCD"


def is_gone(name: str) -> bool:
    """Whether the secret of this name must be gone from memory while the vault is locked.

    Files are named by kind: "held" is a file of class B that a program holds open, "plain" is of class C, "open" of D.
    """
    kept = ("class key C", "class key D", "volume key", "subkey", "device key", "file key held", "file key plain",
            "file key open", "key around the file key plain", "key around the file key open", "contents of plain")
    return not name.startswith(kept)


@dataclass
class Secrets:
    """By name: keys of 32 bytes, which are also searched for in their expanded forms, and other bytes."""

    keys: dict[str, bytes]
    others: dict[str, bytes]

    def wanted(self) -> Wanted:
        wanted = Wanted(whole={**self.keys, **self.others})
        for name, key in self.keys.items():
            wanted.aligned[f"{name}, expanded"] = expanded(key)
        return wanted


def secrets_of(vault_path: Path, device_key_file: Path, passcode: bytes, recovery_key_file: Path,
               files: dict[str, bytes]) -> Secrets:
    """Everything that opens the vault, and the keys of the files at these paths, by name."""
    volume, device_key = fmt.parse_device_key(device_key_file.read_bytes())
    recovery_text = recovery_key_file.read_text().strip()
    recovery_key = fmt.parse_recovery_key(recovery_text)
    vault = fmt.Vault(os.fsencode(vault_path), fmt.Credentials(device_key, passcode), volume)
    keys = {f"class key {letter}": vault.classes.key(number) for number, letter in enumerate(LETTERS, 1)}
    keys["device key"] = device_key
    keys["recovery key"] = recovery_key
    volume_key, _ = fmt.open_device_slot(vault.keybag, device_key)
    keys["volume key"] = volume_key
    others = {"subkey for names": vault.keys.names, "passcode": passcode,
              "text of the recovery key": recovery_text.encode()[:30]}
    for number, slot in enumerate(vault.keybag.passcode_slots):
        keys[f"passcode key {number}"] = fmt.passcode_key(passcode, slot, device_key, volume)
        bundle = fmt.unwrap(keys[f"passcode key {number}"], slot.wrapped)
        if bundle is not None:
            keys["unlock MAC key"] = bundle[160:192]
    for slot in vault.keybag.recovery_slots:
        keys["key of the recovery slot"] = fmt.recovery_slot_key(recovery_key, slot, volume)
    for name, path in files.items():
        header, protection = vault.header(vault.find(path))
        keys[f"file key {name}"] = fmt.open_file_key(header.file, protection, volume, vault.classes)
        if protection.protection != 2:
            class_key = vault.classes.key(protection.protection)
            keys[f"key around the file key {name}"] = fmt.wrap_key(
                class_key, volume, header.file, protection.protection)
    return Secrets(keys, others)


def secrets_of_slots(vault_path: Path, device_key_file: Path, passcode: bytes, ways: dict[str, Path]) -> Secrets:
    """Everything that opens the slots of these kinds.

    `ways` names the files that hold the second passcode, the recovery key, the key file, the escrow key and the
    security key's state, by kind.
    """
    volume, device_key = fmt.parse_device_key(device_key_file.read_bytes())
    keybag = fmt.Vault(os.fsencode(vault_path), fmt.Credentials(device_key, passcode), volume).keybag
    texts = {kind: path.read_bytes().strip() for kind, path in ways.items()}
    recovery_key = fmt.parse_recovery_key(texts["recovery-key"].decode())
    key_file = fmt.parse_key_file(texts["key-file"].decode())
    private = fmt.load_pem_private_key(texts["escrow-key"], None).private_bytes_raw()
    keys = {"recovery key, the second": recovery_key, "key of the key file": key_file, "escrow key": private}
    for number, slot in enumerate(keybag.passcode_slots):
        keys[f"second passcode key {number}"] = fmt.passcode_key(texts["passcode"], slot, device_key, volume)
    for number, slot in enumerate(keybag.recovery_slots):
        keys[f"key of the recovery slot {number}"] = fmt.recovery_slot_key(recovery_key, slot, volume)
    for slot in keybag.key_file_slots:
        keys["key of the key file's slot"] = fmt.key_file_slot_key(key_file, slot, device_key, volume)
    for slot in keybag.escrow_slots:
        keys["key of the escrow slot"] = fmt.escrow_slot_key(private, slot, volume)
    master = bytes.fromhex(json.loads(texts["fido2"])["master"])
    for slot in keybag.security_key_slots:
        # As Tests/SoftKey/authenticator.py derives it when no PIN was given.
        derived = fmt.hmac_sha256(fmt.hmac_sha256(master, b"present" + slot.credential), slot.salt)
        keys["what the security key derives"] = derived
        keys["key of the security key's slot"] = fmt.security_key_slot_key(derived, slot, device_key, volume)
    others = {"security key's secret in hexadecimal": derived.hex().encode(), "second passcode": texts["passcode"],
              "text of the second recovery key": texts["recovery-key"][:30],
              "text of the key file": texts["key-file"][:30], "escrow key in hexadecimal": private.hex().encode()}
    return Secrets(keys, others)
