#!/usr/bin/env python3
"""Read a Latchkey vault without Latchkey.

This reader was written from docs/FORMAT.md alone and shares no code with the program. Its sections follow that page,
and every MUST refuse there is a `refuse(...)` here. It only ever reads, and never guesses: what does not check is an
error for that one object.

Needs Python 3.9, and the packages cryptography and argon2-cffi.
"""

from __future__ import annotations

import argparse
import base64
import errno
import hashlib
import heapq
import hmac
import itertools
import json
import os
import re
import stat
import struct
import sys
from dataclasses import dataclass, field
from typing import Iterable, Iterator, NoReturn, Optional, Sequence

try:
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM, AESSIV
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF
    from cryptography.hazmat.primitives.keywrap import InvalidUnwrap, aes_key_unwrap
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key
except ImportError as missing:
    sys.exit(f"read-vault: {missing}; install it with: pip install cryptography argon2-cffi")


class Refused(Exception):
    """Something that a reader MUST refuse: damaged, tampered with, or of a version that it does not know."""


class TooNew(Refused):
    """Of a version or with a feature that this reader does not know: sound, perhaps, but not for it to say."""


class Locked(Exception):
    """The object is sound as far as this reader can see, but the key of its class is not at hand."""


class WrongPasscode(Exception):
    """No slot opens under the passcode or recovery key that was given."""


class NotAVault(Exception):
    """There is no keybag here."""


def refuse(reason: str) -> NoReturn:
    raise Refused(reason)


# Notation ----------------------------------------------------------------------------------------------------------


def b64_encode(raw: bytes) -> bytes:
    return base64.urlsafe_b64encode(raw).rstrip(b"=")


def b64_decode(text: bytes) -> bytes:
    if not re.fullmatch(rb"[A-Za-z0-9_-]*", text) or len(text) % 4 == 1:
        refuse("not base64url")
    raw = base64.urlsafe_b64decode(text + b"=" * (-len(text) % 4))
    if b64_encode(raw) != text:
        refuse("base64url with unused bits that are not zero")
    return raw


def hmac_sha256(key: bytes, message: bytes) -> bytes:
    return hmac.new(key, message, hashlib.sha256).digest()


def hkdf(key: bytes, salt: bytes, info: bytes, count: int) -> bytes:
    return HKDF(algorithm=SHA256(), length=count, salt=salt, info=info).derive(key)


def siv_open(key: bytes, associated: list[bytes], sealed: bytes, what: str) -> bytes:
    if len(sealed) <= 16:
        refuse(f"{what}: too short")
    try:
        return AESSIV(key).decrypt(sealed, associated)
    except InvalidTag:
        refuse(f"{what}: not authentic")


def gcm_open(key: bytes, nonce: bytes, associated: bytes, sealed: bytes, what: str) -> bytes:
    try:
        return AESGCM(key).decrypt(nonce, sealed, associated)
    except InvalidTag:
        refuse(f"{what}: not authentic")


def public_key(private: X25519PrivateKey) -> bytes:
    return private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)


def unwrap(key: bytes, wrapped: bytes) -> Optional[bytes]:
    """RFC 3394. None where the wrap's own check says that this is not the key."""
    try:
        return aes_key_unwrap(key, wrapped)
    except InvalidUnwrap:
        return None


# Volume subkeys ----------------------------------------------------------------------------------------------------


@dataclass
class VolumeKeys:
    """The volume ID and the subkeys that every part below is opened with."""

    volume: bytes
    names: bytes
    symlinks: bytes
    xattrs: bytes
    directories: bytes
    headers: bytes
    bindings: bytes
    journal: bytes
    journal_blocks: bytes
    summaries: bytes
    marks: bytes
    synchronised: bool = False

    @classmethod
    def derive(cls, volume_key: bytes, volume: bytes, synchronised: bool = False) -> VolumeKeys:
        def subkey(label: str, count: int) -> bytes:
            return hkdf(volume_key, volume, f"latchkey {label}".encode(), count)

        return cls(
            volume,
            names=subkey("names", 64),
            symlinks=subkey("symlinks", 64),
            xattrs=subkey("xattrs", 64),
            directories=subkey("directories", 64),
            headers=subkey("headers", 32),
            bindings=subkey("places", 32),
            journal=subkey("journal", 32),
            journal_blocks=subkey("journal blocks", 32),
            summaries=subkey("summaries", 32),
            marks=subkey("marks", 64),
            synchronised=synchronised,
        )


# Names -------------------------------------------------------------------------------------------------------------


def open_name(keys: VolumeKeys, directory: bytes, sealed: bytes) -> bytes:
    name = siv_open(keys.names, [directory], sealed, "name")
    if len(name) > 255 or b"/" in name or b"\0" in name or name in (b".", b".."):
        refuse("a name that no file can have")
    return name


def check_sidecar(backing_name: bytes, sealed: bytes) -> bytes:
    """The sealed long name in a sidecar, if it is the one that `lk.long.H` stands for."""
    if backing_name != b"lk.long." + b64_encode(hashlib.sha256(sealed).digest()):
        refuse("the sidecar of a long name is of another name")
    return sealed


# Name bindings -----------------------------------------------------------------------------------------------------

ROOT_BINDING = bytes(16)


def name_binding(keys: VolumeKeys, directory: bytes, name: bytes) -> bytes:
    return hmac_sha256(keys.bindings, directory + name)[:16]


# Directory records -------------------------------------------------------------------------------------------------

CLASS_NAMES = {
    1: "complete",
    2: "complete-unless-open",
    3: "complete-until-first-user-authentication",
    4: "none",
}
CLASS_LETTERS = {1: "A", 2: "B", 3: "C", 4: "D"}


@dataclass
class DirectoryRecord:
    identifier: bytes
    default_class: int
    explicit: bool
    generation: int


def open_directory_record(keys: VolumeKeys, binding: bytes, target: bytes) -> DirectoryRecord:
    if len(target) != 59:
        refuse(f"directory record of {len(target)} bytes")
    return parse_directory_record(
        siv_open(keys.directories, [keys.volume, binding], b64_decode(target), "directory record"))


def open_record_copy(keys: VolumeKeys, binding: bytes, name: bytes, raw: bytes) -> DirectoryRecord:
    """The record in a machine's copy, which counts if the directory has no record of its own."""
    if not raw.startswith(b"LKCOPY\r\n") or len(raw) < 10:
        refuse("not a copy of a directory record")
    machine, end = bytes.fromhex(name[len(b"lk.dir."):].decode()), 10 + int.from_bytes(raw[8:10], "little")
    plain = siv_open(keys.directories, [keys.volume, binding, machine], raw[10:end], "copy of a directory record")
    if len(plain) < 36 or (len(plain) - 8) % 28:
        refuse("copy of a directory record: its length")
    return parse_directory_record(plain[8:36])


def parse_directory_record(record: bytes) -> DirectoryRecord:
    identifier, default_class, flags, generation, zero = struct.unpack("<16sBBQ2s", record)
    if default_class not in CLASS_NAMES:
        refuse("directory record: no such class")
    if flags > 1 or any(zero):
        refuse("directory record: a flag or a zero byte is otherwise")
    if generation > 1 << 63:
        refuse("directory record: its generation is out of range")
    return DirectoryRecord(identifier, default_class, bool(flags & 1), generation)


# Files: the header -------------------------------------------------------------------------------------------------

HEADER_SIZE = 512
HEADER_FIELDS = struct.Struct("<8sHHIII16s16sBBBBHBBQQQQBBHI208sqIIqIIqq")
MOST_BINDINGS, WRAPS_ROOM = 13, 120
WRAP_LENGTHS = {1: 40, 2: 72}
EXPLICIT, MANY_LINKS, MOVING, NUMBERED = 1, 2, 4, 8


@dataclass
class FileProtection:
    """A class, its mark, and the file key wrapped for it."""

    protection: int
    explicit: bool
    algorithm: int
    wrap: bytes


@dataclass
class FileHeader:
    file: bytes
    current: FileProtection
    pending: Optional[FileProtection]
    generation: int
    length: int
    provisional_length: int
    first_sparse_block: int
    bindings: list[bytes]
    modified: tuple[int, int]
    stamp: int
    changed: tuple[int, int]
    written: tuple[int, int]
    numbers_blocks: bool
    machine: int

    def shown_time(self, backing: tuple[int, int]) -> tuple[int, int]:
        """When the file was modified, by the backing file's own time."""
        return self.modified if backing == (self.stamp, 0) else backing

    def shown_change(self, backing: tuple[int, int]) -> tuple[int, int]:
        """When the file was changed, by the backing file's own time of change."""
        seconds, nanoseconds = self.written
        return self.changed if self.written <= backing <= (seconds + 1, nanoseconds) else backing

    def at(self, binding: bytes) -> FileProtection:
        """The protection of the file, found under the name with this binding."""
        if self.bindings and binding not in self.bindings:
            refuse("this file belongs under another name: it was moved or copied here")
        return self.pending if self.pending is not None and binding == self.bindings[-1] else self.current


def is_void(raw: bytes) -> bool:
    """Whether a backing file that begins so has never had a header."""
    return len(raw) < HEADER_SIZE or not any(raw[:HEADER_SIZE])


def check_algorithm(protection: int, algorithm: int, wrap_length: int) -> None:
    if algorithm != (2 if protection == 2 else 1) or wrap_length != WRAP_LENGTHS[algorithm]:
        refuse(f"wrap algorithm {algorithm} of {wrap_length} bytes in class {CLASS_LETTERS[protection]}")


def open_header(keys: VolumeKeys, raw: bytes) -> FileHeader:
    if len(raw) < HEADER_SIZE:
        refuse(f"a file of {len(raw)} bytes has no header")
    raw = raw[:HEADER_SIZE]
    (magic, version, size, _compatible, _read_only, incompatible, volume, file, protection, flags, algorithm, count,
     wrap_length, pending_class, pending_flags, generation, length, sparse, provisional, pending_algorithm, zero1,
     pending_length, nanoseconds, bindings, change_seconds, change_nanoseconds, machine, written_seconds,
     written_nanoseconds, zero3, seconds, stamp) = HEADER_FIELDS.unpack(raw[:360])
    if magic != b"LKFILE\r\n":
        refuse("not a file of a vault")
    if version != 1 or size != HEADER_SIZE:
        refuse(f"header version {version} of {size} bytes")
    if incompatible:
        refuse(f"unknown incompatible features {incompatible:#x}")
    if volume != keys.volume:
        refuse("a file of another volume")
    if not hmac.compare_digest(raw[480:], hmac_sha256(keys.headers, raw[:480])):
        refuse("header: not authentic")
    if flags & ~(EXPLICIT | MANY_LINKS | MOVING | NUMBERED):
        refuse(f"unknown flags {flags:#x}")
    if generation > 1 << 63:
        refuse(f"generation {generation}")
    if not length <= provisional <= 1 << 62:
        refuse(f"lengths of {length} and {provisional} bytes")
    if count > MOST_BINDINGS or (count == 0) != bool(flags & MANY_LINKS):
        refuse(f"{count} name bindings with flags {flags:#x}")
    if wrap_length + pending_length > WRAPS_ROOM:
        refuse(f"wraps of {wrap_length} and {pending_length} bytes")
    if protection not in CLASS_NAMES:
        refuse(f"no class {protection}")
    check_algorithm(protection, algorithm, wrap_length)
    wraps = raw[360:480]
    current, pending = FileProtection(protection, bool(flags & EXPLICIT), algorithm, wraps[:wrap_length]), None
    if flags & MOVING:
        if count == 0:
            refuse("a file that is moving and has no name binding")
        if pending_class not in CLASS_NAMES or pending_flags & ~EXPLICIT:
            refuse(f"no pending class {pending_class} with flags {pending_flags:#x}")
        check_algorithm(pending_class, pending_algorithm, pending_length)
        pending_wrap = wraps[wrap_length:wrap_length + pending_length]
        pending = FileProtection(pending_class, bool(pending_flags & EXPLICIT), pending_algorithm, pending_wrap)
    elif pending_class or pending_flags or pending_algorithm or pending_length:
        refuse("a pending class without moving")
    for count_of in (nanoseconds, change_nanoseconds, written_nanoseconds):
        if count_of >= 10**9:
            refuse(f"{count_of} nanoseconds")
    if machine and not keys.synchronised:
        refuse("header: a machine in a vault that is not synchronised")
    if zero1 or zero3 or any(bindings[16 * count:]) or any(wraps[wrap_length + pending_length:]):
        refuse("header: a zero byte is otherwise")
    return FileHeader(file, current, pending, generation, length, provisional, sparse,
                      [bindings[at:at + 16] for at in range(0, 16 * count, 16)], (seconds, nanoseconds), stamp,
                      (change_seconds, change_nanoseconds), (written_seconds, written_nanoseconds),
                      bool(flags & NUMBERED), machine)


# Files: summaries --------------------------------------------------------------------------------------------------


SUMMARY = "user.lk"


@dataclass
class Summary:
    protection: int
    explicit: bool
    file: bytes
    generation: int
    length: int
    modified: tuple[int, int]
    changed: tuple[int, int]
    written: tuple[int, int]

    def fits(self, header: FileHeader) -> bool:
        """Whether it says what the header says; one of another generation need not."""
        return self.generation != header.generation or (
            (self.protection, self.explicit, self.file, self.length, self.modified, self.changed, self.written)
            == (header.current.protection, header.current.explicit, header.file, header.provisional_length,
                header.modified, header.changed, header.written))


def open_summary(keys: VolumeKeys, raw: bytes, binding: bytes, size: int, stamp: int) -> Summary:
    """The summary of a file with this name binding, whose backing file has `size` bytes and was modified at `stamp`."""
    if len(raw) != 66:
        refuse(f"summary: {len(raw)} bytes")
    version, kind, file, generation, modified, changed, written = struct.unpack("<BB16sQqqq", raw[:50])
    if version != 1:
        raise TooNew(f"summary: version {version}")
    if not 1 <= kind & 127 <= 4:
        refuse(f"summary: class {kind & 127}")
    tag = hmac_sha256(keys.summaries, raw[:50] + binding + struct.pack("<Qq", size, stamp))
    if not hmac.compare_digest(raw[50:], tag[:16]):
        refuse("summary: not of this file as it is")
    blocks, partial = divmod(max(0, size - HEADER_SIZE), 4128)
    return Summary(kind & 127, kind >= 128, file, generation, 4096 * blocks + max(0, partial - 32),
                   divmod(modified, 10**9), divmod(changed, 10**9), divmod(written, 10**9))


# Files: pending bindings -------------------------------------------------------------------------------------------


def open_pending(keys: VolumeKeys, raw: bytes, file: bytes) -> tuple[int, list[bytes]]:
    """The last generation whose header may lack the bindings, and the bindings."""
    if len(raw) < 2 or raw[0] != 2:
        refuse("pending bindings: another version")
    count = raw[1]
    if not 1 <= count <= 13 or len(raw) != 26 + 16 * count:
        refuse(f"pending bindings: {count} in {len(raw)} bytes")
    if not hmac.compare_digest(raw[-16:], hmac_sha256(keys.summaries, raw[:-16] + file)[:16]):
        refuse("pending bindings: not of this file")
    return int.from_bytes(raw[2:10], "little"), [raw[at:at + 16] for at in range(10, 10 + 16 * count, 16)]


# Files: wrap algorithms --------------------------------------------------------------------------------------------


@dataclass
class ClassKeys:
    """The class keys at hand. Without an unlock only D is."""

    none: Optional[bytes] = None
    complete: Optional[bytes] = None
    private_b: Optional[bytes] = None
    until_first_authentication: Optional[bytes] = None
    previous: Optional[ClassKeys] = None  # of before a rotation that is not finished

    def key(self, protection: int) -> bytes:
        found = {1: self.complete, 2: self.private_b, 3: self.until_first_authentication, 4: self.none}[protection]
        if found is None:
            raise Locked(f"the key of class {CLASS_LETTERS[protection]} is not at hand")
        return found


def wrap_key(class_key: bytes, volume: bytes, file: bytes, protection: int) -> bytes:
    """The key that wraps a file key in classes A, C and D."""
    return hkdf(class_key, volume, b"latchkey file key" + file + bytes([protection]), 32)


def wrap_key_b(shared: bytes, ephemeral: bytes, public_b: bytes, volume: bytes, file: bytes) -> bytes:
    """The key that wraps a file key in class B, from the shared secret that only B's private key yields later."""
    return hkdf(shared, volume, b"latchkey file key B" + ephemeral + public_b + file, 32)


def open_file_key(file: bytes, given: FileProtection, volume: bytes, classes: ClassKeys) -> bytes:
    try:
        return open_file_key_of(file, given, volume, classes)
    except Refused:
        if classes.previous is None:
            raise
    return open_file_key_of(file, given, volume, classes.previous)


def open_file_key_of(file: bytes, given: FileProtection, volume: bytes, classes: ClassKeys) -> bytes:
    class_key = classes.key(given.protection)
    if given.algorithm == 1:
        file_key = unwrap(wrap_key(class_key, volume, file, given.protection), given.wrap)
    else:
        ephemeral, wrapped = given.wrap[:32], given.wrap[32:]
        private = X25519PrivateKey.from_private_bytes(class_key)
        try:
            shared = private.exchange(X25519PublicKey.from_public_bytes(ephemeral))
        except ValueError:
            refuse("file key: the shared secret is zero")
        public_b = public_key(private)
        file_key = unwrap(wrap_key_b(shared, ephemeral, public_b, volume, file), wrapped)
    if file_key is None:
        refuse("file key: the wrap does not open")
    return file_key


# Files: blocks -----------------------------------------------------------------------------------------------------

BLOCK = 4096
OVERHEAD = 32


def block_offset(index: int) -> int:
    return HEADER_SIZE + index * (BLOCK + OVERHEAD)


def block_index(offset: int) -> int:
    """The block that an offset lies in; the header belongs to the first."""
    return max(0, offset - HEADER_SIZE) // (BLOCK + OVERHEAD)


class BackingFile:
    """A backing file as it is once the journal's writes to it have been made. They are kept by where they begin."""

    def __init__(self, path: bytes, writes: dict[int, bytes], holes: Sequence[range] = ()) -> None:
        self.descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        self.writes = writes
        self.holes = holes
        status = os.fstat(self.descriptor)
        self.size = max([status.st_size] + [offset + len(raw) for offset, raw in writes.items()]
                        + [block_offset(hole.stop) for hole in holes])
        if not stat.S_ISREG(status.st_mode):
            self.close()
            refuse("not a regular file")

    def close(self) -> None:
        os.close(self.descriptor)

    def __enter__(self) -> BackingFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def read(self, count: int, offset: int) -> bytes:
        """As many of `count` bytes as there are. `offset` is that of the header or of a block, as in the journal."""
        there = max(0, min(count, self.size - offset))
        written = self.writes.get(offset, b"")[:there]
        if any((offset - HEADER_SIZE) // (BLOCK + OVERHEAD) in hole for hole in self.holes):
            return written.ljust(there, b"\0")
        return written + os.pread(self.descriptor, there, offset)[len(written):].ljust(there - len(written), b"\0")

    def header(self) -> bytes:
        return self.read(HEADER_SIZE, 0)

    def data(self) -> list[tuple[int, int]]:
        """Where something is stored, from and to, in order: between them are holes."""
        ranges = [(offset, offset + len(raw)) for offset, raw in self.writes.items() if raw]
        offset = 0
        while True:
            try:
                offset = os.lseek(self.descriptor, offset, os.SEEK_DATA)
            except OSError as error:
                if error.errno == errno.ENXIO:  # nothing but a hole
                    return sorted(ranges)
                raise
            end = os.lseek(self.descriptor, offset, os.SEEK_HOLE)
            ranges.append((offset, end))
            offset = end


def open_block(file_key: bytes, volume: bytes, file: bytes, index: int, stored: bytes) -> bytes:
    if len(stored) <= OVERHEAD:
        refuse(f"block {index}: truncated")
    associated = volume + file + struct.pack("<Q", index)
    return gcm_open(file_key, stored[:16], associated, stored[16:], f"block {index}")


def blocks_of(header: FileHeader) -> int:
    """How many blocks the provisional length makes, stored or not. A header can say any length: that may be 2^50."""
    return (header.provisional_length + BLOCK - 1) // BLOCK


def telling_blocks(backing: BackingFile, header: FileHeader) -> Iterator[int]:
    """The blocks that show whether all of a file can be read: each stored block, the first block of each gap, and the
    block at the backing file's end. All other blocks of a gap read as its first one does."""
    end, following = blocks_of(header), 0
    for start, stop in backing.data():
        first, last = block_index(start), block_index(stop - 1)
        if following < first:
            yield from range(following, min(following + 1, end))
        yield from range(max(following, first), min(last + 1, end))
        following = max(following, last + 1)
    for index in sorted({following, max(following, block_index(backing.size))}):
        if index < end:
            yield index


@dataclass
class Block:
    """A block as it is read: its plaintext up to the provisional length, and its nonce, if there is one that verifies:
    a hole has none."""

    index: int
    nonce: Optional[bytes]
    plain: bytes


def read_blocks(backing: BackingFile, header: FileHeader, volume: bytes, file_key: bytes,
                indexes: Iterable[int]) -> Iterator[Block]:
    for index in indexes:
        stored = backing.read(OVERHEAD + BLOCK, block_offset(index))
        confirmed = min(BLOCK, header.length - index * BLOCK)
        wanted = min(BLOCK, header.provisional_length - index * BLOCK)
        sizes = [wanted + OVERHEAD, len(stored)]
        if confirmed > 0:
            plain = read_confirmed_block(stored, confirmed, sizes, header, index, volume, file_key)
        else:
            try:
                plain = open_any(stored, sizes, header, index, volume, file_key)
            except Refused:
                plain = b""
        yield Block(index, stored[:16] if plain else None, plain[:wanted].ljust(wanted, b"\0"))


def open_any(stored: bytes, sizes: list[int], header: FileHeader, index: int, volume: bytes, file_key: bytes) -> bytes:
    """The block in the first of these sizes in which it verifies."""
    last = Refused(f"block {index}: truncated")
    for size in sizes:
        if OVERHEAD < size <= len(stored):
            try:
                return open_block(file_key, volume, header.file, index, stored[:size])
            except Refused as refusal:
                last = refusal
    raise last


def read_confirmed_block(stored: bytes, confirmed: int, sizes: list[int], header: FileHeader, index: int,
                         volume: bytes, file_key: bytes) -> bytes:
    """A block of which `confirmed` bytes lie below the length. It may yield more, and for a hole it yields none."""
    exact = confirmed + OVERHEAD
    if len(stored) < exact:
        refuse(f"block {index}: truncated")
    if index >= header.first_sparse_block and not any(stored[:exact]):
        return b""
    return open_any(stored, [exact] + [size for size in sizes if size > exact], header, index, volume, file_key)


# Files: numbered blocks --------------------------------------------------------------------------------------------


def nonce_key(file_key: bytes, volume: bytes, file: bytes) -> bytes:
    """What the nonces of a file with numbered blocks are encrypted with."""
    return hkdf(file_key, volume, b"latchkey block numbers" + file, 32)


def number_in_nonce(key: bytes, nonce: bytes) -> int:
    decryptor = Cipher(algorithms.AES(key), modes.ECB()).decryptor()
    return int.from_bytes(decryptor.update(nonce)[:8], "little")


# Symbolic links ----------------------------------------------------------------------------------------------------


LONG_TARGET = re.compile(rb"lk\.target\.([A-Za-z0-9_-]{22})")


def sealed_symlink(stored: bytes, vault: bytes) -> bytes:
    """The nonce of a link's target, and the target, sealed."""
    long = LONG_TARGET.fullmatch(stored)
    if long and b64_decode(long[1]):
        try:
            raw = read_file(os.path.join(vault, b"lk.targets", stored), 4127)
        except FileNotFoundError:
            refuse("symbolic link: its long target is missing")
        if len(raw) > 4127:
            refuse("symbolic link: its long target is too long")
        return raw
    return b64_decode(stored)


def open_symlink(keys: VolumeKeys, raw: bytes) -> bytes:
    return siv_open(keys.symlinks, [raw[:16]], raw[16:], "symbolic link")


# Extended attributes -----------------------------------------------------------------------------------------------

XATTR_PREFIX, NODE_XATTR_PREFIX = "user.lk.", "trusted.lk."
LARGEST_XATTR = 65536


def split_xattr(stored_name: str, stored_value: bytes, prefix: str) -> tuple[bytes, bytes]:
    """The encrypted name, and what is stored from the nonce on."""
    own = stored_name.removeprefix(prefix)
    if not own.startswith("long."):
        return b64_decode(os.fsencode(own)), stored_value
    end = 2 + int.from_bytes(stored_value[:2], "little")
    sealed_name = stored_value[2:end]
    if "long." + b64_encode(hashlib.sha256(sealed_name).digest()).decode() != own:
        refuse("attribute name: it is another one's")
    return sealed_name, stored_value[end:]


def continuation_name(stored_name: str, stored_value: bytes, prefix: str) -> Optional[str]:
    """The attribute that holds the continuation of a stored value, if the value may have one."""
    if len(stored_value) != LARGEST_XATTR:
        return None
    return prefix + "rest." + b64_encode(split_xattr(stored_name, stored_value, prefix)[1][:16]).decode()


def open_xattr(keys: VolumeKeys, owner: bytes, stored_name: str, stored_value: bytes,
               prefix: str = XATTR_PREFIX) -> tuple[bytes, bytes]:
    """Name and value of an attribute of the file or directory with the ID `owner`, of all that is stored of it."""
    sealed_name, stored_value = split_xattr(stored_name, stored_value, prefix)
    name = siv_open(keys.xattrs, [owner, b"name"], sealed_name, "attribute name")
    nonce, sealed = stored_value[:16], stored_value[16:]
    value = siv_open(keys.xattrs, [owner, name, nonce], sealed, "attribute value")
    if value[0] != 0:
        refuse("attribute value: it does not begin with a zero byte")
    return name, value[1:]


SIDECARS, LARGEST_SIDECAR = b"lk.attributes", 1 << 20


def sidecar_name(owner: bytes) -> bytes:
    return b"lk.attributes." + owner.hex().encode()


def open_sidecar(keys: VolumeKeys, owner: bytes, raw: bytes) -> dict[bytes, bytes]:
    """The attributes of the file or directory with the ID `owner` that the store does not take."""
    if len(raw) > LARGEST_SIDECAR + 32:
        refuse("sidecar of attributes: too long")
    return parse_sidecar(siv_open(keys.xattrs, [owner, b"sidecar", raw[:16]], raw[16:], "sidecar of attributes"))


def parse_sidecar(plain: bytes) -> dict[bytes, bytes]:
    if plain[:1] != b"\1":
        refuse("sidecar of attributes: version")
    if not 8 <= len(plain) <= LARGEST_SIDECAR:
        refuse("sidecar of attributes: size")
    if plain[1] > 1 or any(plain[2:8]):
        refuse("sidecar of attributes: flags or zeros")
    found: dict[bytes, bytes] = {}
    at, last = 8, b""
    while at < len(plain):
        name_size, value_size = plain[at], int.from_bytes(plain[at + 1:at + 5], "little")
        name, end = plain[at + 5:at + 5 + name_size], at + 5 + name_size + value_size
        if name_size == 0 or value_size > LARGEST_XATTR or end > len(plain) or at + 5 > len(plain):
            refuse("sidecar of attributes: an attribute's size")
        if name <= last:
            refuse("sidecar of attributes: order of names")
        found[name] = plain[end - value_size:end]
        at, last = end, name
    return found


# The journal -------------------------------------------------------------------------------------------------------

JOURNAL_AREA, LARGEST_PART, LARGEST_AREA, MOST_PARTS, MORE_PARTS = 4096, 1 << 30, 2 << 30, 64, 1
BLOCK_RUNS = 2
HEAD_FIELDS = struct.Struct("<8sHHIIIII16sQQQBB6s")
RECORD_FIELDS = struct.Struct("<IB3sQQ16sQQII")
FILE_RECORD, BLOCK_RECORD, HEADER_RECORD, FORGET_RECORD = 1, 2, 3, 4
TOMBSTONE_RECORD, DUPLICATE_RECORD, HOLE_RECORD, BLOCKS_RECORD = 5, 6, 7, 8
LARGEST_PAYLOAD, MOST_BLOCKS = 8192, 32


@dataclass
class JournalHead:
    part_size: int
    parts: int
    opened: int
    next_epoch: int
    windows: list[tuple[int, int]]


@dataclass
class JournalRecord:
    kind: int
    epoch: int
    position: int
    file: bytes
    generation: int
    number: int
    payload: bytes

    @property
    def size(self) -> int:
        return record_size(len(self.payload))


def record_size(payload: int) -> int:
    return (RECORD_FIELDS.size + payload + 32 + 7) // 8 * 8


def open_journal_head(keys: VolumeKeys, raw: bytes) -> JournalHead:
    if len(raw) < HEADER_SIZE:
        refuse(f"journal: {len(raw)} bytes")
    (magic, version, zero1, zero2, _compatible, _read_only, incompatible, zero3, volume, part_size, opened, next_epoch,
     count, parts, zero4) = HEAD_FIELDS.unpack(raw[:80])
    if magic != b"LKJRNL\r\n":
        refuse("journal: not one")
    if version != 1:
        raise TooNew(f"journal: version {version}")
    if incompatible & ~(MORE_PARTS | BLOCK_RUNS):
        raise TooNew(f"journal: unknown incompatible features {incompatible:#x}")
    if volume != keys.volume:
        refuse("journal: of another volume")
    if not hmac.compare_digest(raw[480:512], hmac_sha256(keys.journal, raw[:480])):
        refuse("journal: its head is not authentic")
    if not 0 < part_size <= LARGEST_PART or part_size % 4096 or count > 16:
        refuse(f"journal: parts of {part_size} bytes, {count} windows")
    if parts != 0 if not incompatible & MORE_PARTS else not 2 < parts <= MOST_PARTS or parts * part_size > LARGEST_AREA:
        refuse(f"journal: {parts} parts")
    if opened > 1 << 62 or next_epoch > 1 << 62:
        refuse(f"journal: opened {opened}, next epoch {next_epoch}")
    if zero1 or zero2 or zero3 or any(zero4) or any(raw[80 + 16 * count:480]):
        refuse("journal: a zero byte is otherwise")
    return JournalHead(part_size, parts or 2, opened, next_epoch,
                       list(struct.iter_unpack("<QQ", raw[80:80 + 16 * count])))


def parts_of(path: bytes) -> list[bytes]:
    """The components of a backing path in a record."""
    parts = path.split(b"/")
    if b"\0" in path or any(part in (b"", b".", b"..") for part in parts):
        refuse("journal: a path that leads astray")
    return parts


def tombstone_note(payload: bytes) -> tuple[bytes, bytes, bytes]:
    """The folder, the name of the tombstone in it, and the name that the directory had."""
    fields = payload.split(b"\0")
    if len(fields) != 3 or any(b"/" in field for field in fields[1:]):
        refuse("journal: a tombstone record of another form")
    folder, tombstone, name = fields
    parts_of(os.path.join(folder, tombstone))
    parts_of(name)
    return folder, tombstone, name


def largest_payload(kind: int) -> int:
    return MOST_BLOCKS * (BLOCK + OVERHEAD) if kind == BLOCKS_RECORD else LARGEST_PAYLOAD


def record_tag(keys: VolumeKeys, record: bytes, payload: int) -> bytes:
    """The MAC of a record, given all before the MAC, and the size of its payload."""
    if record[4] == BLOCKS_RECORD:
        fields, blocks = record[:RECORD_FIELDS.size], record[RECORD_FIELDS.size:][:payload]
        record = fields + AESGCM(keys.journal_blocks).encrypt(bytes(16), b"", blocks)
    return hmac_sha256(keys.journal, keys.volume + record)


def open_record(keys: VolumeKeys, raw: bytes, epoch: Optional[int], position: int) -> JournalRecord:
    """The record that `raw` begins with. Without `epoch` any will do: it is the first of its part."""
    if len(raw) < RECORD_FIELDS.size:
        refuse("record: truncated")
    size, kind, zero1, own_epoch, own_position, file, generation, number, zero2, length = RECORD_FIELDS.unpack(
        raw[:RECORD_FIELDS.size])
    if length > largest_payload(kind) or size != record_size(length) or size > len(raw):
        refuse("record: size")
    signed, tag = raw[:size - 32], raw[size - 32:size]
    if not hmac.compare_digest(tag, record_tag(keys, signed, length)):
        refuse("record: not authentic")
    if own_epoch > 1 << 62:
        refuse(f"record: epoch {own_epoch}")
    if own_position != position or epoch not in (None, own_epoch):
        refuse("record: of another position or epoch")
    payload = signed[RECORD_FIELDS.size:][:length]
    if any(zero1) or zero2 or not FILE_RECORD <= kind <= BLOCKS_RECORD:
        refuse(f"record: type {kind}, or a zero byte that is otherwise")
    return JournalRecord(kind, own_epoch, position, file, generation, number, payload)


def intent_of(record: JournalRecord) -> tuple[bytes, bytes]:
    """The ID and the path of the file that a file or duplicate record is about."""
    if record.kind == DUPLICATE_RECORD:
        return record.payload[:16], record.payload[16:]
    return record.file, record.payload


def check_payload(keys: VolumeKeys, record: JournalRecord, file: bytes) -> None:
    """Refuses what a record of its type does not hold. `file` is the ID of the file that it is about."""
    length = len(record.payload)
    if record.kind in (FILE_RECORD, DUPLICATE_RECORD):
        if record.kind == DUPLICATE_RECORD and length < 16:
            refuse("record: no ID")
        if intent_of(record)[1]:
            if is_reserved(parts_of(intent_of(record)[1])[-1]):
                refuse("record: the path of something that the vault keeps for itself")
    elif record.kind == BLOCK_RECORD and (not OVERHEAD < length <= BLOCK + OVERHEAD or record.number >= 1 << 50):
        refuse("record: a block that can be none")
    elif record.kind == BLOCKS_RECORD:
        count = record.generation
        if not 0 < count <= MOST_BLOCKS or count > (1 << 50) - record.number \
                or not OVERHEAD < length - (count - 1) * (BLOCK + OVERHEAD) <= BLOCK + OVERHEAD:
            refuse("record: blocks that can be none")
    elif record.kind == HEADER_RECORD:
        if length != HEADER_SIZE:
            refuse("record: no header")
        if open_header(keys, record.payload).file != file:
            refuse("record: the header of another file")
    elif record.kind == HOLE_RECORD:
        if record.payload or not 0 < record.generation <= (1 << 50) - record.number:
            refuse("record: a hole that can be none")
    elif record.kind == FORGET_RECORD and record.payload:
        refuse("record: a payload where there is none")
    elif record.kind == TOMBSTONE_RECORD:
        tombstone_note(record.payload)


def read_part(keys: VolumeKeys, descriptor: int, start: int, part_size: int) -> list[JournalRecord]:
    def record(epoch: Optional[int], position: int) -> Optional[JournalRecord]:
        longest = min(record_size(largest_payload(BLOCKS_RECORD)), part_size - position)
        try:
            return open_record(keys, os.pread(descriptor, max(0, longest), start + position), epoch, position)
        except Refused:
            return None

    records: list[JournalRecord] = []
    found = record(None, 0)
    while found is not None:
        records.append(found)
        behind = found.position + found.size
        found = record(found.epoch, behind) or record(found.epoch, (behind + 511) // 512 * 512)
    return records


@dataclass
class Replay:
    """What the journal adds to a vault, by paths in it: nothing is ever written."""

    head: Optional[JournalHead] = None
    records: list[JournalRecord] = field(default_factory=list)
    writes: dict[bytes, dict[int, bytes]] = field(default_factory=dict)
    holes: dict[bytes, list[range]] = field(default_factory=dict)
    headers: set[bytes] = field(default_factory=set)
    renamed: dict[bytes, dict[bytes, bytes]] = field(default_factory=dict)
    # The journal is from before the vault became a synchronised one.
    earlier: bool = False

    def left_by_a_crash(self, status: os.stat_result) -> bool:
        """Whether an object last changed in a session that did not end cleanly, as far as its ctime shows."""
        if self.head is None:
            return False
        changed = status.st_ctime_ns // 10**9
        windows = self.head.windows + ([(self.head.opened - 2, changed)] if self.head.opened else [])
        return any(since <= changed <= until for since, until in windows)


def status_below(vault: bytes, path: bytes) -> Optional[os.stat_result]:
    """Of what stands at a backing path, if all that leads there are directories."""
    status, full = os.lstat(vault), vault
    for part in parts_of(path):
        full = os.path.join(full, part)
        try:
            status, above = os.lstat(full), status
        except OSError:
            return None
        if not stat.S_ISDIR(above.st_mode):
            return None
    return status


def journal_name(keys: VolumeKeys) -> bytes:
    """In a synchronised vault, each machine has a journal of its own."""
    if not keys.synchronised:
        return b"lk.journal"
    with open("/etc/machine-id", "rb") as file:
        identity = file.read()
    return b"lk.journal." + hashlib.sha256(b"latchkey machine" + keys.volume + identity).hexdigest()[:16].encode()


def read_journal(keys: VolumeKeys, vault: bytes) -> Replay:
    replay = Replay()
    path = os.path.join(vault, journal_name(keys))
    if keys.synchronised and not os.path.lexists(path):
        path, replay.earlier = os.path.join(vault, b"lk.journal"), True
    try:
        raw = read_file(path, HEADER_SIZE - 1)
    except FileNotFoundError:
        return replay
    replay.head = open_journal_head(keys, raw)
    if replay.head.opened == 0:
        return replay
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        parts = [read_part(keys, descriptor, JOURNAL_AREA + part * replay.head.part_size, replay.head.part_size)
                 for part in range(replay.head.parts)]
    finally:
        os.close(descriptor)
    # A part of a lower epoch is not in use any more.
    parts = [part for part in parts if part and part[0].epoch >= replay.head.next_epoch]
    replay.records = [record for part in sorted(parts, key=lambda part: part[0].epoch) for record in part]
    replay_records(replay, keys, vault)
    return replay


def replay_records(replay: Replay, keys: VolumeKeys, vault: bytes) -> None:
    files: dict[bytes, list[JournalRecord]] = {}
    # The IDs of those that have an alias.
    duplicates: dict[bytes, bytes] = {}
    owners: dict[bytes, bytes] = {}
    for record in replay.records:
        try:
            check_payload(keys, record, duplicates.get(record.file, record.file))
        except Refused:
            continue
        if record.kind == TOMBSTONE_RECORD:
            put_back(replay, vault, *tombstone_note(record.payload))
            continue
        files.setdefault(record.file, []).append(record)
        if record.kind == DUPLICATE_RECORD:
            duplicates[record.file] = intent_of(record)[0]
        if record.kind in (FILE_RECORD, DUPLICATE_RECORD):
            owners[intent_of(record)[1]] = record.file
    # Of several that lead to one file the last counts.
    effects: dict[bytes, list[JournalRecord]] = {}
    for tag, records in files.items():
        paths = [(at, record) for at, record in enumerate(records) if record.kind in (FILE_RECORD, DUPLICATE_RECORD)]
        if not paths:
            continue
        at, last = paths[-1]
        may_be_void = last.number == 0 and not any(record.kind == FORGET_RECORD for record in records[at:])
        found = None
        for _, record in reversed(paths):
            file, path = intent_of(record)
            fits = [range(record.number, record.generation + 1) for _, record in paths]
            found = found or find_file(replay, keys, vault, file, path, fits, may_be_void and owners[path] == tag)
        if found is not None:
            path, base = found
            counting = next((records[at:] for at, record in paths if record.number <= base <= record.generation), [])
            if any(record.kind == HEADER_RECORD for record in counting):
                effects[path] = counting
    for path, counting in effects.items():
        replay_file(replay, keys, path, counting)


def put_back(replay: Replay, vault: bytes, folder: bytes, tombstone: bytes, name: bytes) -> None:
    if status_below(vault, os.path.join(folder, name)) is None \
            and status_below(vault, os.path.join(folder, tombstone)) is not None:
        path = os.path.join(vault, folder) if folder else vault
        replay.renamed.setdefault(path, {})[tombstone] = name


def find_file(replay: Replay, keys: VolumeKeys, vault: bytes, file: bytes, path: bytes,
              fits: list[range], may_be_void: bool) -> Optional[tuple[bytes, int]]:
    """Where the file stands, and the generation of its header, 0 without one. Without a path it may be anywhere, and
    is one with a generation that the records fit: others can have the same ID."""
    if path:
        status = status_below(vault, path)
        candidates = [os.path.join(vault, path)] if status is not None and stat.S_ISREG(status.st_mode) else []
    else:
        candidates = [os.path.join(folder, name) for folder, _, names in os.walk(vault) for name in sorted(names)
                      if not name.startswith(b"lk.") or name.startswith(b"lk.long.")]
    for candidate in candidates:
        try:
            with BackingFile(candidate, {}) as backing:
                raw = backing.header()
            if is_void(raw):
                if path and may_be_void:
                    return candidate, 0
                continue
            header = open_header(keys, raw)
        except (Refused, OSError):
            continue
        if replay.earlier and header.machine:
            continue
        if header.file == file and (path or any(header.generation in fit for fit in fits)):
            return candidate, header.generation
    return None


def replay_file(replay: Replay, keys: VolumeKeys, path: bytes, records: list[JournalRecord]) -> None:
    """The writes that bring one file up to date."""
    # Blocks behind the last header belong to a write that was not acknowledged; that header may not fit them.
    while records and records[-1].kind != HEADER_RECORD:
        records = records[:-1]
    if not records:
        return
    writes = replay.writes.setdefault(path, {})
    header = open_header(keys, records[-1].payload)
    end = (header.provisional_length + BLOCK - 1) // BLOCK
    for record in records:
        if record.kind == HOLE_RECORD:
            hole = range(max(record.number, header.first_sparse_block), min(end, record.number + record.generation))
            for offset in [offset for offset in writes if (offset - HEADER_SIZE) // (BLOCK + OVERHEAD) in hole]:
                del writes[offset]
            if hole:
                replay.holes.setdefault(path, []).append(hole)
        elif record.kind in (BLOCK_RECORD, BLOCKS_RECORD):
            size = BLOCK + OVERHEAD
            for index in range((len(record.payload) + size - 1) // size):
                offset, stored = block_offset(record.number + index), record.payload[index * size:][:size]
                writes[offset] = stored + writes.get(offset, b"")[len(stored):]
    writes[0] = records[-1].payload
    replay.headers.add(path)


# The keybag --------------------------------------------------------------------------------------------------------

SETTINGS, PUBLIC_KEY_B, DEVICE_SLOT, PREVIOUS_KEYS = 1, 2, 3, 4
ROTATING, NUMBERED_DIRECTORIES, NUMBERED_BLOCKS, SYNCHRONISED = 1, 2, 4, 16  # incompatible features
PASSCODE_SLOT, RECOVERY_SLOT, KEY_FILE_SLOT, ESCROW_SLOT, OPEN_SLOT, GUARDED_SLOT = 16, 17, 18, 19, 20, 21
SECURITY_KEY_SLOT = 22
BUNDLE_WRAP = 200


@dataclass
class PasscodeSlot:
    identifier: int
    created: int
    memory: int
    passes: int
    lanes: int
    salt: bytes
    wrapped: bytes
    label: str


@dataclass
class KeySlot:
    identifier: int
    created: int
    salt: bytes
    wrapped: bytes
    label: str


@dataclass
class EscrowSlot:
    identifier: int
    created: int
    public_key: bytes
    ephemeral: bytes
    wrapped: bytes
    label: str


@dataclass
class SecurityKeySlot:
    identifier: int
    created: int
    demands: int
    salt: bytes
    credential: bytes
    wrapped: bytes
    label: str


@dataclass
class Keybag:
    raw: bytes
    volume: bytes
    generation: int
    created: int
    name_max: int
    records_are_files: bool
    public_b: bytes
    device_slot: bytes
    synchronised: bool = False
    previous_keys: Optional[bytes] = None
    passcode_slots: list[PasscodeSlot] = field(default_factory=list)
    recovery_slots: list[KeySlot] = field(default_factory=list)
    key_file_slots: list[KeySlot] = field(default_factory=list)
    escrow_slots: list[EscrowSlot] = field(default_factory=list)
    open_slots: list[KeySlot] = field(default_factory=list)
    security_key_slots: list[SecurityKeySlot] = field(default_factory=list)


def slot_label(raw: bytes) -> str:
    if len(raw) > 255:
        refuse("keybag: a label of more than 255 bytes")
    try:
        return raw.decode()
    except UnicodeDecodeError:
        refuse("keybag: a label that is not UTF-8")


def parse_passcode_slot(value: bytes) -> PasscodeSlot:
    if len(value) < 44 + BUNDLE_WRAP:
        refuse("keybag: passcode slot truncated")
    identifier, created, version, zero, memory, passes, lanes, salt = struct.unpack("<IQB3sIII16s", value[:44])
    if version != 0x13 or any(zero):
        refuse("keybag: passcode slot of another Argon2 version")
    # Before anything is computed: a tampered cost must neither weaken the derivation nor exhaust the machine.
    if not 19_456 <= memory <= 4_194_304 or not 1 <= passes <= 64 or not 1 <= lanes <= 16:
        refuse(f"keybag: Argon2 cost out of bounds ({memory} KiB, {passes} passes, {lanes} lanes)")
    label = slot_label(value[44 + BUNDLE_WRAP:])
    return PasscodeSlot(identifier, created, memory, passes, lanes, salt, value[44:44 + BUNDLE_WRAP], label)


def check_guarded_slot(value: bytes) -> None:
    """A passcode of which a TPM holds a part, which nothing here can ask for."""
    count = int.from_bytes(value[44:46], "little")
    if not 1 <= count <= 1024 or len(value) < 46 + count + BUNDLE_WRAP:
        refuse("keybag: guarded slot truncated, or with nothing or too much that is sealed")
    parse_passcode_slot(value[:44] + value[46 + count:])


def parse_key_slot(value: bytes) -> KeySlot:
    if len(value) < 28 + BUNDLE_WRAP:
        refuse("keybag: recovery, key file or open slot truncated")
    identifier, created, salt = struct.unpack("<IQ16s", value[:28])
    return KeySlot(identifier, created, salt, value[28:28 + BUNDLE_WRAP], slot_label(value[28 + BUNDLE_WRAP:]))


def parse_escrow_slot(value: bytes) -> EscrowSlot:
    if len(value) < 76 + BUNDLE_WRAP:
        refuse("keybag: escrow slot truncated")
    identifier, created, public, ephemeral = struct.unpack("<IQ32s32s", value[:76])
    return EscrowSlot(identifier, created, public, ephemeral, value[76:76 + BUNDLE_WRAP],
                      slot_label(value[76 + BUNDLE_WRAP:]))


def parse_security_key_slot(value: bytes) -> SecurityKeySlot:
    if len(value) < 48:
        refuse("keybag: security key slot truncated")
    identifier, created, demands, zero, count, salt = struct.unpack("<IQBBH32s", value[:48])
    if demands > 3 or zero or not 1 <= count <= 1024:
        refuse("keybag: security key slot out of bounds")
    behind = value[48 + count:]
    if len(behind) < BUNDLE_WRAP:
        refuse("keybag: security key slot truncated")
    return SecurityKeySlot(identifier, created, demands, salt, value[48:48 + count], behind[:BUNDLE_WRAP],
                           slot_label(behind[BUNDLE_WRAP:]))


def keybag_records(body: bytes) -> list[tuple[int, bytes]]:
    records = []
    while body:
        if len(body) < 8:
            refuse("keybag: record truncated")
        kind, zero, length = struct.unpack("<HHI", body[:8])
        if zero or len(body) < 8 + length:
            refuse("keybag: record out of bounds")
        records.append((kind, body[8:8 + length]))
        body = body[8 + length:]
    return records


def parse_keybag(raw: bytes) -> Keybag:
    if len(raw) < 116 or len(raw) > 65_536:
        refuse(f"keybag: {len(raw)} bytes")
    magic, version, zero, size, _compatible, _read_only, incompatible, volume, generation = struct.unpack(
        "<8sHHIIII16sQ", raw[:52])
    if magic != b"LKKEYBAG":
        refuse("keybag: not one")
    if version != 1:
        raise TooNew(f"keybag: version {version}")
    if zero or size != len(raw):
        refuse("keybag: not whole")
    if generation > 1 << 62:
        refuse("keybag: its generation is out of range")
    if incompatible & ~(ROTATING | NUMBERED_DIRECTORIES | NUMBERED_BLOCKS | SYNCHRONISED):
        raise TooNew(f"keybag: unknown incompatible features {incompatible:#x}")

    records = keybag_records(raw[52:-64])
    if [kind for kind, _ in records[:3]] != [SETTINGS, PUBLIC_KEY_B, DEVICE_SLOT]:
        refuse("keybag: settings, public key and device slot are not its first records")
    (_, settings), (_, public_b), (_, device_slot) = records[:3]
    if len(settings) != 16 or len(public_b) != 32 or len(device_slot) != 72:
        refuse("keybag: a record of the wrong size")
    created, name_max, record_kind, _erase_after, block = struct.unpack("<QHBBI", settings)
    if not 56 <= name_max <= 255 or record_kind not in (1, 2) or block != BLOCK:
        refuse("keybag: settings out of range")
    keybag = Keybag(raw, volume, generation, created, name_max, record_kind == 2, public_b, device_slot,
                    bool(incompatible & SYNCHRONISED))
    slots = records[3:]
    if incompatible & ROTATING:
        if not slots or slots[0][0] != PREVIOUS_KEYS or len(slots[0][1]) != 176:
            refuse("keybag: no previous keys where they should be")
        keybag.previous_keys, slots = slots[0][1], slots[1:]
    for kind, value in slots:
        if kind == PASSCODE_SLOT:
            keybag.passcode_slots.append(parse_passcode_slot(value))
        elif kind == RECOVERY_SLOT:
            keybag.recovery_slots.append(parse_key_slot(value))
        elif kind == KEY_FILE_SLOT:
            keybag.key_file_slots.append(parse_key_slot(value))
        elif kind == ESCROW_SLOT:
            keybag.escrow_slots.append(parse_escrow_slot(value))
        elif kind == OPEN_SLOT:
            keybag.open_slots.append(parse_key_slot(value))
        elif kind == GUARDED_SLOT:
            check_guarded_slot(value)
        elif kind == SECURITY_KEY_SLOT:
            keybag.security_key_slots.append(parse_security_key_slot(value))
        elif not 23 <= kind <= 255:
            refuse(f"keybag: unknown record {kind}")
    return keybag


def open_device_slot(keybag: Keybag, device_key: bytes) -> tuple[bytes, bytes]:
    """Volume key and class key D. The device MAC is checked first, settings included."""
    mac_key = hkdf(device_key, keybag.volume, b"latchkey keybag", 32)
    if not hmac.compare_digest(keybag.raw[-32:], hmac_sha256(mac_key, keybag.raw[:-32])):
        refuse("keybag: the device MAC is wrong (tampered with, or not this device key)")
    opened = unwrap(hkdf(device_key, keybag.volume, b"latchkey device slot", 32), keybag.device_slot)
    if opened is None:
        refuse("keybag: the device slot does not open")
    return opened[:32], opened[32:]


def open_previous_keys(keybag: Keybag, unlock_mac_key: bytes) -> Optional[ClassKeys]:
    """The class keys of before a rotation that is not finished."""
    if keybag.previous_keys is None:
        return None
    opened = unwrap(hkdf(unlock_mac_key, keybag.volume, b"latchkey previous keys", 32), keybag.previous_keys[:136])
    if opened is None:
        refuse("keybag: the previous keys do not open")
    complete, private_b, until_first, none = (opened[at:at + 32] for at in range(0, 128, 32))
    return ClassKeys(none, complete, private_b, until_first)


def open_previous_device_slot(keybag: Keybag, device_key: bytes) -> Optional[ClassKeys]:
    """Class key D of before; nothing where it was wrapped for another device key."""
    if keybag.previous_keys is None:
        return None
    slot_key = hkdf(device_key, keybag.volume, b"latchkey previous device slot", 32)
    none = unwrap(slot_key, keybag.previous_keys[136:])
    return None if none is None else ClassKeys(none)


def passcode_key(passcode: bytes, slot: PasscodeSlot, device_key: bytes, volume: bytes) -> bytes:
    try:
        from argon2.low_level import Type, hash_secret_raw
    except ImportError as missing:
        sys.exit(f"read-vault: {missing}; install it with: pip install argon2-cffi")
    argon = hash_secret_raw(
        passcode, salt=hmac_sha256(device_key, b"argon2 salt" + slot.salt), time_cost=slot.passes,
        memory_cost=slot.memory, parallelism=slot.lanes, hash_len=32, type=Type.ID, version=0x13)
    return hkdf(argon, device_key, volume, 32)


def recovery_slot_key(recovery_key: bytes, slot: KeySlot, volume: bytes) -> bytes:
    return hkdf(recovery_key, slot.salt, b"latchkey recovery" + volume, 32)


def key_file_slot_key(key: bytes, slot: KeySlot, device_key: bytes, volume: bytes) -> bytes:
    return hkdf(key, device_key, b"latchkey key file" + slot.salt + volume, 32)


def security_key_slot_key(secret: bytes, slot: SecurityKeySlot, device_key: bytes, volume: bytes) -> bytes:
    return hkdf(secret, device_key, b"latchkey fido2" + slot.salt + volume, 32)


def open_slot_key(slot: KeySlot, device_key: bytes, volume: bytes) -> bytes:
    return hkdf(device_key, volume, b"latchkey no passcode" + slot.salt, 32)


def escrow_slot_key(private: bytes, slot: EscrowSlot, volume: bytes) -> bytes:
    key = X25519PrivateKey.from_private_bytes(private)
    try:
        shared = key.exchange(X25519PublicKey.from_public_bytes(slot.ephemeral))
    except ValueError:
        refuse("keybag: an escrow slot's shared secret of zeros")
    return hkdf(shared, volume, b"latchkey escrow" + slot.ephemeral + public_key(key), 32)


def open_bundle(keybag: Keybag, bundle: bytes, from_device_slot: Optional[tuple[bytes, bytes]]) \
        -> tuple[bytes, ClassKeys]:
    """Volume key and all class keys, once everything that unlocking can check has been checked."""
    complete, private_b, until_first, none, volume_key, unlock_mac_key = (
        bundle[at:at + 32] for at in range(0, 192, 32))
    if not hmac.compare_digest(keybag.raw[-64:-32], hmac_sha256(unlock_mac_key, keybag.raw[:-64])):
        refuse("keybag: the unlock MAC is wrong")
    if from_device_slot not in (None, (volume_key, none)):
        refuse("keybag: the slot's volume key or class key D is not the device slot's")
    if public_key(X25519PrivateKey.from_private_bytes(private_b)) != keybag.public_b:
        refuse("keybag: the public key of class B is not ours: distrust files of class B made since it was exchanged")
    return volume_key, ClassKeys(none, complete, private_b, until_first, open_previous_keys(keybag, unlock_mac_key))


def open_backup(raw: bytes, passphrase: bytes) -> tuple[Keybag, bytes]:
    """The keybag of a backup, its MACs zeros, and the bundle."""
    try:
        from argon2.low_level import Type, hash_secret_raw
    except ImportError as missing:
        sys.exit(f"read-vault: {missing}; install it with: pip install argon2-cffi")
    if len(raw) < 300 or len(raw) > 268 + 65_536:
        refuse(f"backup: {len(raw)} bytes")
    magic, version, zero, size, volume, _created, memory, passes, lanes, salt = struct.unpack(
        "<8sHHI16sQIII16s", raw[:68])
    if magic != b"LKBACKUP" or version != 1 or zero or size != len(raw):
        refuse("backup: not one, or not whole")
    if not 19_456 <= memory <= 4_194_304 or not 1 <= passes <= 64 or not 1 <= lanes <= 16:
        refuse(f"backup: Argon2 cost out of bounds ({memory} KiB, {passes} passes, {lanes} lanes)")
    keybag = parse_keybag(raw[268:-32] + bytes(64))
    if keybag.volume != volume:
        refuse("backup: two volume IDs")
    argon = hash_secret_raw(passphrase, salt=salt, time_cost=passes, memory_cost=memory, parallelism=lanes, hash_len=32,
                            type=Type.ID, version=0x13)
    bundle = unwrap(hkdf(argon, volume, b"latchkey backup key", 32), raw[68:268])
    if bundle is None:
        raise WrongPasscode("wrong passphrase")
    if not hmac.compare_digest(raw[-32:], hmac_sha256(hkdf(bundle[160:], volume, b"latchkey backup", 32), raw[:-32])):
        refuse("backup: its MAC is wrong")
    if public_key(X25519PrivateKey.from_private_bytes(bundle[32:64])) != keybag.public_b:
        refuse("backup: the public key of class B is not its own")
    return keybag, bundle


@dataclass
class Credentials:
    device_key: Optional[bytes] = None
    passcode: Optional[bytes] = None
    recovery_key: Optional[bytes] = None
    key_file: Optional[bytes] = None
    escrow_key: Optional[bytes] = None
    fido2_secret: Optional[bytes] = None


def unlock(keybag: Keybag, given: Credentials, from_device_slot: Optional[tuple[bytes, bytes]]) \
        -> tuple[bytes, ClassKeys]:
    """Volume key and the class keys that `given` yields: all of them, or D alone with only a device key."""
    if given.recovery_key is not None:
        candidates = ((recovery_slot_key(given.recovery_key, slot, keybag.volume), slot.wrapped)
                      for slot in keybag.recovery_slots)
    elif given.escrow_key is not None:
        candidates = ((escrow_slot_key(given.escrow_key, slot, keybag.volume), slot.wrapped)
                      for slot in keybag.escrow_slots)
    elif given.key_file is not None and given.device_key is not None:
        candidates = ((key_file_slot_key(given.key_file, slot, given.device_key, keybag.volume), slot.wrapped)
                      for slot in keybag.key_file_slots)
    elif given.fido2_secret is not None and given.device_key is not None:
        candidates = ((security_key_slot_key(given.fido2_secret, slot, given.device_key, keybag.volume), slot.wrapped)
                      for slot in keybag.security_key_slots)
    elif given.passcode is not None and given.device_key is not None:
        candidates = ((passcode_key(given.passcode, slot, given.device_key, keybag.volume), slot.wrapped)
                      for slot in keybag.passcode_slots)
    elif keybag.open_slots and given.device_key is not None:
        candidates = ((open_slot_key(slot, given.device_key, keybag.volume), slot.wrapped)
                      for slot in keybag.open_slots)
    elif from_device_slot is not None:
        volume_key, none = from_device_slot
        return volume_key, ClassKeys(none, previous=open_previous_device_slot(keybag, given.device_key))
    else:
        raise ValueError("a device key or a recovery key is needed")
    for key, wrapped in candidates:
        bundle = unwrap(key, wrapped)
        if bundle is not None:
            return open_bundle(keybag, bundle, from_device_slot)
    if given.passcode is not None:
        raise WrongPasscode("wrong passcode")
    raise WrongPasscode("wrong recovery key" if given.recovery_key is not None else "wrong key")


# The device key file and the recovery key --------------------------------------------------------------------------

CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def parse_device_key(raw: bytes) -> tuple[bytes, bytes]:
    """Volume ID and device key."""
    if len(raw) != 64:
        refuse(f"device key file of {len(raw)} bytes")
    magic, version, zero, volume, key = struct.unpack("<8sH6s16s32s", raw)
    if magic != b"LKDEVKEY" or version != 1 or any(zero):
        refuse("not a device key file of version 1")
    return volume, key


def parse_seen_keybag(raw: bytes, volume: bytes, device_key: bytes) -> Optional[Keybag]:
    """The newest keybag that the machine has seen; None if nothing is remembered."""
    if len(raw) < 80:
        return None
    magic, version, zero, size, of, _time, end = struct.unpack("<8sHHI16sQQ", raw[:48])
    key = hkdf(device_key, volume, b"latchkey seen keybag", 32)
    if (magic != b"LKSEENKB" or version != 1 or zero or end or of != volume or len(raw) != 48 + size + 32
            or not hmac.compare_digest(hmac_sha256(key, raw[:-32]), raw[-32:])):
        return None
    try:
        keybag = parse_keybag(raw[48:-32])
    except Refused:
        return None
    return keybag if keybag.volume == volume else None


@dataclass(frozen=True)
class Mark:
    """What the machine remembers of one name of one file or directory, or of a value."""
    generation: int
    blocks: int
    digest: int
    time: int
    protection: int
    is_gone: bool
    kind: int

    def verdict(self, found: FileHeader | DirectoryRecord) -> Optional[str]:
        """How a file or directory is not as new as that; None if it is."""
        if self.is_gone:
            return None if found.generation > self.generation else "back"
        if found.generation != self.generation:
            return None if found.generation > self.generation else "older"
        if isinstance(found, DirectoryRecord):
            return None if found.default_class | found.explicit << 8 == self.digest else "conflict"
        if digest_of(found) != self.digest:
            return "conflict"
        return None if min(blocks_of_length(found.length), 2**32 - 1) >= self.blocks else "older"


def digest_of(header: FileHeader) -> int:
    """Tells headers of the same generation apart."""
    words = [header.written[0], header.modified[0], header.changed[0], header.stamp,
             header.written[1] << 32 | header.modified[1], header.changed[1], header.provisional_length,
             header.first_sparse_block]
    digest = 0xCBF29CE484222325
    for word in words:
        digest = (digest ^ word % 2**64) * 0x100000001B3 % 2**64
        digest ^= digest >> 32
    return digest % 2**32


def blocks_of_length(length: int) -> int:
    return (length + BLOCK - 1) // BLOCK


def mark_key(file: bytes, binding: bytes) -> bytes:
    return bytes(one ^ other for one, other in zip(file[:12], binding[:12]))


def backup_marks_key(volume: bytes, bundle: bytes) -> bytes:
    """What the marks beside a backup are encrypted with, in place of the volume's key for marks."""
    return hkdf(bundle[160:], volume, b"latchkey backup marks", 64)


HIGHEST_NUMBER, MOST_BLOCKS_OF_FILE, TO_THE_END = 1 << 62, 1 << 50, 2**32 - 1
BLOCKS_CLASS, BLOCKS_KIND = 4, 6  # where the other records have their class and kind


@dataclass(frozen=True)
class BlockRun:
    """Blocks that follow each other, and what their numbers are at least."""
    first: int
    end: int
    number: int


@dataclass
class Marks:
    """What the machine remembers: of names and values, and of blocks of the files with these names."""
    of: dict[bytes, Mark] = field(default_factory=dict)
    runs: dict[bytes, list[BlockRun]] = field(default_factory=dict)

    def take(self, record: bytes) -> None:
        """Take in a record, which counts more than those before it. One with a value that none can have does not."""
        key, protection, kind = record[:12], record[32], record[33]
        if any(record[34:]):
            return
        if (protection, kind) == (BLOCKS_CLASS, BLOCKS_KIND):
            self.take_run(key, *struct.unpack("<QIQ", record[12:32]))
        elif protection in CLASS_NAMES and kind < BLOCKS_KIND:
            generation, blocks, digest, time = struct.unpack("<QIII", record[12:32])
            self.of[key] = Mark(generation, blocks, digest, time, protection, kind & 1 == 1, kind >> 1)
            if self.of[key].is_gone:
                self.runs.pop(key, None)

    def take_run(self, key: bytes, number: int, count: int, first: int) -> None:
        if number > HIGHEST_NUMBER or first > MOST_BLOCKS_OF_FILE:
            return
        if count == 0:
            self.runs.pop(key, None)
            return
        end = MOST_BLOCKS_OF_FILE if count == TO_THE_END else first + count
        self.runs.setdefault(key, []).append(BlockRun(first, end, number))


class BlockBounds:
    """The lowest number that each block of a file may have. The blocks are asked for in rising order."""

    def __init__(self, runs: Iterable[BlockRun]) -> None:
        self.coming = sorted(runs, key=lambda run: run.first, reverse=True)
        self.begun: list[tuple[int, int]] = []  # a heap of minus the number, and the end: the highest number first

    def of(self, index: int) -> int:
        """0 if any number will do."""
        while self.coming and self.coming[-1].first <= index:
            run = self.coming.pop()
            heapq.heappush(self.begun, (-run.number, run.end))
        while self.begun and self.begun[0][1] <= index:
            heapq.heappop(self.begun)
        return -self.begun[0][0] if self.begun else 0


def parse_marks(raw: bytes, volume: bytes, key: bytes) -> Marks:
    """What a file of marks remembers; what cannot be read of it, and all behind that, is not remembered."""
    head, marks = raw[:64], Marks()
    if (len(head) < 64 or head[:10] != b"LKMARKS1" + struct.pack("<H", 1) or any(head[10:16]) or any(head[48:])
            or head[16:32] != volume):
        return marks
    at = 64
    for batch in itertools.count():
        count = int.from_bytes(raw[at:at + 8], "little")
        sealed = raw[at + 8:at + 24 + 40 * count]
        if not 1 <= count <= 4096 or len(sealed) != 16 + 40 * count:
            return marks
        try:
            plain = siv_open(key, [head, struct.pack("<Q", batch)], sealed, "marks")
        except Refused:
            return marks
        for start in range(0, len(plain), 40):
            marks.take(plain[start:start + 40])
        at += 24 + 40 * count
    return marks


def parse_recovery_key(text: str) -> bytes:
    plain = re.sub(r"[-\s]", "", text).upper().translate(str.maketrans("OIL", "011"))
    if len(plain) != 52 or any(character not in CROCKFORD for character in plain):
        refuse("a recovery key has 52 letters and digits")
    number = 0
    for character in plain:
        number = number << 5 | CROCKFORD.index(character)
    key = (number >> 4).to_bytes(32, "big")
    if number & 15 != hashlib.sha256(key).digest()[0] >> 4:
        refuse("the recovery key is mistyped: its check bits do not match")
    return key


def parse_key_file(text: str) -> bytes:
    if not text.startswith("LKKEY-"):
        refuse("not a key file")
    return parse_recovery_key(text[6:])


# The tree ----------------------------------------------------------------------------------------------------------


RESERVED_IN_ROOT = (b"lk.keybag", b"lk.keybag.new", b"lk.keybag.old", b"lk.lock", b"lk.erased", b"lk.journal",
                    b"lk.targets", b"lk.nameless", b"lk.claims", b"lk.leases", b"lk.members", SIDECARS)
RESERVED = (*RESERVED_IN_ROOT, b"lk.dir", b"lk.dir.new")
RECORD_COPY = re.compile(rb"lk\.dir\.([0-9a-f]{16})")
MACHINE_JOURNAL = re.compile(rb"lk\.journal\.[0-9a-f]{16}")


def is_reserved(name: bytes) -> bool:
    return name in RESERVED or bool(RECORD_COPY.fullmatch(name) or MACHINE_JOURNAL.fullmatch(name))


@dataclass
class Directory:
    backing: bytes
    binding: bytes
    record: DirectoryRecord


@dataclass
class Entry:
    """One name in a directory. `backing` is a path in the vault, `binding` the MAC that ties a file to this name."""

    name: bytes
    backing: bytes
    binding: bytes
    status: os.stat_result


@dataclass
class Listing:
    entries: list[Entry] = field(default_factory=list)
    foreign: list[bytes] = field(default_factory=list)
    temporary: list[bytes] = field(default_factory=list)
    orphans: list[bytes] = field(default_factory=list)


def read_file(path: bytes, limit: int) -> bytes:
    """At most limit + 1 bytes, so that the caller sees that a file is too long. Never follows a link."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            refuse("not a regular file")
        return file.read(limit + 1)


class Vault:
    """A vault, opened as far as the credentials reach."""

    def __init__(self, path: bytes, given: Credentials, key_volume: Optional[bytes] = None) -> None:
        self.path = path = path.rstrip(b"/") or b"/"
        self.keybag, volume_key, self.classes = self._open_keybag(given, key_volume)
        self.keys = VolumeKeys.derive(volume_key, self.keybag.volume, self.keybag.synchronised)
        self.replay = read_journal(self.keys, path)
        self.nonces: list[bytes] = []  # of the link targets and attributes that were read last

    def _open_keybag(self, given: Credentials, key_volume: Optional[bytes]) -> tuple[Keybag, bytes, ClassKeys]:
        """From lk.keybag, or from lk.keybag.old where the former is missing or does not check."""
        failure: Exception = NotAVault("no lk.keybag here")
        for name in (b"lk.keybag", b"lk.keybag.old"):
            from_device_slot = None
            try:
                keybag = parse_keybag(read_file(os.path.join(self.path, name), 65_536))
                if key_volume not in (None, keybag.volume):
                    refuse(f"the device key is of volume {key_volume.hex()}, the vault is {keybag.volume.hex()}")
                if given.device_key is not None:
                    from_device_slot = open_device_slot(keybag, given.device_key)
            except TooNew:
                raise
            except Refused as refused:
                # What is wrong with the previous keybag must not hide what is wrong with the keybag.
                failure = failure if isinstance(failure, Refused) else refused
            except FileNotFoundError:
                continue
            except NotADirectoryError:
                raise NotAVault("not a folder") from None
            else:
                # A wrong passcode ends here: the previous keybag may well open with the previous passcode.
                return (keybag, *unlock(keybag, given, from_device_slot))
        raise failure

    def directory(self, backing: bytes, binding: bytes) -> Directory:
        failure = Refused("no directory record")
        for name in (b"lk.dir", b"lk.dir.new"):
            path = os.path.join(backing, name)
            try:
                # Until it has become a file, in a vault that became a synchronised one.
                is_link = not self.keybag.records_are_files or self.keys.synchronised and os.path.islink(path)
                target = os.readlink(path) if is_link else read_file(path, 59)
                return Directory(backing, binding, open_directory_record(self.keys, binding, target))
            except Refused as refused:
                failure = refused
            except OSError:
                continue
        if self.keys.synchronised:
            for name in sorted(filter(RECORD_COPY.fullmatch, os.listdir(backing))):
                try:
                    raw = read_file(os.path.join(backing, name), 32_768)
                    return Directory(backing, binding, open_record_copy(self.keys, binding, name, raw))
                except (Refused, OSError):
                    continue
        raise failure

    def root(self) -> Directory:
        return self.directory(self.path, ROOT_BINDING)

    def list(self, directory: Directory) -> Listing:
        listing = Listing()
        renamed = self.replay.renamed.get(directory.backing, {})
        present = {renamed.get(name, name): name for name in os.listdir(directory.backing)}
        for backing_name, stored_name in sorted(present.items()):
            if backing_name in (b"lk.dir", b"lk.dir.new") or RECORD_COPY.fullmatch(backing_name):
                continue
            in_root = directory.binding == ROOT_BINDING
            if in_root and is_reserved(backing_name):
                continue
            if backing_name.startswith(b"lk.tmp."):
                listing.temporary.append(backing_name)
                continue
            if backing_name.startswith(b"lk.long.") and backing_name.endswith(b".name"):
                if backing_name[:-len(b".name")] not in present:
                    listing.temporary.append(backing_name)
                continue
            try:
                name = self.name(directory, backing_name)
            except (Refused, OSError):
                listing.foreign.append(backing_name)
                continue
            backing = os.path.join(directory.backing, stored_name)
            binding = name_binding(self.keys, directory.record.identifier, name)
            entry = Entry(name, backing, binding, os.lstat(backing))
            if self.is_orphan(entry):
                listing.orphans.append(backing_name)
            else:
                listing.entries.append(entry)
        listing.entries.sort(key=lambda entry: entry.name)
        return listing

    def is_orphan(self, entry: Entry) -> bool:
        """Whether this is an orphan: a name that a crash left, and whose file or directory was never durable."""
        if not self.replay.left_by_a_crash(entry.status):
            return False
        try:
            if stat.S_ISDIR(entry.status.st_mode):
                return not any(name in (b"lk.dir", b"lk.dir.new") or RECORD_COPY.fullmatch(name)
                               for name in os.listdir(entry.backing))
            if stat.S_ISREG(entry.status.st_mode):
                with self.backing_file(entry) as backing:
                    return is_void(backing.header())
        except PermissionError:
            pass
        return False

    def name(self, directory: Directory, backing_name: bytes) -> bytes:
        if backing_name.startswith(b"lk.long."):
            sidecar = os.path.join(directory.backing, backing_name + b".name")
            sealed = check_sidecar(backing_name, read_file(sidecar, 16 + 255))
        else:
            sealed = b64_decode(backing_name)
        return open_name(self.keys, directory.record.identifier, sealed)

    def find(self, path: bytes) -> Optional[Entry]:
        """The entry at a plaintext path; None for the root. Symbolic links are not followed."""
        directory, entry = self.root(), None
        for name in (part for part in path.split(b"/") if part not in (b"", b".")):
            if entry is not None:
                if not stat.S_ISDIR(entry.status.st_mode):
                    raise NotADirectoryError(20, "Not a directory", path)
                directory = self.directory(entry.backing, entry.binding)
            entry = next((found for found in self.list(directory).entries if found.name == name), None)
            if entry is None:
                raise FileNotFoundError(2, "No such file or directory", path)
        return entry

    def backing_file(self, entry: Entry) -> BackingFile:
        return BackingFile(entry.backing, self.replay.writes.get(entry.backing, {}),
                           self.replay.holes.get(entry.backing, []))

    def header(self, entry: Entry) -> tuple[FileHeader, FileProtection]:
        """The header, and the protection that it gives the file under the name at which that was found."""
        with self.backing_file(entry) as backing:
            header = open_header(self.keys, backing.header())
        if header.bindings and entry.binding not in header.bindings and self.has_pending(entry, header):
            header.bindings.append(entry.binding)
        return header, header.at(entry.binding)

    def has_pending(self, entry: Entry, header: FileHeader) -> bool:
        """Whether a crash has kept from the header that it has this name."""
        try:
            raw = os.getxattr(entry.backing, SUMMARY, follow_symlinks=False)
            generation, bindings = open_pending(self.keys, raw, header.file)
        except (Refused, OSError):
            return False
        return header.pending is None and header.generation <= generation and entry.binding in bindings

    def contents(self, entry: Entry) -> Iterator[bytes]:
        header, protection = self.header(entry)
        file_key = open_file_key(header.file, protection, self.keys.volume, self.classes)
        with self.backing_file(entry) as backing:
            for block in read_blocks(backing, header, self.keys.volume, file_key, range(blocks_of(header))):
                yield block.plain

    def check_contents(self, entry: Entry, runs: Sequence[BlockRun] = ()) -> Iterator[str]:
        """Refuses what `contents` refuses, in a time that grows with what is stored, not with the header's length.
        Yields which blocks have lower numbers than the machine remembers."""
        header, protection = self.header(entry)
        file_key = open_file_key(header.file, protection, self.keys.volume, self.classes)
        key = nonce_key(file_key, self.keys.volume, header.file)
        bounds = BlockBounds(runs if header.numbers_blocks else ())
        with self.backing_file(entry) as backing:
            for block in read_blocks(backing, header, self.keys.volume, file_key, telling_blocks(backing, header)):
                bound = bounds.of(block.index)
                if block.nonce is not None and bound and (number := number_in_nonce(key, block.nonce)) < bound:
                    yield f"block {block.index} has the number {number}, and this machine has seen {bound}"

    def modified(self, entry: Entry, header: FileHeader) -> str:
        # A replay stamps the file.
        seconds, nanoseconds = (header.modified if entry.backing in self.replay.headers
                                else header.shown_time(divmod(entry.status.st_mtime_ns, 10**9)))
        return f"{seconds}.{nanoseconds:09}"

    def changed(self, entry: Entry, header: FileHeader) -> str:
        # A replay writes the header.
        seconds, nanoseconds = (header.changed if entry.backing in self.replay.headers
                                else header.shown_change(divmod(entry.status.st_ctime_ns, 10**9)))
        return f"{seconds}.{nanoseconds:09}"

    def summary(self, entry: Entry) -> Optional[Summary]:
        """What the summary says of a file, if that has one and it counts."""
        own = entry.status
        if entry.backing in self.replay.headers or own.st_nlink != 1 or own.st_mtime_ns % 10**9:
            return None
        try:
            raw = os.getxattr(entry.backing, SUMMARY, follow_symlinks=False)
            return open_summary(self.keys, raw, entry.binding, own.st_size, own.st_mtime_ns // 10**9)
        except (Refused, OSError):
            return None

    def check_summary(self, entry: Entry) -> None:
        """Refuses one that counts and says otherwise than the header."""
        header, _ = self.header(entry)
        summary = self.summary(entry)
        if summary is not None and not summary.fits(header):
            refuse("the summary says otherwise than the header")

    def symlink(self, entry: Entry) -> bytes:
        raw = sealed_symlink(os.readlink(entry.backing), self.path)
        self.nonces.append(raw[:16])
        return open_symlink(self.keys, raw)

    def xattrs(self, backing: bytes, owner: bytes, prefix: str = XATTR_PREFIX) -> dict[bytes, bytes]:
        found = {}
        try:
            names = os.listxattr(backing, follow_symlinks=False)
        except OSError as error:
            if error.errno != errno.EOPNOTSUPP:
                raise
            names = []
        stored = [name for name in names if name.startswith(prefix)]
        for stored_name in stored:
            if stored_name.startswith(prefix + "rest."):
                continue
            value = os.getxattr(backing, stored_name, follow_symlinks=False)
            continuation = continuation_name(stored_name, value, prefix)
            if continuation in stored:
                value += os.getxattr(backing, continuation, follow_symlinks=False)
            name, plain = open_xattr(self.keys, owner, stored_name, value, prefix)
            found[name] = plain
            self.nonces.append(split_xattr(stored_name, value, prefix)[1][:16])
        return found if prefix != XATTR_PREFIX else found | self.sidecar(owner)

    def sidecar(self, owner: bytes) -> dict[bytes, bytes]:
        try:
            raw = read_file(os.path.join(self.path, SIDECARS, sidecar_name(owner)), LARGEST_SIDECAR + 32)
        except FileNotFoundError:
            return {}
        self.nonces.append(raw[:16])
        return open_sidecar(self.keys, owner, raw)

    def node_xattrs(self, backing: bytes) -> dict[bytes, bytes]:
        return self.xattrs(backing, bytes(16), NODE_XATTR_PREFIX)


# Commands ----------------------------------------------------------------------------------------------------------


def shown(raw: bytes) -> str:
    """Bytes for a person: UTF-8 where it is, escapes where it is not."""
    return raw.decode("utf-8", "backslashreplace")


def list_command(vault: Vault, path: bytes) -> None:
    entry = vault.find(path)
    if entry is not None and not stat.S_ISDIR(entry.status.st_mode):
        names = [entry.name]
    else:
        directory = vault.root() if entry is None else vault.directory(entry.backing, entry.binding)
        names = [found.name for found in vault.list(directory).entries]
    for name in names:
        sys.stdout.buffer.write(name + b"\n")


def cat_command(vault: Vault, path: bytes) -> None:
    entry = vault.find(path)
    if entry is None or not stat.S_ISREG(entry.status.st_mode):
        raise IsADirectoryError(21, "Not a regular file", path)
    for block in vault.contents(entry):
        sys.stdout.buffer.write(block)


def describe(vault: Vault, entry: Optional[Entry]) -> dict[str, object]:
    backing = vault.path if entry is None else entry.backing
    mode = stat.S_IFDIR if entry is None else entry.status.st_mode
    facts: dict[str, object] = {"backing": shown(os.path.relpath(backing, vault.path))}
    if stat.S_ISDIR(mode):
        record = (vault.root() if entry is None else vault.directory(backing, entry.binding)).record
        facts |= {"kind": "directory", "id": record.identifier.hex(),
                  "class": CLASS_NAMES[record.default_class], "explicit": record.explicit,
                  "xattrs": vault.xattrs(backing, record.identifier)}
    elif stat.S_ISREG(mode):
        header, protection = vault.header(entry)
        sparse = None if header.first_sparse_block == 2**64 - 1 else header.first_sparse_block
        facts |= {"kind": "file", "id": header.file.hex(), "class": CLASS_NAMES[protection.protection],
                  "explicit": protection.explicit, "wrapAlgorithm": protection.algorithm,
                  "bindings": len(header.bindings) or "any", "moving": header.pending is not None,
                  "generation": header.generation, "numberedBlocks": header.numbers_blocks, "length": header.length,
                  "provisionalLength": header.provisional_length, "firstSparseBlock": sparse,
                  "modified": vault.modified(entry, header), "changed": vault.changed(entry, header),
                  "summary": vault.summary(entry) is not None,
                  "xattrs": vault.xattrs(backing, header.file)}
    elif stat.S_ISLNK(mode):
        facts |= {"kind": "symbolic link", "target": shown(vault.symlink(entry)),
                  "xattrs": vault.node_xattrs(backing)}
    else:
        facts |= {"kind": "special file", "xattrs": vault.node_xattrs(backing)}
    if "xattrs" in facts:
        facts["xattrs"] = {shown(name): value.hex() for name, value in facts["xattrs"].items()}
    return facts


def stat_command(vault: Vault, path: bytes) -> None:
    print(json.dumps(describe(vault, vault.find(path)), indent=2, ensure_ascii=False))


def verify_command(vault: Vault, marks: Marks) -> int:
    """Open everything that the keys at hand open, and compare with what the machine remembers. Returns how many objects
    were refused."""
    counted = {"files": 0, "directories": 0, "symbolic links": 0, "special files": 0, "not unlocked": 0,
               "foreign": 0, "temporary": 0, "orphans": 0, "replayed": len(vault.replay.writes), "older": 0, "back": 0,
               "conflict": 0, "refused": 0}

    def report(what: str, path: bytes, why: str) -> None:
        counted[what] += 1
        print(f"{what}: {shown(path)}: {why}")

    def compare(path: bytes, identifier: bytes, binding: bytes, found: FileHeader | DirectoryRecord) -> bool:
        """Whether it is as new as it must be."""
        mark = marks.of.get(mark_key(identifier, binding))
        if mark is None or (verdict := mark.verdict(found)) is None:
            return True
        report(verdict, path, f"this machine has seen generation {mark.generation}")
        return False

    def compare_file(path: bytes, entry: Entry) -> None:
        """Its header, or else its first block that is older; and refuses what of it is damaged."""
        header, _ = vault.header(entry)
        is_told = not compare(path, header.file, entry.binding, header)
        vault.check_summary(entry)
        for older in vault.check_contents(entry, marks.runs.get(mark_key(header.file, entry.binding), ())):
            if not is_told:
                report("older", path, older)
                is_told = True

    pending: list[tuple[bytes, Optional[Entry]]] = [(b"/", None)]
    while pending:
        path, entry = pending.pop()
        try:
            vault.nonces.clear()
            facts = describe(vault, entry)
            for nonce in vault.nonces:
                mark = marks.of.get(hmac_sha256(vault.keys.bindings, nonce)[:12])
                if mark is not None and mark.is_gone and mark.kind == 2:
                    report("back", path, "a link or an attribute that this machine has seen replaced or removed")
            if facts["kind"] == "file":
                counted["files"] += 1
                compare_file(path, entry)
            elif facts["kind"] == "symbolic link":
                counted["symbolic links"] += 1
            elif facts["kind"] == "special file":
                counted["special files"] += 1
            else:
                counted["directories"] += 1
                directory = vault.root() if entry is None else vault.directory(entry.backing, entry.binding)
                compare(path, directory.record.identifier, directory.binding, directory.record)
                listing = vault.list(directory)
                for name in listing.foreign:
                    report("foreign", path, shown(name))
                for name in listing.temporary:
                    report("temporary", path, shown(name))
                for name in listing.orphans:
                    report("orphans", path, shown(name))
                pending += [(os.path.join(path, found.name), found) for found in listing.entries]
        except Locked:
            counted["not unlocked"] += 1
        except (Refused, OSError) as error:
            report("refused", path, str(error))
    print(", ".join(f"{number} {what}" for what, number in counted.items() if number or what == "refused"))
    return counted["refused"]


def read_secret_line(path: str) -> bytes:
    """A passcode file: its contents up to the first line feed, as typed."""
    with open(path, "rb") as file:
        return file.read().split(b"\n", 1)[0]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="read-vault.py", description="Read a Latchkey vault without Latchkey, from docs/FORMAT.md alone.",
        epilog="With a device key alone, names and files of class D can be read. Exit status: 0 done, 1 failed, "
               "2 usage, 3 wrong passcode, 4 locked, 5 not a vault, 6 damaged or tampered with.")
    parser.add_argument("vault", metavar="VAULT")
    parser.add_argument("--device-key", metavar="FILE", help="needed, except with a recovery key or an escrow key")
    unlocking = parser.add_mutually_exclusive_group()
    unlocking.add_argument("--passcode-file", metavar="FILE")
    unlocking.add_argument("--recovery-key-file", metavar="FILE")
    unlocking.add_argument("--key-file", metavar="FILE")
    unlocking.add_argument("--escrow-key", metavar="FILE", help="an X25519 private key, in PEM")
    unlocking.add_argument("--fido2-secret", metavar="FILE",
                           help="what a security key has derived (hmac-secret), in 64 hexadecimal digits")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("ls", help="list names").add_argument("path", metavar="PATH", nargs="?", default="/")
    commands.add_parser("cat", help="write a file's contents").add_argument("path", metavar="PATH")
    commands.add_parser("stat", help="show what header or directory record say").add_argument("path", metavar="PATH")
    commands.add_parser("verify", help="open every object and list what is refused")
    parsed = parser.parse_args()
    if not parsed.device_key and not parsed.recovery_key_file and not parsed.escrow_key:
        parser.error("give --device-key, --recovery-key-file or --escrow-key")
    return parsed


def warn_of_older(keybag: Keybag, path: str, device_key: bytes) -> None:
    try:
        raw = read_file(os.fsencode(path + ".seen"), 48 + 65_536 + 32)
    except OSError:
        return
    seen = parse_seen_keybag(raw, keybag.volume, device_key)
    if seen is None or seen.raw == keybag.raw or seen.generation < keybag.generation:
        return
    kind = "conflict" if seen.generation == keybag.generation else "older"
    print(f"{kind}: the keybag has generation {keybag.generation}, and this machine has seen {seen.generation}",
          file=sys.stderr)


def marks_beside(device_key: Optional[str], keys: VolumeKeys) -> Marks:
    if device_key is None:
        return Marks()
    try:
        return parse_marks(read_file(os.fsencode(device_key + ".marks"), 1 << 30), keys.volume, keys.marks)
    except OSError:
        return Marks()


def run(given: argparse.Namespace) -> int:
    credentials, key_volume = Credentials(), None
    if given.device_key:
        key_volume, credentials.device_key = parse_device_key(read_file(os.fsencode(given.device_key), 64))
    if given.passcode_file:
        credentials.passcode = read_secret_line(given.passcode_file)
    if given.recovery_key_file:
        credentials.recovery_key = parse_recovery_key(read_secret_line(given.recovery_key_file).decode())
    if given.key_file:
        credentials.key_file = parse_key_file(read_secret_line(given.key_file).decode())
    if given.fido2_secret:
        credentials.fido2_secret = bytes.fromhex(read_secret_line(given.fido2_secret).decode())
    if given.escrow_key:
        private = load_pem_private_key(read_file(os.fsencode(given.escrow_key), 4096), None)
        credentials.escrow_key = private.private_bytes_raw()
    vault = Vault(os.fsencode(given.vault), credentials, key_volume)
    if credentials.device_key is not None:
        warn_of_older(vault.keybag, given.device_key, credentials.device_key)
    if given.command == "verify":
        return 6 if verify_command(vault, marks_beside(given.device_key, vault.keys)) else 0
    command = {"ls": list_command, "cat": cat_command, "stat": stat_command}[given.command]
    command(vault, os.fsencode(given.path))
    return 0


def main() -> int:
    try:
        return run(arguments())
    except Refused as error:
        code, message = 6, f"refused: {error}"
    except Locked as error:
        code, message = 4, str(error)
    except WrongPasscode as error:
        code, message = 3, str(error)
    except NotAVault as error:
        code, message = 5, f"not a vault: {error}"
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        code, message = 1, str(error)
    print(f"read-vault: {message}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
