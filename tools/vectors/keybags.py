"""The keybag of the vectors, and keybags that must be refused."""

from __future__ import annotations

import struct
from typing import Any

from argon2.low_level import Type, hash_secret_raw
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.keywrap import aes_key_wrap

from .sealing import (CLASSES, DEVICE_KEY, ESCROW_PRIVATE, FIDO2_SECRET, KEY_FILE, PASSCODE, PASSPHRASE, PRIVATE_B,
                      PUBLIC_B, RECOVERY_KEY, UNLOCK_MAC_KEY, V, VOLUME_KEY, fixed, fmt, recovery_text, siv)


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
    key_file_salt = fixed("key file salt", 16)
    key_file_key = fmt.hkdf(KEY_FILE, DEVICE_KEY, b"latchkey key file" + key_file_salt + V, 32)
    escrow, ephemeral = (X25519PrivateKey.from_private_bytes(key)
                         for key in (ESCROW_PRIVATE, fixed("escrow ephemeral key", 32)))
    escrow_public, ephemeral_public = fmt.public_key(escrow), fmt.public_key(ephemeral)
    shared = ephemeral.exchange(X25519PublicKey.from_public_bytes(escrow_public))
    escrow_key = fmt.hkdf(shared, V, b"latchkey escrow" + ephemeral_public + escrow_public, 32)
    return {
        "bundle": bundle, "memory": memory, "passes": passes, "lanes": lanes, "salt": salt, "argon": stretched,
        "passcodeKey": passcode_key, "recoverySalt": recovery_salt, "recoverySlotKey": recovery_slot_key,
        "deviceSlotKey": device_slot_key, "created": created,
        "settings": struct.pack("<QHBBI", created, 255, 1, 0, 4096),
        "deviceSlot": aes_key_wrap(device_slot_key, VOLUME_KEY + CLASSES.none),
        "passcodeSlot": passcode_head + aes_key_wrap(passcode_key, bundle) + "Schlüssel".encode(),
        "recoverySlot": recovery_head + aes_key_wrap(recovery_slot_key, bundle),
        "keyFileSlotKey": key_file_key, "escrowPublicKey": escrow_public, "escrowShared": shared,
        "escrowSlotKey": escrow_key, "vaultProof": fmt.hkdf(UNLOCK_MAC_KEY, V, b"latchkey vault proof", 16),
        "keyFileSlot": struct.pack("<IQ16s", 3, created, key_file_salt) + aes_key_wrap(key_file_key, bundle) + b"USB",
        "escrowSlot": struct.pack("<IQ32s32s", 4, created, escrow_public, ephemeral_public)
                      + aes_key_wrap(escrow_key, bundle) + b"IT",
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
                   record(16, parts["passcodeSlot"]),
                   record(200, struct.pack("<IQ", 9, parts["created"]) + b"a slot of the future"),
                   record(17, parts["recoverySlot"]), record(18, parts["keyFileSlot"]),
                   record(19, parts["escrowSlot"])])


def open_keybag() -> bytes:
    """Of a vault without a passcode."""
    parts = keybag_parts()
    salt = fixed("open slot salt", 16)
    key = fmt.hkdf(DEVICE_KEY, V, b"latchkey no passcode" + salt, 32)
    slot = struct.pack("<IQ16s", 1, parts["created"], salt) + aes_key_wrap(key, parts["bundle"])
    return keybag([record(1, parts["settings"]), record(2, PUBLIC_B), record(3, parts["deviceSlot"]), record(20, slot)])


def security_key_slot(bundle: bytes, *, demands: int = 3, zero: int = 0, credential: bytes = fixed("credential", 80),
                      count: int | None = None) -> bytes:
    salt = fixed("security key salt", 32)
    key = fmt.hkdf(FIDO2_SECRET, DEVICE_KEY, b"latchkey fido2" + salt + V, 32)
    head = struct.pack("<IQBBH", 2, 1_750_000_000, demands, zero, len(credential) if count is None else count)
    return head + salt + credential + aes_key_wrap(key, bundle)


def security_key_keybag() -> bytes:
    """Of a vault that a passcode and two security keys open."""
    parts = keybag_parts()
    without_pin = bytearray(security_key_slot(parts["bundle"], demands=2, credential=fixed("largest credential", 1024)))
    without_pin[0] = 3
    return keybag([record(1, parts["settings"]), record(2, PUBLIC_B), record(3, parts["deviceSlot"]),
                   record(16, parts["passcodeSlot"]), record(22, security_key_slot(parts["bundle"]) + b"blue"),
                   record(22, bytes(without_pin))])


PREVIOUS = b"".join(fixed(f"previous class key {letter}", 32) for letter in "ABCD")


def previous_keys() -> bytes:
    unlocked = fmt.hkdf(UNLOCK_MAC_KEY, V, b"latchkey previous keys", 32)
    locked = fmt.hkdf(DEVICE_KEY, V, b"latchkey previous device slot", 32)
    return aes_key_wrap(unlocked, PREVIOUS) + aes_key_wrap(locked, PREVIOUS[96:])


def numbered_keybag(features: int) -> bytes:
    """Of a vault whose directory records have generations, or whose files have numbered blocks, too, as in a new vault.
    The others are of an earlier version."""
    parts = keybag_parts()
    return keybag([record(1, parts["settings"]), record(2, PUBLIC_B), record(3, parts["deviceSlot"]),
                   record(16, parts["passcodeSlot"])], incompatible=features)


def rotating_keybag() -> bytes:
    """Of a vault whose files are being given new keys."""
    parts = keybag_parts()
    made = keybag([record(1, parts["settings"]), record(2, PUBLIC_B), record(3, parts["deviceSlot"]),
                   record(4, previous_keys()), record(16, parts["passcodeSlot"])], incompatible=1)
    opened = fmt.open_previous_keys(fmt.parse_keybag(made), UNLOCK_MAC_KEY)
    assert opened.private_b == PREVIOUS[32:64]
    return made


def backup() -> bytes:
    parts, inner = keybag_parts(), good_keybag()[:-64]
    memory, passes, lanes, salt = 19_456, 2, 1, fixed("backup salt", 16)
    argon = hash_secret_raw(PASSPHRASE, salt, passes, memory, lanes, 32, Type.ID, 0x13)
    key = fmt.hkdf(argon, V, b"latchkey backup key", 32)
    head = struct.pack("<8sHHI16sQIII16s", b"LKBACKUP", 1, 0, 268 + len(inner) + 32, V, parts["created"], memory,
                       passes, lanes, salt)
    body = head + aes_key_wrap(key, parts["bundle"]) + inner
    made = body + fmt.hmac_sha256(fmt.hkdf(UNLOCK_MAC_KEY, V, b"latchkey backup", 32), body)
    assert fmt.open_backup(made, PASSPHRASE)[1] == parts["bundle"]
    return made


def backup_marks() -> bytes:
    """What may lie beside the backup: a file of marks with one record."""
    key = fmt.backup_marks_key(V, keybag_parts()["bundle"])
    head = struct.pack("<8sH6x16s16s16x", b"LKMARKS1", 1, V, fixed("marks of a backup", 16))
    plain = bytes(range(12)) + struct.pack("<QIIIBB6x", 7, 3, 0x01020304, 1_750_000_000, 1, False)
    made = head + struct.pack("<Q", 1) + siv(key, [head, bytes(8)], plain)
    assert [mark.generation for mark in fmt.parse_marks(made, V, key).of.values()] == [7]
    return made


def device_key_file() -> bytes:
    return b"LKDEVKEY" + struct.pack("<H6s", 1, bytes(6)) + V + DEVICE_KEY


def seen_keybag(raw: bytes, *, time: int = 1_750_000_100, device_key: bytes = DEVICE_KEY, **odd: Any) -> bytes:
    """What a machine remembers of a keybag."""
    seen = struct.pack("<8sHHI16sQQ", odd.get("magic", b"LKSEENKB"), odd.get("version", 1), odd.get("zero", 0),
                       odd.get("size", len(raw)), odd.get("volume", V), time, odd.get("end", 0)) + raw
    return seen + fmt.hmac_sha256(fmt.hkdf(device_key, V, b"latchkey seen keybag", 32), seen)


def seen_vectors() -> dict[str, Any]:
    good = good_keybag()
    seen = seen_keybag(good)
    flipped = bytearray(seen)
    flipped[92] ^= 1
    return {
        "seen": seen, "seenTime": 1_750_000_100,
        "seenThatIsIgnored": [{"why": why, "seen": raw} for why, raw in [
            ("empty", b""), ("cut short", seen[:-1]), ("a byte too many", seen + b"\0"),
            ("another generation", bytes(flipped)), ("magic", seen_keybag(good, magic=b"LKSEENKC")),
            ("version 2", seen_keybag(good, version=2)), ("zero at 10", seen_keybag(good, zero=1)),
            ("zero at 40", seen_keybag(good, end=1)), ("another size", seen_keybag(good, size=len(good) + 1)),
            ("no keybag", seen_keybag(good[:-1])),
            ("another volume", seen_keybag(good, volume=fixed("another volume", 16))),
            ("another device key", seen_keybag(good, device_key=fixed("another device key", 32)))]]}


def keybag_vectors() -> dict[str, Any]:
    parts, good = keybag_parts(), good_keybag()
    settings, public_b = record(1, parts["settings"]), record(2, PUBLIC_B)
    device, passcode = record(3, parts["deviceSlot"]), record(16, parts["passcodeSlot"])

    previous = record(4, previous_keys())

    def cost(memory: int, passes: int, lanes: int) -> list[bytes]:
        value = parts["passcodeSlot"]
        return [settings, public_b, device, record(16, value[:16] + struct.pack("<III", memory, passes, lanes)
                                                   + value[28:])]

    def security_key(**odd: Any) -> bytes:
        return security_key_slot(parts["bundle"], **odd)

    def labelled(kind: int, value: bytes, label: bytes) -> list[bytes]:
        return [settings, public_b, device, record(kind, value + label)]

    at_parse = [
        ("empty", b""), ("cut short", good[:-1]), ("a byte too many", good + b"\0"),
        ("magic", keybag([settings, public_b, device, passcode], magic=b"LKKEYBAH")),
        ("version 2", keybag([settings, public_b, device, passcode], version=2)),
        ("zero at 10", keybag([settings, public_b, device, passcode], zero=1)),
        ("a generation above 2^62", keybag([settings, public_b, device, passcode], generation=(1 << 62) + 1)),
        ("size", keybag([settings, public_b, device, passcode], size=65_536)),
        ("an unknown incompatible feature", keybag([settings, public_b, device, passcode], incompatible=8)),
        ("previous keys that are missing", keybag([settings, public_b, device, passcode], incompatible=1)),
        ("previous keys without the feature", keybag([settings, public_b, device, previous, passcode])),
        ("previous keys behind a slot", keybag([settings, public_b, device, passcode, previous], incompatible=1)),
        ("short previous keys", keybag([settings, public_b, device, record(4, bytes(175)), passcode], incompatible=1)),
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
        ("a short key file slot", keybag([settings, public_b, device, record(18, parts["keyFileSlot"][:227])])),
        ("a short escrow slot", keybag([settings, public_b, device, record(19, parts["escrowSlot"][:275])])),
        ("a guarded slot with nothing sealed",
         keybag([settings, public_b, device, record(21, parts["passcodeSlot"][:44] + b"\0\0" + bytes(200))])),
        ("a guarded slot with too much sealed",
         keybag([settings, public_b, device, record(21, parts["passcodeSlot"][:44] + b"\1\4" + bytes(1225))])),
        ("a short guarded slot",
         keybag([settings, public_b, device, record(21, parts["passcodeSlot"][:44] + b"\4\0" + bytes(203))])),
        *((why, keybag([settings, public_b, device, record(22, slot)])) for why, slot in [
            ("a short security key slot", security_key()[:-1]), ("no more than its head", security_key()[:48]),
            ("a security key's demands that nobody knows", security_key(demands=4)),
            ("a security key slot's zero", security_key(zero=1)),
            ("a credential without an identifier", security_key(credential=b"")),
            ("a credential's identifier of 1025 bytes", security_key(credential=bytes(1025))),
            ("a credential's identifier past the end", security_key(count=1024)),
            ("a security key's label of 256 bytes", security_key() + b"x" * 256)]),
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
    hexed = ["bundle", "salt", "argon", "passcodeKey", "recoverySalt", "recoverySlotKey", "deviceSlotKey",
             "keyFileSlotKey", "escrowPublicKey", "escrowShared", "escrowSlotKey", "vaultProof"]
    return {
        "volumeID": V, "volumeKey": VOLUME_KEY, "deviceKey": DEVICE_KEY, "passcode": PASSCODE,
        "recoveryKey": RECOVERY_KEY, "recoveryText": recovery_text(RECOVERY_KEY), "publicKeyB": PUBLIC_B,
        "classKeyA": CLASSES.complete, "privateKeyB": PRIVATE_B, "classKeyC": CLASSES.until_first_authentication,
        "classKeyD": CLASSES.none, "unlockMACKey": UNLOCK_MAC_KEY, "created": parts["created"], "generation": 7,
        "nameMax": 255, "memoryKiB": parts["memory"], "passes": parts["passes"], "lanes": parts["lanes"],
        "keyFileText": "LKKEY-" + recovery_text(KEY_FILE), "escrowPrivateKey": ESCROW_PRIVATE,
        "passcodeSlotID": 1, "passcodeLabel": "Schlüssel", "recoverySlotID": 2,
        **{name: parts[name] for name in hexed},
        "securityKeyKeybag": security_key_keybag(), "fido2Secret": FIDO2_SECRET,
        "credential": fixed("credential", 80), "securityKeySalt": fixed("security key salt", 32),
        "openKeybag": open_keybag(), "rotatingKeybag": rotating_keybag(),
        "numberedKeybag": numbered_keybag(2), "numberedBlocksKeybag": numbered_keybag(6), "previousClassKeys": PREVIOUS,
        "backup": backup(), "backupMarks": backup_marks(), "passphrase": PASSPHRASE,
        "keybag": good, "deviceKeyFile": device_key_file(), **seen_vectors(),
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
            {"why": "the public key of class B", "keybag": keybag([settings, record(2, other_b), device, passcode])},
            {"why": "the previous keys",
             "keybag": keybag([settings, public_b, device, record(4, bytes(176)), passcode], incompatible=1)}],
    }
