"""What OpenSSL keeps in memory for an AES-256 key in use: its round keys, and the powers of GCM's hash key.

Source: FIPS 197, sections 5.2 and 5.3.5; NIST SP 800-38D, section 6.3; OpenSSL, crypto/aes and crypto/modes/gcm128.c.
"""

from __future__ import annotations

import struct
from typing import Iterator

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

GCM_POWERS = 8


def times_x(byte: int) -> int:
    return (byte << 1 ^ (0x11B if byte & 0x80 else 0)) & 0xFF


def times(byte: int, factor: int) -> int:
    product = 0
    while factor:
        product ^= byte if factor & 1 else 0
        byte, factor = times_x(byte), factor >> 1
    return product


def s_box() -> bytes:
    table = bytearray(256)
    for value in range(256):
        inverse = next((other for other in range(256) if times(value, other) == 1), 0)
        result = 0x63
        for shift in range(5):
            result ^= (inverse << shift | inverse >> (8 - shift)) & 0xFF
        table[value] = result
    return bytes(table)


S_BOX = s_box()


def round_keys(key: bytes) -> list[bytes]:
    """The 15 round keys of AES-256. The first two are the key itself."""
    words = [key[at:at + 4] for at in range(0, 32, 4)]
    constant = 1
    for number in range(8, 60):
        word = words[-1]
        if number % 8 == 0:
            word = bytes(S_BOX[byte] for byte in word[1:] + word[:1])
            word, constant = bytes([word[0] ^ constant]) + word[1:], times_x(constant)
        elif number % 8 == 4:
            word = bytes(S_BOX[byte] for byte in word)
        words.append(bytes(one ^ other for one, other in zip(words[-8], word)))
    return [b"".join(words[at:at + 4]) for at in range(0, 60, 4)]


def inverse_mix(round_key: bytes) -> bytes:
    """A round key in the form that the equivalent inverse cipher uses."""
    mixed = bytearray()
    for at in range(0, 16, 4):
        column = round_key[at:at + 4]
        for row in range(4):
            mixed.append(times(column[row], 14) ^ times(column[(row + 1) % 4], 11)
                         ^ times(column[(row + 2) % 4], 13) ^ times(column[(row + 3) % 4], 9))
    return bytes(mixed)


def swapped_words(raw: bytes) -> bytes:
    """The form that code without AES instructions keeps: integers of 32 bits."""
    return struct.pack("<4I", *struct.unpack(">4I", raw))


def gcm_times(one: int, other: int) -> int:
    product = 0
    for bit in range(127, -1, -1):
        if other >> bit & 1:
            product ^= one
        one = one >> 1 ^ (0xE1 << 120 if one & 1 else 0)
    return product


def hash_key_forms(power: int) -> Iterator[bytes]:
    """A power of the hash key, as the standard writes it, and as code with and without carry-less products keeps it."""
    mask = (1 << 128) - 1
    twisted = power << 1 & mask ^ (0xC2000000000000000000000000000001 if power >> 127 else 0)
    for value in (power, twisted):
        raw = value.to_bytes(16, "little")
        yield raw
        yield raw[8:] + raw[:8]
        yield raw[::-1]


def round_key_pieces(key: bytes) -> set[bytes]:
    """The round keys, 16 bytes each, without the first two, which are the key itself."""
    pieces: set[bytes] = set()
    schedule = round_keys(key)
    for round_key in schedule[2:] + [inverse_mix(round_key) for round_key in schedule[1:14]]:
        pieces |= {round_key, swapped_words(round_key)}
    return pieces


def hash_key_pieces(key: bytes) -> set[bytes]:
    pieces: set[bytes] = set()
    encryptor = Cipher(algorithms.AES(key), modes.ECB()).encryptor()
    hash_key = power = int.from_bytes(encryptor.update(bytes(16)), "big")
    for _ in range(GCM_POWERS):
        pieces |= set(hash_key_forms(power))
        power = gcm_times(power, hash_key)
    return pieces


def expanded(key: bytes) -> set[bytes]:
    """Memory that holds the expanded key contains some of these."""
    return round_key_pieces(key) | hash_key_pieces(key)
