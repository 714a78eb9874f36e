"""Both machines edit their copies before the synchroniser runs: which versions of a file must be there after it.

Each edit adds a line of its own to a file, and keeps the lines that are there. A line that was in a file when that was
closed must be in some file later, unless a machine has removed a file that had the line. So an edit that another
machine's edit has taken the place of is found, without a rule for which of the two gets the name.
"""

from __future__ import annotations

import errno
import hashlib
import os
import random
import re
import shutil
from pathlib import Path
from typing import Callable, Iterator

NAMES = ["a", "b", "report.odt", "notes.txt", "Résumé.pdf", "x" * 200 + ".txt", "c.d", ".hidden"]
FOLDERS = ["one", "two", "Übungen", "y" * 190]
CLASSES = ["complete", "complete-unless-open", "complete-until-first-user-authentication", "none"]
CONFLICT = re.compile(r" \(conflict[^()]*\)")
MOST_DEPTH, MOST_FILES, MOST_LINES = 3, 60, 40
FILLERS = [0, 0, 0, 100, 5000, 5000, 40_000]


def line_of(token: str, filler: int) -> bytes:
    """A line that shows whether it is whole."""
    body = f"{token} " + hashlib.sha256(token.encode()).hexdigest() * (1 + filler // 64)
    return f"{body} {hashlib.sha256(body.encode()).hexdigest()}\n".encode()


def tokens_of(data: bytes) -> tuple[set[str], list[str]]:
    """The tokens of the whole lines, and what is wrong with others."""
    tokens, wrong = set(), []
    lines = data.split(b"\n")
    if lines.pop():
        wrong.append("does not end with a line")
    for line in lines:
        body, _, check = line.rpartition(b" ")
        if hashlib.sha256(body).hexdigest().encode() == check:
            tokens.add(body.split(b" ")[0].decode())
        else:
            wrong.append(f"has a broken line of {len(line)} bytes: {line[:40]!r}")
    return tokens, wrong


class Apart:
    """What was closed on both machines. `removed` are the tokens of files that a machine has removed, and `brought` are
    those that both machines have."""

    def __init__(self, numbers: random.Random):
        self.random = numbers
        self.root = Path("/")
        self.closed: dict[str, str] = {}
        self.brought: set[str] = set()
        self.removed: set[str] = set()
        self.versions: set[str] = set()
        self.count = 0
        self.log: list[str] = []
        self.seen_conflicts = 0
        self.weights: dict[Callable[[], None], int] = {
            self.create: 10, self.append: 14, self.rewrite: 6, self.save_atomically: 12, self.rename: 7,
            self.rename_folder: 3, self.remove: 4, self.make_folder: 6, self.remove_folder: 1, self.set_class: 3,
            self.change_mode: 2}

    # What is there.

    def files(self) -> list[Path]:
        return [path for path in self.walk() if path.is_file() and not path.is_symlink()]

    def folders(self) -> list[Path]:
        return [self.root, *(path for path in self.walk() if path.is_dir())]

    def walk(self) -> Iterator[Path]:
        for folder, folders, files in os.walk(self.root, onerror=self.fail):
            folders.sort()
            for name in sorted(folders + files):
                yield Path(folder, name)

    @staticmethod
    def fail(error: OSError) -> None:
        raise error

    def depth(self, path: Path) -> int:
        return len(path.relative_to(self.root).parts)

    # Edits.

    def run(self, number: int) -> None:
        for _ in range(number):
            act = self.random.choices(list(self.weights), list(self.weights.values()))[0]
            if len(self.files()) > MOST_FILES:
                act = self.remove
            try:
                act()
            except OSError as error:
                # An open file of a class that is locked, and the like: no edit here meets one.
                raise OSError(error.errno, f"{act.__name__}: {error.strerror}", error.filename) from None

    def note(self, what: str, *paths: Path) -> None:
        self.count += 1
        self.log.append(f"{what} {', '.join(repr(str(path.relative_to(self.root))) for path in paths)}")

    def token(self, machine: str = "") -> str:
        return f"{self.root.parent.name}-{len(self.closed) + 1}{machine}"

    def new_line(self, path: Path) -> tuple[str, bytes]:
        token = self.token()
        self.closed[token] = str(path.relative_to(self.root))
        return token, line_of(token, self.random.choice(FILLERS))

    def keep_version(self, path: Path) -> None:
        self.versions.add(hashlib.sha256(path.read_bytes()).hexdigest())

    def forget(self, path: Path) -> None:
        """A machine takes this file away, and has seen what is in it."""
        self.removed |= tokens_of(path.read_bytes())[0]

    def pick(self) -> Path | None:
        files = self.files()
        return self.random.choice(files) if files else None

    def place(self) -> Path:
        return self.random.choice(self.folders()) / self.random.choice(NAMES)

    def create(self) -> None:
        path = self.place()
        if os.path.lexists(path):
            return
        _, line = self.new_line(path)
        path.write_bytes(line)
        self.keep_version(path)
        self.note("create", path)

    def append(self) -> None:
        path = self.pick()
        if path is None:
            return self.create()
        if path.read_bytes().count(b"\n") > MOST_LINES:
            return self.shorten(path)
        _, line = self.new_line(path)
        with open(path, "ab") as file:
            file.write(line)
            if self.random.random() < 0.3:
                file.flush()
                os.fsync(file.fileno())
        self.keep_version(path)
        self.note("append", path)

    def shorten(self, path: Path) -> None:
        """Drops the older lines, which are removed by that."""
        lines = path.read_bytes().splitlines(keepends=True)
        self.removed |= tokens_of(b"".join(lines[:-5]))[0]
        path.write_bytes(b"".join(lines[-5:]))
        self.keep_version(path)
        self.note("shorten", path)

    def rewrite(self) -> None:
        """The new line comes first, so that all blocks change."""
        path = self.pick()
        if path is None:
            return
        data = path.read_bytes()
        _, line = self.new_line(path)
        with open(path, "r+b") as file:
            file.write(line + data)
        self.keep_version(path)
        self.note("rewrite", path)

    def save_atomically(self) -> None:
        path = self.pick()
        if path is None:
            return
        _, line = self.new_line(path)
        new = path.with_name(f".new-{len(self.closed)}")
        new.write_bytes(path.read_bytes() + line)
        os.rename(new, path)
        self.keep_version(path)
        self.note("save", path)

    def rename(self) -> None:
        path, place = self.pick(), self.place()
        if path is None or path == place or place.is_dir():
            return
        if place.exists():
            self.forget(place)
        os.rename(path, place)
        self.note("rename", path, place)

    def rename_folder(self) -> None:
        folders = self.folders()[1:]
        if not folders:
            return
        folder = self.random.choice(folders)
        place = self.random.choice(self.folders()) / self.random.choice(FOLDERS)
        if os.path.lexists(place) or place.is_relative_to(folder) or self.depth(place) > MOST_DEPTH:
            return
        os.rename(folder, place)
        self.note("rename", folder, place)

    def remove(self) -> None:
        path = self.pick()
        if path is None:
            return
        self.forget(path)
        path.unlink()
        self.note("remove", path)

    def make_folder(self) -> None:
        path = self.random.choice(self.folders()) / self.random.choice(FOLDERS)
        if os.path.lexists(path) or self.depth(path) > MOST_DEPTH:
            return
        path.mkdir()
        self.note("mkdir", path)
        if self.random.random() < 0.7:
            inner = path / self.random.choice(NAMES)
            inner.write_bytes(self.new_line(inner)[1])
            self.keep_version(inner)
            self.note("create", inner)

    def remove_folder(self) -> None:
        folders = self.folders()[1:]
        if not folders:
            return
        folder = self.random.choice(folders)
        for path in self.walk():
            if path.is_relative_to(folder) and path.is_file():
                self.forget(path)
        shutil.rmtree(folder)
        self.note("rmtree", folder)

    def set_class(self) -> None:
        path = self.pick()
        if path is not None:
            name = self.random.choice(CLASSES)
            os.setxattr(path, "user.latchkey.class", name.encode())
            self.note(f"class {name}", path)

    def change_mode(self) -> None:
        path = self.pick()
        if path is not None:
            path.chmod(self.random.choice([0o600, 0o640, 0o644, 0o755]))
            self.note("chmod", path)

    # The comparison.

    def conflicts(self) -> list[Path]:
        return [path for path in self.walk() if CONFLICT.search(path.name)]

    def losses(self) -> list[str]:
        """What should be in the mount, and is not; and what should not be there."""
        found, present = [], set()
        for path in self.files():
            name = path.relative_to(self.root)
            try:
                data = path.read_bytes()
            except OSError as error:
                found.append(f"{name}: {errno.errorcode.get(error.errno or 0, error.errno)}")
                continue
            tokens, wrong = tokens_of(data)
            found += [f"{name}: {text}" for text in wrong]
            present |= tokens
            if hashlib.sha256(data).hexdigest() not in self.versions:
                found.append(f"{name}: was never closed as it is: {sorted(tokens)}")
            true_name = CONFLICT.sub("", path.name)
            if true_name not in NAMES and not (true_name.startswith("x") and CONFLICT.search(path.name)):
                found.append(f"{name}: nobody has made this name")
        missing = self.brought - self.removed - present
        found += [f"{token} was closed in {self.closed[token]!r}, and is in no file" for token in sorted(missing)]
        self.seen_conflicts = max(self.seen_conflicts, len(self.conflicts()))
        return found
