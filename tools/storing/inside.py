"""What runs on a machine, in a mount: `inside.py WHAT FOLDER ...`. Prints JSON."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import random
import shutil
import sqlite3
import sys
import time
from pathlib import Path
from typing import Any, Callable

RECORD = 4096
SLOTS = 16


def content(kind: str, number: int, length: int = RECORD) -> bytes:
    return random.Random(f"{kind} {number}").randbytes(length)


def why(error: OSError) -> str:
    return errno.errorcode.get(error.errno or 0, str(error))


# The main job ------------------------------------------------------------------------------------------------------


def sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_synced(path: Path, raw: bytes) -> None:
    with path.open("wb") as file:
        file.write(raw)
        file.flush()
        os.fsync(file.fileno())


def expect(right: bool, what: str) -> None:
    if not right:
        raise ValueError(what)


LONG = "é" * 100


def main_job(folder: Path) -> dict[str, str]:
    """Each call that programs make, with what it answered."""
    large = content("large", 0, 1 << 20)

    def write() -> None:
        write_synced(folder / "large", large)
        write_synced(folder / "small", b"contents of a small file")

    def read() -> None:
        expect((folder / "large").read_bytes() == large, "other contents")

    def overwrite() -> None:
        with (folder / "large").open("r+b") as file:
            file.seek(5000)
            file.write(b"x" * 10_000)
            os.fsync(file.fileno())
        expect((folder / "large").read_bytes()[4990:15_010] == large[4990:5000] + b"x" * 10_000 + large[15_000:15_010],
               "other contents")
        write_synced(folder / "large", large)

    def truncate() -> None:
        write_synced(folder / "cut", large[:100_000])
        os.truncate(folder / "cut", 12_345)
        os.truncate(folder / "cut", 50_000)
        expect((folder / "cut").read_bytes() == large[:12_345] + bytes(50_000 - 12_345), "other contents")

    def rename() -> None:
        write_synced(folder / "old", b"old")
        write_synced(folder / "new", b"new")
        os.rename(folder / "new", folder / "old")
        expect((folder / "old").read_bytes() == b"new" and not (folder / "new").exists(), "other contents")
        os.mkdir(folder / "folder")
        os.rename(folder / "folder", folder / "moved")
        os.rename(folder / "old", folder / "moved" / "old")

    def link() -> None:
        os.link(folder / "small", folder / "linked")
        expect(os.stat(folder / "small").st_nlink == 2, "the number of links is not 2")
        expect((folder / "linked").read_bytes() == b"contents of a small file", "other contents")

    def symlink() -> None:
        os.symlink("a target/that is not there", folder / "symbolic")
        expect(os.readlink(folder / "symbolic") == "a target/that is not there", "another target")

    def xattr() -> None:
        os.setxattr(folder / "small", "user.short", b"value")
        os.setxattr(folder / "small", "user.long", b"v" * 1500)
        expect(os.getxattr(folder / "small", "user.long") == b"v" * 1500, "another value")
        expect({"user.short", "user.long"} <= set(os.listxattr(folder / "small")), "not listed")

    def attributes() -> None:
        os.chmod(folder / "small", 0o640)
        os.utime(folder / "small", ns=(10**18, 10**18 + 123_456_789))
        status = os.stat(folder / "small")
        expect(status.st_mode & 0o7777 == 0o640, "another mode")
        expect(status.st_mtime_ns == 10**18 + 123_456_789, "another time")

    def names() -> None:
        write_synced(folder / LONG, b"long")
        write_synced(folder / "Case", b"upper")
        write_synced(folder / "case", b"lower")
        expect((folder / "Case").read_bytes() == b"upper", "Case and case are one file")
        expect({LONG, "Case", "case"} <= set(os.listdir(folder)), "not listed")

    def many() -> None:
        os.mkdir(folder / "many")
        for number in range(150):
            (folder / "many" / f"file {number}").write_bytes(b"%d" % number)
        expect(len(os.listdir(folder / "many")) == 150, "not all listed")
        for number in range(0, 150, 2):
            os.unlink(folder / "many" / f"file {number}")
        expect(len(os.listdir(folder / "many")) == 75, "still listed")

    def unlinked() -> None:
        with (folder / "gone").open("w+b") as file:
            file.write(b"still here")
            file.flush()
            os.unlink(folder / "gone")
            file.seek(0)
            expect(file.read() == b"still here", "other contents")

    def folder_removed() -> None:
        (folder / "removed").mkdir()
        with (folder / "removed" / "file").open("wb") as file:
            for number in range(50):
                file.write(content("removed", number))
                file.flush()
                os.fsync(file.fileno())
        # A file that is hardly closed leaves nothing in its folder.
        os.unlink(folder / "removed" / "file")
        os.rmdir(folder / "removed")

    def folder_sync() -> None:
        sync_folder(folder)

    result = {}
    for call in (write, read, overwrite, truncate, rename, link, symlink, xattr, attributes, names, many, unlinked,
                 folder_sync, folder_removed):
        try:
            call()
            result[call.__name__.replace("_", " ")] = "ok"
        except OSError as error:
            result[call.__name__.replace("_", " ")] = why(error)
        except ValueError as error:
            result[call.__name__.replace("_", " ")] = str(error)
    return result


def attributes(path: Path) -> list[Any]:
    status = path.lstat()
    if path.is_symlink():
        return [status.st_mode, os.readlink(path)]
    if not path.is_file():
        # A store may keep the attributes of a folder for seconds while files are made in it.
        return [status.st_mode]
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    extended = [[key, os.getxattr(path, key).hex()] for key in sorted(os.listxattr(path))]
    return [status.st_mode, status.st_mtime_ns, status.st_size, status.st_nlink, digest, *extended]


def listing(folder: Path) -> list[list[Any]]:
    """All names with attributes and digests: what must be the same after a remount."""
    lines = []
    for parent, folders, files in os.walk(folder):
        for name in sorted([*folders, *files]):
            path = Path(parent, name)
            line: list[Any] = [str(path.relative_to(folder))]
            try:
                line += attributes(path)
            except OSError as error:
                line.append(why(error))
            lines.append(line)
    return sorted(lines, key=lambda line: line[0])


# Synced writes -----------------------------------------------------------------------------------------------------


def ended(acknowledged: Path) -> bool:
    """Whether whoever has begun a workload wants it to end."""
    return acknowledged.with_suffix(".end").exists()


def synced(folder: Path, acknowledged: Path, seconds: float) -> dict[str, Any]:
    """Writes and syncs, and notes outside of the store what was acknowledged. Goes on after errors."""
    acks = os.open(acknowledged, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    folder.mkdir(exist_ok=True)
    end = time.monotonic() + seconds
    errors: dict[str, int] = {}
    longest, number, count = 0.0, 0, 0

    def append() -> None:
        with (folder / "appended").open("ab") as file:
            position = file.tell()
            # Records that were written and not acknowledged may be there or not: each one has its own place.
            if position % RECORD:
                file.truncate(position - position % RECORD)
            file.write(number.to_bytes(8, "big") + content("append", number, RECORD - 8))
            file.flush()
            os.fsync(file.fileno())

    def create() -> None:
        write_synced(folder / f"file {number}", content("create", number, 3000))
        sync_folder(folder)

    def overwrite() -> None:
        descriptor = os.open(folder / "overwritten", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            os.pwrite(descriptor, number.to_bytes(8, "big") + content("overwrite", number, RECORD - 8),
                      number % SLOTS * RECORD)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def save() -> None:
        write_synced(folder / "saving", number.to_bytes(8, "big") + content("save", number, 2000))
        os.rename(folder / "saving", folder / "saved")
        sync_folder(folder)

    acts: list[Callable[[], None]] = [append, overwrite, create, overwrite, append, save]
    while time.monotonic() < end and not ended(acknowledged):
        act = acts[number % len(acts)]
        begin = time.monotonic()
        try:
            act()
            os.write(acks, f"{act.__name__} {number}\n".encode())
            count += 1
        except OSError as error:
            errors[why(error)] = errors.get(why(error), 0) + 1
            time.sleep(0.05)
        longest = max(longest, time.monotonic() - begin)
        number += 1
    return {"acknowledged": count, "errors": errors, "longest": round(longest, 1)}


def verify(folder: Path, acknowledged: Path) -> dict[str, Any]:
    """Every acknowledged write must be there; a later one, which nobody has acknowledged, may be."""
    acks: dict[str, list[int]] = {}
    for line in acknowledged.read_text().splitlines() if acknowledged.exists() else []:
        act, number = line.split()
        acks.setdefault(act, []).append(int(number))
    lost: list[str] = []

    def read(name: str) -> bytes:
        try:
            return (folder / name).read_bytes()
        except OSError as error:
            lost.append(f"{name}: {why(error)}")
            return b""

    appended = read("appended") if "append" in acks else b""
    there = set()
    for at in range(0, len(appended) - RECORD + 1, RECORD):
        number = int.from_bytes(appended[at:at + 8], "big")
        if appended[at + 8:at + RECORD] == content("append", number, RECORD - 8):
            there.add(number)
    lost += [f"append {number}" for number in acks.get("append", []) if number not in there]
    lost += [f"create {number}" for number in acks.get("create", [])
             if read(f"file {number}") != content("create", number, 3000)]
    raw = read("overwritten") if "overwrite" in acks else b""
    newest: dict[int, int] = {}
    for number in acks.get("overwrite", []):
        newest[number % SLOTS] = number
    for slot, number in newest.items():
        record = raw[slot * RECORD:(slot + 1) * RECORD]
        found = int.from_bytes(record[:8], "big")
        if found < number or record[8:] != content("overwrite", found, RECORD - 8):
            lost.append(f"overwrite {number}")
    if acks.get("save"):
        record = read("saved")
        found = int.from_bytes(record[:8], "big")
        if found < acks["save"][-1] or record[8:] != content("save", found, 2000):
            lost.append(f"save {acks['save'][-1]}")
    return {"acknowledged": sum(map(len, acks.values())), "lost": len(lost), "first": lost[:3]}


# SQLite ------------------------------------------------------------------------------------------------------------


def database(folder: Path, mode: str, acknowledged: Path, seconds: float) -> dict[str, Any]:
    acks = os.open(acknowledged, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    end = time.monotonic() + seconds
    number, errors = 0, ""
    try:
        base = sqlite3.connect(folder / f"{mode}.db", isolation_level=None)
        set_mode = base.execute(f"pragma journal_mode={mode}").fetchone()[0]
        base.execute("pragma synchronous=full")
        base.execute("create table if not exists rows (id integer primary key, raw blob)")
        while time.monotonic() < end:
            base.execute("insert into rows values (?, ?)", (number, content(mode, number, 700)))
            os.write(acks, f"{number}\n".encode())
            number += 1
    except sqlite3.Error as error:
        errors = str(error)
        set_mode = mode if number else errors
    return {"rows": number, "mode": set_mode, "errors": errors}


def database_verify(folder: Path, mode: str, acknowledged: Path) -> dict[str, Any]:
    acks = [int(line) for line in acknowledged.read_text().split()] if acknowledged.exists() else []
    try:
        base = sqlite3.connect(folder / f"{mode}.db")
        integrity = base.execute("pragma integrity_check").fetchone()[0]
        rows = dict(base.execute("select id, raw from rows"))
    except sqlite3.Error as error:
        return {"integrity": str(error), "acknowledged": len(acks), "lost": len(acks)}
    lost = [number for number in acks if rows.get(number) != content(mode, number, 700)]
    return {"integrity": integrity, "acknowledged": len(acks), "lost": len(lost)}


# Load for a lock ---------------------------------------------------------------------------------------------------


def load(folder: Path, acknowledged: Path, seconds: float) -> dict[str, Any]:
    """Reads, writes and syncs until the time is over, also while the calls fail."""
    end = time.monotonic() + seconds
    done, number, errors = 0, 0, {}
    while time.monotonic() < end and not ended(acknowledged):
        number += 1
        path = folder / f"load {os.getpid()} {number % 8}"
        try:
            write_synced(path, content("load", number % 8, 60_000))
            path.read_bytes()
            done += 1
        except OSError as error:
            errors[why(error)] = errors.get(why(error), 0) + 1
            time.sleep(0.02)
    return {"done": done, "errors": errors}


def try_read(path: Path) -> dict[str, str]:
    try:
        path.read_bytes()
        return {"read": "ok"}
    except OSError as error:
        return {"read": why(error)}


# Speed -------------------------------------------------------------------------------------------------------------


def speed(folder: Path) -> dict[str, float]:
    """Files and syncs in a second, MB/s; each part does as much as it can in 2 s at most."""
    folder.mkdir()
    rates = {}

    def rate(name: str, limit: int, act: Callable[[int], object], amount: float = 1) -> None:
        begin, number = time.monotonic(), 0
        while number < limit and time.monotonic() - begin < 2:
            act(number)
            number += 1
        rates[name] = number * amount / (time.monotonic() - begin)

    small = content("small", 0, 5000)
    piece = content("piece", 0, 1 << 20)
    rate("files made", 500, lambda number: (folder / f"small {number}").write_bytes(small))
    made = len(os.listdir(folder))
    rate("files read", made, lambda number: (folder / f"small {number}").read_bytes())
    begin = time.monotonic()
    with (folder / "stream").open("wb") as file:
        count = 0
        while count < 64 and time.monotonic() - begin < 2:
            file.write(piece)
            count += 1
        file.flush()
        os.fsync(file.fileno())
    rates["write MB/s"] = count * 1.048576 / (time.monotonic() - begin)
    with (folder / "stream").open("rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        begin = time.monotonic()
        while file.read(1 << 20):
            pass
        rates["read MB/s"] = count * 1.048576 / (time.monotonic() - begin)
    with (folder / "synced").open("wb") as file:
        def sync(_: int) -> None:
            file.write(small[:4096])
            file.flush()
            os.fsync(file.fileno())
        rate("syncs", 300, sync)
    # Not every store lets a folder go at once; a round has a folder of its own.
    shutil.rmtree(folder, ignore_errors=True)
    return {name: round(value, 1) for name, value in rates.items()}


def main() -> None:
    what, folder, *rest = sys.argv[1:]
    acts: dict[str, Callable[..., Any]] = {
        "main": main_job, "listing": listing, "speed": speed, "read": try_read,
        "synced": lambda folder, acks, seconds: synced(folder, Path(acks), float(seconds)),
        "verify": lambda folder, acks: verify(folder, Path(acks)),
        "database": lambda folder, mode, acks, seconds: database(folder, mode, Path(acks), float(seconds)),
        "database-verify": lambda folder, mode, acks: database_verify(folder, mode, Path(acks)),
        "load": lambda folder, acks, seconds: load(folder, Path(acks), float(seconds)),
    }
    print(json.dumps(acts[what](Path(folder), *rest)), flush=True)


main()
