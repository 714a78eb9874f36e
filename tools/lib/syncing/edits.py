"""Random edits through a mount, each made in the model as well."""

from __future__ import annotations

import ctypes
import errno
import os
import random
import sqlite3
from pathlib import Path
from typing import Callable

from syncing.tree import CLASS, LOOSE, Entry, Model

CLASSES = ["complete", "complete-unless-open", "complete-until-first-user-authentication", "none"]
MOST_ENTRIES, MOST_BYTES = 250, 6 << 20
SIZES = [0, 1, 100, 3000, 4063, 4064, 4065, 4096, 8192, 20_000, 70_000, 200_000]
RENAME_EXCHANGE, AT_FDCWD = 2, -100
libc = ctypes.CDLL(None, use_errno=True)


class Edits:
    """`count` is the number of edits that were made. Without `has_attributes`, no user.x is set."""

    def __init__(self, root: Path, model: Model, numbers: random.Random, has_attributes: bool):
        self.root, self.model, self.random, self.has_attributes = root, model, numbers, has_attributes
        self.count = 0
        self.log: list[str] = []
        self.doubtful: set[str] = set()
        self.rows: dict[str, list[int]] = {}
        self.weights: dict[Callable[[], None], int] = {
            self.create: 12, self.overwrite: 10, self.replace_contents: 6, self.append: 10, self.truncate: 8,
            self.save_atomically: 10, self.rename_file: 8, self.rename_over: 4, self.rename_away_and_back: 3,
            self.exchange: 2, self.rename_folder: 4, self.remove_file: 6, self.remove_and_make: 3,
            self.make_folder: 5, self.remove_folder: 2, self.link: 5, self.link_again: 4, self.set_attribute: 6,
            self.remove_attribute: 2, self.set_class: 5, self.set_folder_class: 3, self.change_mode: 2,
            self.set_times: 3, self.sync: 5, self.use_database: 3}

    def run(self, number: int) -> None:
        for _ in range(number):
            act = self.random.choices(list(self.weights), list(self.weights.values()))[0]
            if len(self.model) > MOST_ENTRIES or self.model.size > MOST_BYTES:
                act = self.random.choice([self.remove_file, self.remove_folder])
            act()

    # What the edits choose.

    def bytes(self, most: int = 1 << 20) -> bytes:
        size = self.random.choice([size for size in SIZES if size <= most])
        return self.random.randbytes(self.random.randint(0, size) if self.random.random() < 0.5 else size)

    def pick(self, *kinds: str) -> str | None:
        paths = self.model.of(*kinds)
        return self.random.choice(paths) if paths else None

    def folder(self) -> str:
        return self.random.choice(["", *self.model.of("folder")])

    def new_name(self) -> str | None:
        folder = self.folder()
        style = self.random.random()
        name = f"{self.random.choice('abcdefgh')}{self.random.randint(0, 9)}"
        if style < 0.08:
            name += "long" * 50
        elif style < 0.16:
            name += self.random.choice(["é", "日本", " with space", "\n", "'", "\\"])
        path = f"{folder}/{name}" if folder else name
        return path if path not in self.model and path.count("/") < 6 else None

    def did(self, what: str, *paths: str) -> None:
        self.count += 1
        self.log.append(" ".join([what, *map(repr, paths)]))
        self.model.touched.update(paths)

    def write(self, path: str, offset: int, data: bytes, sync: bool = False) -> None:
        with open(self.root / path, "r+b") as file:
            file.seek(offset)
            file.write(data)
            if sync:
                file.flush()
                os.fsync(file.fileno())
        old = self.model[path].data.ljust(offset, b"\0")
        if data:
            self.model[path].data = old[:offset] + data + old[offset + len(data):]

    # The edits.

    def create(self) -> None:
        if path := self.new_name():
            data = self.bytes()
            self.doubtful.add(path)
            (self.root / path).write_bytes(data)
            self.doubtful.discard(path)
            self.model.put(path, Entry("file", data))
            self.did("create", path)

    def overwrite(self) -> None:
        if path := self.pick("file"):
            size = len(self.model[path].data)
            offset = self.random.randint(0, size)
            data = self.bytes(20_000)
            if self.random.random() < 0.5:
                data = data[:size - offset]
            if data:
                self.write(path, offset, data, self.random.random() < 0.3)
                self.did(f"overwrite {len(data)} at {offset}", path)

    def replace_contents(self) -> None:
        if path := self.pick("file"):
            data = self.bytes()
            (self.root / path).write_bytes(data)
            self.model[path].data = data
            self.did("replace the contents", path)

    def append(self) -> None:
        if path := self.pick("file"):
            for _ in range(self.random.choice([1, 1, 1, 5])):
                self.write(path, len(self.model[path].data), self.bytes(8192), self.random.random() < 0.3)
            self.did("append", path)

    def truncate(self) -> None:
        if path := self.pick("file"):
            data = self.model[path].data
            size = self.random.choice([0, self.random.randint(0, len(data)), len(data) + self.random.randint(0, 9000)])
            os.truncate(self.root / path, size)
            self.model[path].data = data[:size].ljust(size, b"\0")
            self.did(f"truncate to {size}", path)

    def save_atomically(self) -> None:
        if path := self.pick("file"):
            data = self.bytes()
            temporary = path + "~" if len(path.rsplit("/")[-1]) < 100 else None
            if temporary is None or temporary in self.model:
                return
            with open(self.root / temporary, "wb") as file:
                file.write(data)
                if self.random.random() < 0.7:
                    file.flush()
                    os.fsync(file.fileno())
            os.rename(self.root / temporary, self.root / path)
            self.model.put(path, Entry("file", data))
            self.did("save", path)

    def rename(self, old: str, new: str, what: str = "rename") -> None:
        os.rename(self.root / old, self.root / new)
        self.model.move(old, new)
        self.did(what, old, new)

    def rename_file(self) -> None:
        old, new = self.pick("file", "link"), self.new_name()
        if old and new:
            self.rename(old, new)

    def rename_over(self) -> None:
        old, new = self.pick("file", "link"), self.pick("file", "link")
        if old and new and old != new:
            self.rename(old, new, "rename over")

    def rename_away_and_back(self) -> None:
        old, new = self.pick("file", "folder"), self.new_name()
        if old and new and not (new + "/").startswith(old + "/"):
            self.rename(old, new)
            if self.random.random() < 0.5 and self.model[new].kind == "file":
                self.write(new, 0, b"while it was away")
            self.rename(new, old, "rename back")

    def exchange(self) -> None:
        one, other = self.pick("file", "folder"), self.pick("file", "folder")
        if not one or not other or (one + "/").startswith(other + "/") or (other + "/").startswith(one + "/"):
            return
        names = [os.fsencode(self.root / one), os.fsencode(self.root / other)]
        if libc.renameat2(AT_FDCWD, names[0], AT_FDCWD, names[1], RENAME_EXCHANGE) != 0:
            raise OSError(ctypes.get_errno(), "renameat2")
        self.model.swap(one, other)
        self.did("exchange", one, other)

    def rename_folder(self) -> None:
        old, new = self.pick("folder"), self.new_name()
        if old and new and not (new + "/").startswith(old + "/"):
            self.rename(old, new)

    def remove_file(self) -> None:
        if path := self.pick("file", "link"):
            os.unlink(self.root / path)
            self.model.remove(path)
            self.did("remove", path)

    def remove_and_make(self) -> None:
        if path := self.pick("file"):
            os.unlink(self.root / path)
            data = self.bytes(8192)
            (self.root / path).write_bytes(data)
            self.model.put(path, Entry("file", data))
            self.did("remove and make", path)

    def make_folder(self) -> None:
        if path := self.new_name():
            os.mkdir(self.root / path)
            self.model.put(path, Entry("folder"))
            self.did("make a folder", path)

    def remove_folder(self) -> None:
        if (path := self.pick("folder")) and len(self.model.below(path)) < 40:
            for name in [*sorted(self.model.below(path), reverse=True), path]:
                try:
                    (os.rmdir if self.model[name].kind == "folder" else os.unlink)(self.root / name)
                except OSError as error:
                    # Half a file that Syncthing has left: the mount does not show it, and rmdir spares it.
                    if error.errno != errno.ENOTEMPTY or os.listdir(self.root / name):
                        raise
                    return self.did("not removed, because the store has a foreign file in it", name)
                self.model.remove(name)
            self.did("remove a folder", path)

    def target(self) -> str:
        return self.random.choice(["a", "../b", "/nowhere/at all", "x" * self.random.randint(1, 900)])

    def link(self) -> None:
        if path := self.new_name():
            entry = Entry("link", target=self.target())
            os.symlink(entry.target, self.root / path)
            self.model.put(path, entry)
            self.did("link", path)

    def link_again(self) -> None:
        """As `ln -sfn` does: another link, renamed over this one."""
        if path := self.pick("link"):
            entry = Entry("link", target=self.target())
            temporary = self.root / path.rpartition("/")[0] / "Cu123456"
            os.symlink(entry.target, temporary)
            os.rename(temporary, self.root / path)
            self.model.put(path, entry)
            self.did("link again", path)

    def set_attribute(self) -> None:
        if self.has_attributes and (path := self.pick("file", "folder")):
            name = f"user.x{self.random.randint(0, 3)}"
            value = self.random.randbytes(self.random.choice([0, 5, 100, 1000, 6000]))
            os.setxattr(self.root / path, name, value)
            self.model[path].attributes[name] = value
            self.did(f"set {name}", path)

    def remove_attribute(self) -> None:
        paths = [path for path in self.model.of("file", "folder") if self.model[path].attributes]
        if paths:
            path = self.random.choice(paths)
            name = self.random.choice(sorted(self.model[path].attributes))
            os.removexattr(self.root / path, name)
            del self.model[path].attributes[name]
            self.did(f"remove {name}", path)

    def set_class(self, kind: str = "file") -> None:
        if path := self.pick(kind):
            value = self.random.choice(CLASSES)
            os.setxattr(self.root / path, CLASS, value.encode())
            self.did(f"class {value}", path)

    def set_folder_class(self) -> None:
        self.set_class("folder")

    def change_mode(self) -> None:
        if path := self.pick("file", "folder"):
            os.chmod(self.root / path, self.random.choice([0o700, 0o755, 0o750]))
            self.did("mode", path)

    def set_times(self) -> None:
        if path := self.pick("file"):
            time = self.random.choice([0, 10 ** 9 * self.random.randint(1, 2 * 10 ** 9), 123_456_789_012_345_678])
            os.utime(self.root / path, ns=(time, time))
            self.did("time", path)

    def sync(self) -> None:
        """A file that another program has closed before."""
        if path := self.pick("file"):
            descriptor = os.open(self.root / path, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            self.did("sync", path)

    def use_database(self) -> None:
        """A database in the folder `db`, in one of both modes; its rows are compared before they change."""
        mode = self.random.choice(["wal", "delete"])
        folder, path = f"db-{mode}", f"db-{mode}/rows"
        if folder not in self.model:
            os.mkdir(self.root / folder)
        rows = self.rows.setdefault(path, [])
        connection = sqlite3.connect(self.root / path, isolation_level=None, timeout=20)
        try:
            connection.execute(f"pragma journal_mode={mode}")
            connection.execute("create table if not exists rows (number integer, filler blob)")
            found = [row[0] for row in connection.execute("select number from rows order by rowid")]
            if found != rows or connection.execute("pragma integrity_check").fetchone() != ("ok",):
                raise Lost(f"{path}: {len(found)} rows, {len(rows)} were written")
            for _ in range(self.random.randint(1, 4)):
                number = self.random.randrange(1 << 30)
                filler = bytes(self.random.randint(0, 3000))
                connection.execute("insert into rows values (?, ?)", (number, filler))
                rows.append(number)
            if len(rows) > 60:
                connection.execute("delete from rows")
                rows.clear()
        finally:
            connection.close()
        self.model.adopt(self.root, folder)
        self.did("database", path)

    # Edits under special conditions.

    def run_locked(self, number: int) -> None:
        """While the mount is locked: names change, and new files of the laxer classes are made; some of it is refused.
        A file whose making was refused may be there, empty: `settle` looks for it once the mount is unlocked."""
        for _ in range(number):
            act = self.random.choice([self.rename_file, self.rename_folder, self.remove_file, self.make_folder,
                                      self.link, self.create, self.rename_over])
            try:
                act()
            except OSError as error:
                self.log.append(f"refused while locked: {act.__name__}: {error}")
                if error.errno != errno.ENOKEY:
                    raise

    def settle(self) -> None:
        for path in self.doubtful:
            self.model.adopt(self.root, path)
        self.doubtful.clear()

    def run_loose(self, number: int) -> None:
        """In a folder of which nothing is synced: what a killed daemon leaves of it is not promised."""
        (self.root / LOOSE).mkdir(exist_ok=True)
        for _ in range(number):
            path = self.root / LOOSE / f"f{self.random.randint(0, 9)}"
            act = self.random.choice(["write", "write", "append", "rename", "remove", "attribute", "class"])
            self.count += 1
            self.log.append(f"loose: {act} {path.name}")
            if act == "write" or not path.exists():
                path.write_bytes(self.bytes())
            elif act == "append":
                with open(path, "ab") as file:
                    file.write(self.bytes(8192))
            elif act == "rename":
                path.rename(path.with_name(f"f{self.random.randint(0, 9)}"))
            elif act == "remove":
                path.unlink()
            elif act == "class":
                os.setxattr(path, CLASS, self.random.choice(CLASSES).encode())
            elif self.has_attributes:
                os.setxattr(path, "user.x", self.bytes(3000))


class Lost(Exception):
    """Something that was written is not there any more."""
