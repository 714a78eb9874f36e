"""One program of the user in the mount NAME: program.py WHAT NAME. Each ends by itself, or runs until it is killed."""

from __future__ import annotations

import errno
import mmap
import os
import signal
import sqlite3
import sys
import time
from pathlib import Path
from typing import Callable, NoReturn

import secret

PAGE = 4096
FILES = 100
SERVICES = 8
PAGES = 3
MAPPED = 4 << 20
RECORD = 64
WHAT, NAME = sys.argv[1:3]
HOME = Path("/home/ann")
POINT = HOME / NAME
CLASSES = {"strict": "complete", "plain": "complete-until-first-user-authentication"}
# The block of the disk of secrets with the marker of these contents.
MARKERS = {"kept strict": 1, "mine strict": 2, "kept plain": 3, "mine plain": 4}


# What lies in the mount before the programs start.

def content(marker: memoryview, number: int, count: int) -> bytes:
    """`count` bytes, each 32 of which have the marker in them."""
    return b"".join((bytes(marker) + b"%4d%8d" % (number, page)) * (PAGE // 32) for page in range(count // PAGE))


def files(kind: str) -> list[tuple[Path, int]]:
    """The paths of the files and how long each is."""
    folder = POINT / kind
    listed = [(folder / str(number), PAGES * PAGE) for number in range(FILES if kind == "strict" else SERVICES)]
    return listed + ([(folder / "mapped", MAPPED)] if kind == "strict" else [])


def with_marker(kind: str, act: Callable[[Path, bytes], None]) -> None:
    page = secret.block(MARKERS[f"{NAME} {kind}"])
    with memoryview(page) as view:
        for number, (path, count) in enumerate(files(kind)):
            act(path, content(view[:20], number, count))
    secret.wipe(page)


def fill() -> None:
    def write(path: Path, contents: bytes) -> None:
        with path.open("wb", 0) as file:
            file.write(contents)
    for kind, protection in CLASSES.items():
        (POINT / kind).mkdir()
        os.setxattr(POINT / kind, "user.latchkey.class", protection.encode())
        with_marker(kind, write)


def check() -> None:
    """Reads everything that `fill` has written, so that all of it is in the page cache."""
    def compare(path: Path, contents: bytes) -> None:
        if path.read_bytes() != contents:
            sys.exit(f"{path} has other contents than were written")
    for kind in CLASSES:
        with_marker(kind, compare)


def check_locked() -> None:
    """No file of class A can be read, by any name; each of class C can."""
    for path, count in files("strict"):
        try:
            os.close(os.open(path, os.O_RDONLY))
        except OSError as error:
            if error.errno == errno.ENOKEY:
                continue
            raise
        sys.exit(f"{path} could be opened after the waking")
    for path, count in files("plain"):
        if len(path.read_bytes()) != count:
            sys.exit(f"{path} has another length than was written")


# Programs that write all the time, and note outside of the mount what was acknowledged.

class Notes:
    """A number in a plain file, which grows."""

    def __init__(self, name: str) -> None:
        (HOME / "notes").mkdir(exist_ok=True)
        self.descriptor = os.open(HOME / "notes" / f"{NAME}-{name}", os.O_RDWR | os.O_CREAT, 0o600)
        self.number = int(os.pread(self.descriptor, 20, 0) or b"0")

    def write(self, number: int) -> None:
        os.pwrite(self.descriptor, b"%020d" % number, 0)
        os.fdatasync(self.descriptor)
        self.number = number


def record(number: int) -> bytes:
    return (b"record %010d of %s " % (number, NAME.encode())).ljust(RECORD - 1, b"r") + b"\n"


def write_records(kind: str) -> NoReturn:
    """Records with write(2) and fsync(2). A file of class A refuses them while it is locked; one of C never does."""
    notes = Notes(kind)
    file = os.open(POINT / kind / "records", os.O_RDWR | os.O_CREAT, 0o600)
    while True:
        try:
            os.pwrite(file, record(notes.number + 1), notes.number * RECORD)
            os.fsync(file)
        except OSError as error:
            if error.errno != errno.ENOKEY or kind != "strict":
                raise
            time.sleep(0.05)
            continue
        notes.write(notes.number + 1)
        time.sleep(0.03)


def write_rows() -> NoReturn:
    """Rows of an SQLite database of class A, each a transaction of its own."""
    notes = Notes("database")
    while True:
        try:
            database = sqlite3.connect(POINT / "strict" / "database", timeout=5, isolation_level=None)
            database.execute("PRAGMA synchronous = FULL")
            database.execute("CREATE TABLE IF NOT EXISTS record (number INTEGER PRIMARY KEY, content BLOB)")
            while True:
                number = notes.number + 1
                database.execute("INSERT OR REPLACE INTO record VALUES (?, ?)", (number, record(number)))
                notes.write(number)
                time.sleep(0.1)
        except sqlite3.Error:
            # Locked. What was not acknowledged is written again, through a new connection.
            time.sleep(0.1)


def keep_mapped() -> NoReturn:
    """Maps a file of class A, and touches each of its pages at the start and at each SIGUSR1."""
    notes = Notes("mapped")
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
    with (POINT / "strict" / "mapped").open("r+b", 0) as file:
        mapping = mmap.mmap(file.fileno(), MAPPED)
    while True:
        for at in range(0, MAPPED, PAGE):
            mapping[at]
        notes.write(notes.number + 1)
        signal.sigwait([signal.SIGUSR1])


def verify() -> None:
    """Everything that was acknowledged is there."""
    check()
    for kind in CLASSES:
        count = Notes(kind).number
        with (POINT / kind / "records").open("rb", 0) as file:
            for number in range(1, count + 1):
                if file.read(RECORD) != record(number):
                    sys.exit(f"{file.name}: record {number} of {count} is not as it was acknowledged")
    count = Notes("database").number
    database = sqlite3.connect(POINT / "strict" / "database")
    (state,), = database.execute("PRAGMA integrity_check")
    rows = dict(database.execute("SELECT number, content FROM record"))
    if state != "ok" or any(rows.get(number) != record(number) for number in range(1, count + 1)):
        sys.exit(f"{NAME}: the database has not all of {count} rows: {state}")


# The load for the kernel's freezer.

def load() -> NoReturn:
    """Small operations of class C, without a pause: at nearly every moment one waits for the daemon."""
    folder = POINT / "plain" / f"load-{os.getpid()}"
    folder.mkdir()
    file = os.open(folder / "file", os.O_RDWR | os.O_CREAT, 0o600)
    number = 0
    while True:
        number += 1
        os.pwrite(file, record(number) * 64, number % 256 * PAGE)
        if number % 4 == 0:
            os.fsync(file)
        (folder / f"name-{number % 16}").write_bytes(record(number))
        (folder / f"name-{number % 16}").rename(folder / f"name-{(number + 8) % 16}")
        os.listdir(folder)


ACTS: dict[str, Callable[[], None]] = {
    "fill": fill, "check": check, "check-locked": check_locked, "records": lambda: write_records("strict"),
    "log": lambda: write_records("plain"), "rows": write_rows, "mapped": keep_mapped, "verify": verify, "load": load}
ACTS[WHAT]()
