"""A model of what was written to a mount, and the comparison of a mount with it."""

from __future__ import annotations

import errno
import os
import random
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import Iterator, Optional

CLASS = "user.latchkey.class"
LOOSE = "loose"
SHOWN = 64
SECOND = 1_000_000_000


@dataclass
class Entry:
    """A file, a folder or a symbolic link. `facts` is what lstat and the class said at the end of a session."""

    kind: str
    data: bytes = b""
    target: str = ""
    attributes: dict[str, bytes] = field(default_factory=dict)
    facts: Optional[tuple[object, ...]] = None


def kind_of(mode: int) -> str:
    return "folder" if stat.S_ISDIR(mode) else "link" if stat.S_ISLNK(mode) else "file"


def facts_of(path: Path) -> tuple[object, ...]:
    """Mode, time of modification in nanoseconds, and class. The times of folders are those of the store's folders."""
    status = os.lstat(path)
    if stat.S_ISLNK(status.st_mode):
        return ()
    time = status.st_mtime_ns if stat.S_ISREG(status.st_mode) else 0
    return stat.S_IMODE(status.st_mode), time, os.getxattr(path, CLASS).decode()


def attributes_of(path: Path) -> dict[str, bytes]:
    names = [name for name in os.listxattr(path, follow_symlinks=False) if not name.startswith("user.latchkey.")]
    return {name: os.getxattr(path, name, follow_symlinks=False) for name in names}


class Model(dict[str, Entry]):
    """Entries by their paths in the mount. `touched` are those whose facts have changed in this session."""

    def __init__(self) -> None:
        super().__init__()
        self.touched: set[str] = set()

    def of(self, *kinds: str) -> list[str]:
        """Paths of these kinds. What lies in the loose folder is left out: nothing promises that it stays."""
        return [path for path, entry in self.items()
                if entry.kind in kinds and path != LOOSE and not path.startswith((LOOSE + "/", "db"))]

    def below(self, path: str) -> list[str]:
        return [name for name in self if name.startswith(path + "/")]

    def remove(self, path: str) -> None:
        for name in [*self.below(path), path]:
            self.pop(name, None)

    def move(self, old: str, new: str) -> None:
        names = [old, *self.below(old)]
        entries = [self.pop(name) for name in names]
        self.remove(new)
        for name, entry in zip(names, entries):
            self[new + name[len(old):]] = entry
            self.touched.add(new + name[len(old):])

    def swap(self, one: str, other: str) -> None:
        held = ".swapped"
        self.move(one, held)
        self.move(other, one)
        self.move(held, other)
        self.touched = {name for name in self.touched if not name.startswith(held)}

    def put(self, path: str, entry: Entry) -> None:
        self[path] = entry
        self.touched.add(path)

    def adopt(self, root: Path, path: str) -> None:
        """Takes what is there for right, with all below it; a file that cannot be read raises OSError."""
        self.remove(path)
        try:
            status = os.lstat(root / path)
        except FileNotFoundError:
            return
        entry = Entry(kind_of(status.st_mode))
        if entry.kind == "link":
            entry.target = os.readlink(root / path)
        else:
            entry.attributes = attributes_of(root / path)
        if entry.kind == "file":
            entry.data = (root / path).read_bytes()
        self.put(path, entry)
        if entry.kind == "folder":
            for name in sorted(os.listdir(root / path)):
                self.adopt(root, f"{path}/{name}")

    def note_facts(self, root: Path) -> None:
        for path in self.touched & self.keys():
            self[path].facts = facts_of(root / path)
        self.touched.clear()

    @property
    def size(self) -> int:
        return sum(len(entry.data) for entry in self.values())

    def differences(self, root: Path, order: random.Random, has_attributes: bool) -> list[str]:
        """Walks the whole mount in a random order: reads each file, link, attribute and folder."""
        found: list[str] = []
        present = set(walk(root, found))
        found += [f"{path}: is missing" for path in sorted(self.keys() - present)]
        found += [f"{path}: is there, and was not written" for path in sorted(present - self.keys())]
        both = sorted(present & self.keys())
        order.shuffle(both)
        for path in both:
            try:
                found += [f"{path}: {text}" for text in differences_of(root / path, self[path], has_attributes)]
            except OSError as error:
                found.append(f"{path}: {errno.errorcode.get(error.errno, error.errno)} ({error.strerror})")
        return found


def walk(root: Path, errors: list[str], prefix: str = "") -> Iterator[str]:
    try:
        with os.scandir(root / prefix) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
    except OSError as error:
        errors.append(f"{prefix or '/'}: {error.strerror}")
        return
    for entry in entries:
        path = f"{prefix}/{entry.name}" if prefix else entry.name
        yield path
        if entry.is_dir(follow_symlinks=False):
            yield from walk(root, errors, path)


def differences_of(path: Path, entry: Entry, has_attributes: bool) -> Iterator[str]:
    kind = kind_of(os.lstat(path).st_mode)
    if kind != entry.kind:
        yield f"is a {kind}, and was a {entry.kind}"
        return
    if kind == "link":
        target = os.readlink(path)
        if target != entry.target:
            yield f"leads to {target[:SHOWN]!r}, and led to {entry.target[:SHOWN]!r}"
        return
    if kind == "file":
        data = path.read_bytes()
        if data != entry.data:
            pairs = zip(data, entry.data)
            first = next((at for at, (new, old) in enumerate(pairs) if new != old), min(len(data), len(entry.data)))
            yield f"has {len(data)} bytes, and had {len(entry.data)}; they differ from {first} on"
    attributes = attributes_of(path)
    if has_attributes and attributes != entry.attributes:
        names = {name for name in attributes.keys() | entry.attributes.keys()
                 if attributes.get(name) != entry.attributes.get(name)}
        yield f"has other attributes: {', '.join(sorted(names))}"
    facts = facts_of(path)
    if entry.facts is not None and facts != entry.facts:
        yield f"mode, time and class are {facts}, and were {entry.facts}"


def backing_differences(one: Path, other: Path, has_attributes: bool) -> tuple[list[str], list[str]]:
    """Where two vault folders are not copies of each other, as sentences: this is the synchroniser's fault. And the
    paths of files with other contents, but of the same size and second: this no program sees that does not read all."""
    found: list[str] = []
    unseen: list[str] = []
    # Syncthing keeps for a day what it has of a file that changed meanwhile.
    first, second = ({path for path in walk(root, found) if not path.rpartition("/")[2].startswith(".syncthing.")}
                     for root in (one, other))
    found += [f"{path}: is on one machine only" for path in sorted(first ^ second)]
    for path in sorted(first & second):
        here, there = os.lstat(one / path), os.lstat(other / path)
        kind = kind_of(here.st_mode)
        if here.st_mode != there.st_mode:
            found.append(f"{path}: modes {here.st_mode:o} and {there.st_mode:o}")
        elif kind == "link":
            if os.readlink(one / path) != os.readlink(other / path):
                found.append(f"{path}: the links differ")
            continue
        elif path.startswith("lk.claims/"):
            # A claim that changes twice within a second: rsync compares whole seconds, and takes it for the same.
            pass
        elif kind == "file":
            differ = (one / path).read_bytes() != (other / path).read_bytes()
            if here.st_mtime_ns // SECOND != there.st_mtime_ns // SECOND:
                found.append(f"{path}: the times differ: {here.st_mtime_ns} and {there.st_mtime_ns}")
            elif differ:
                (unseen if here.st_size == there.st_size else found).append(path)
        if has_attributes and kind != "link" and path not in unseen \
                and all_attributes(one / path) != all_attributes(other / path):
            found.append(f"{path}: the attributes differ")
    return found, unseen


def content_differences(one: Path, other: Path) -> list[str]:
    """Where two vault folders do not have the same files with the same contents."""
    found: list[str] = []
    first, second = ({path for path in walk(root, found) if not path.rpartition("/")[2].startswith(".syncthing.")}
                     for root in (one, other))
    found += [f"{path}: is on one machine only" for path in sorted(first ^ second)]
    for path in sorted(first & second):
        if stat.S_ISREG(os.lstat(one / path).st_mode) and (one / path).read_bytes() != (other / path).read_bytes():
            found.append(f"{path}: differs")
    return found


def header_difference(one: Path, other: Path) -> str:
    """How two backing files of the same size differ, by docs/FORMAT.md, "Files"."""
    first, second = one.read_bytes(), other.read_bytes()
    if first[512:] != second[512:] or first[40:56] != second[40:56] or len(first) < 512:
        return "other contents" if first[40:56] == second[40:56] else "another file"
    here, there = ([int.from_bytes(data[at:at + 8], "little") for at in (64, 72)] for data in (first, second))
    return f"generation {here[0]} with {here[1]} confirmed bytes, and {there[0]} with {there[1]}"


def all_attributes(path: Path) -> dict[str, bytes]:
    return {name: os.getxattr(path, name) for name in os.listxattr(path)}
