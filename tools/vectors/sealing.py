"""The writing half of each equation of docs/FORMAT.md, with keys and nonces that are the same on every run.

Equations that are the same in both directions (HKDF, places, wrapping keys) have one home: the reader, here `fmt`.
"""

from __future__ import annotations

import hashlib
import importlib.util
import struct
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, AESSIV
from cryptography.hazmat.primitives.cmac import CMAC
from cryptography.hazmat.primitives.keywrap import aes_key_wrap

TOOLS = Path(__file__).resolve().parent.parent
VECTORS = TOOLS.parent / "Tests" / "Vectors"

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
KEY_FILE = fixed("key file", 32)
FIDO2_SECRET = fixed("security key secret", 32)
ESCROW_PRIVATE = fixed("escrow private key", 32)
PASSCODE = "correct horse, naïve battery".encode()
PASSPHRASE = b"four words and more"
NEVER_SPARSE = 2**64 - 1


def siv(key: bytes, associated: list[bytes], plain: bytes) -> bytes:
    return AESSIV(key).encrypt(plain, associated) if plain else siv_of_nothing(key, associated)


def siv_of_nothing(key: bytes, associated: list[bytes]) -> bytes:
    """S2V of RFC 5297 by hand: cryptography before version 39 refuses an empty plaintext."""
    def mac(message: bytes) -> int:
        cmac = CMAC(algorithms.AES(key[:32]))
        cmac.update(message)
        return int.from_bytes(cmac.finalize(), "big")

    def double(number: int) -> int:
        return (number << 1) % 2**128 ^ (0x87 if number >> 127 else 0)

    sum_of_all = mac(bytes(16))
    for part in associated:
        sum_of_all = double(sum_of_all) ^ mac(part)
    return mac((double(sum_of_all) ^ 1 << 127).to_bytes(16, "big")).to_bytes(16, "big")


def backing_name(directory: bytes, name: bytes) -> tuple[str, bytes]:
    """The backing name, and the sidecar's contents (empty for a short name)."""
    sealed = siv(KEYS.names, [directory], name)
    short = fmt.b64_encode(sealed).decode()
    if len(short) <= 255:
        return short, b""
    return "lk.long." + fmt.b64_encode(hashlib.sha256(sealed).digest()).decode(), sealed


def directory_target(binding: bytes, record: bytes) -> str:
    return fmt.b64_encode(siv(KEYS.directories, [V, binding], record)).decode()


def directory_record(identifier: bytes, protection: int, explicit: bool, generation: int = 0) -> bytes:
    return identifier + bytes([protection, explicit]) + generation.to_bytes(8, "little") + bytes(2)


def wrap(file_key: bytes, file: bytes, protection: int) -> bytes:
    if protection != 2:
        return aes_key_wrap(fmt.wrap_key(CLASSES.key(protection), V, file, protection), file_key)
    ephemeral = X25519PrivateKey.from_private_bytes(fixed("ephemeral " + file.hex(), 32))
    public = fmt.public_key(ephemeral)
    shared = ephemeral.exchange(X25519PublicKey.from_public_bytes(PUBLIC_B))
    return public + aes_key_wrap(fmt.wrap_key_b(shared, public, PUBLIC_B, V, file), file_key)


@dataclass
class Second:
    """What a header says of a moving file that is found at its last place."""

    protection: int
    explicit: bool
    wrapped: bytes = b""


def header(file: bytes, protection: int, wrapped: bytes, bindings: list[bytes], *, length: int = 0,
           provisional: int | None = None, flags: int = 0, generation: int = 1, sparse: int = NEVER_SPARSE,
           second: Second | None = None, modified: tuple[int, int] = (0, 0), stamp: int = 0,
           changed: tuple[int, int] = (0, 0), written: tuple[int, int] = (0, 0), **odd: Any) -> bytes:
    """A header. `odd` replaces single fields, to make headers that must be refused for that and nothing else."""
    flags |= (0 if bindings else 2) | (4 if second else 0)
    other = second or Second(0, False)
    body = fmt.HEADER_FIELDS.pack(
        odd.get("magic", b"LKFILE\r\n"), odd.get("version", 1), odd.get("size", 512), odd.get("compatible", 0),
        odd.get("read_only", 0), odd.get("incompatible", 0), odd.get("volume", V), file, protection,
        odd.get("all_flags", flags), odd.get("algorithm", algorithm_of(protection)), odd.get("count", len(bindings)),
        odd.get("wrap_length", len(wrapped)), other.protection, odd.get("second_flags", int(other.explicit)),
        generation, length, sparse, length if provisional is None else provisional,
        odd.get("second_algorithm", algorithm_of(other.protection)), odd.get("zero1", 0),
        odd.get("second_length", len(other.wrapped)), modified[1], b"".join(bindings) + odd.get("tail", b""),
        *changed, odd.get("zero2", 0), *written, odd.get("zero3", 0), modified[0], stamp)
    wraps = wrapped + other.wrapped
    body += wraps + odd.get("padding", bytes(120 - len(wraps)))
    return body + fmt.hmac_sha256(KEYS.headers, body)


def algorithm_of(protection: int) -> int:
    return 0 if protection == 0 else 2 if protection == 2 else 1


def numbered_nonce(file_key: bytes, file: bytes, number: int, random: bytes) -> bytes:
    """The nonce of a block with a number, with 8 random bytes."""
    encryptor = Cipher(algorithms.AES(fmt.nonce_key(file_key, V, file)), modes.ECB()).encryptor()
    return encryptor.update(struct.pack("<Q", number) + random)


def block(file_key: bytes, file: bytes, index: int, plain: bytes, version: str = "",
          nonce: bytes | None = None) -> bytes:
    """A stored block. What is written over another one needs a `version`: a nonce of its own."""
    nonce = fixed(f"nonce {file.hex()} {index}{version}", 16) if nonce is None else nonce
    return nonce + AESGCM(file_key).encrypt(nonce, plain, V + file + struct.pack("<Q", index))


def blocks(file_key: bytes, file: bytes, plain: bytes) -> bytes:
    return b"".join(block(file_key, file, at // 4096, plain[at:at + 4096]) for at in range(0, len(plain), 4096))


def symlink_target(target: bytes) -> str:
    nonce = fixed("symlink " + target.hex(), 16)
    return fmt.b64_encode(nonce + siv(KEYS.symlinks, [nonce], target)).decode()


def xattr(owner: bytes, name: bytes, value: bytes, prefix: str = "user.lk.") -> tuple[str, bytes]:
    """The name in the backing store, and all that is stored under it, though it may be more than fits."""
    nonce = fixed(f"xattr {owner.hex()} {name.hex()}", 16)
    sealed_name = siv(KEYS.xattrs, [owner, b"name"], name)
    stored, note = prefix + fmt.b64_encode(sealed_name).decode(), b""
    if len(stored) > 255:
        stored = prefix + "long." + fmt.b64_encode(hashlib.sha256(sealed_name).digest()).decode()
        note = len(sealed_name).to_bytes(2, "little") + sealed_name
    return stored, note + nonce + siv(KEYS.xattrs, [owner, name, nonce], b"\0" + value)


def recovery_text(key: bytes) -> str:
    number = int.from_bytes(key, "big") << 4 | hashlib.sha256(key).digest()[0] >> 4
    plain = "".join(fmt.CROCKFORD[number >> shift & 31] for shift in range(255, -5, -5))
    return "-".join(plain[at:at + 4] for at in range(0, 52, 4))
