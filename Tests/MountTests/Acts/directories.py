"""Folders that are read while they change."""

import ctypes
import os
import stat

from acting import act, attempt, checked, libc, make

SIZE = int(os.environ.get("ACTS_FOLDER", "20000"))


class Entry(ctypes.Structure):
    _fields_ = [
        ("inode", ctypes.c_uint64), ("offset", ctypes.c_int64), ("size", ctypes.c_ushort), ("kind", ctypes.c_ubyte),
        ("name", ctypes.c_char * 256),
    ]


libc.opendir.restype = ctypes.c_void_p
libc.readdir.restype = ctypes.POINTER(Entry)
libc.readdir.argtypes = libc.telldir.argtypes = libc.rewinddir.argtypes = libc.closedir.argtypes = [ctypes.c_void_p]
libc.telldir.restype = ctypes.c_long
libc.seekdir.argtypes = [ctypes.c_void_p, ctypes.c_long]


class Folder:
    """A DIR of the C library: only this has telldir(3) and seekdir(3)."""

    def __init__(self, path):
        self.stream = libc.opendir(path.encode())

    def next(self):
        """The next name, and the offset of the one after it; None at the end."""
        ctypes.set_errno(0)
        entry = libc.readdir(self.stream)
        if not entry:
            checked(-1 if ctypes.get_errno() else 0)
            return None
        return entry.contents.name, libc.telldir(self.stream)

    def remaining(self):
        entries = []
        while (entry := self.next()) is not None:
            entries.append(entry)
        return [entry for entry in entries if entry[0] not in (b".", b"..")]

    def seek(self, offset):
        libc.seekdir(self.stream, offset)

    def rewind(self):
        libc.rewinddir(self.stream)

    def close(self):
        libc.closedir(self.stream)


def names(entries):
    return [name for name, _ in entries]


def busy(told, number):
    """Makes and removes entries until told to end."""
    turn = 0
    while not os.get_blocking(told) and attempt(os.read, told, 1) == "EAGAIN":
        for which in range(20):
            make(f"big/moving-{number}-{turn}-{which}")
        os.rename(f"big/moving-{number}-{turn}-0", f"big/renamed-{number}-{turn}")
        for which in range(1, 20):
            os.unlink(f"big/moving-{number}-{turn}-{which}")
        os.unlink(f"big/renamed-{number}-{turn}")
        turn += 1
    os._exit(0 if turn > 0 else 1)


@act
def while_others_change_it(say):
    """A name that stays is listed exactly once; one that is added or removed meanwhile, at most once."""
    os.mkdir("big")
    staying = {b"staying-%d" % number for number in range(SIZE)}
    for name in staying:
        os.symlink(b"x", b"big/" + name)
    told, writer = os.pipe()
    os.set_blocking(told, False)
    others = []
    for number in range(2):
        if (process := os.fork()) == 0:
            os.close(writer)
            busy(told, number)
        others.append(process)
    os.close(told)
    for _ in range(2):
        folder = Folder("big")
        seen = names(folder.remaining())
        folder.close()
        kept = [name for name in seen if name in staying]
        say(len(kept) == SIZE, set(kept) == staying, len(seen) == len(set(seen)))
    # Attributes are asked for as well: `ls -l`.
    with os.scandir(b"big") as entries:
        seen = [entry.name for entry in entries if entry.name in staying and entry.is_symlink()]
    say(len(seen) == SIZE, set(seen) == staying)
    os.close(writer)
    say([os.waitpid(process, 0)[1] for process in others], len(os.listdir("big")) == SIZE)


@act
def telldir(say):
    count = 2000
    for number in range(count):
        make(f"entry-{number}")
    folder = Folder(".")
    entries = folder.remaining()
    say(len(entries) == count, len({offset for _, offset in entries}) == count)
    order = names(entries)
    # Each offset leads back to its own entry, in any order.
    good = 0
    for index in range(count - 2, -1, -37):
        folder.seek(entries[index][1])
        good += folder.next()[0] == order[index + 1]
    say(good == len(range(count - 2, -1, -37)))
    folder.seek(entries[-1][1])
    say(folder.next())
    # An offset is kept while entries before and after it are removed: each later entry that stays is listed once.
    half = count // 2
    folder.seek(entries[half][1])
    removed = {b"entry-%d" % number for number in range(0, count, 3)}
    for name in removed:
        os.unlink(name)
    for number in range(200):
        make(f"new-{number}")
    expected = [name for name in order[half + 1:] if name not in removed]
    seen = [name for name in names(folder.remaining()) if name in set(order) - removed]
    say(seen == expected)
    folder.rewind()
    seen = names(folder.remaining())
    say(set(seen) == (set(order) - removed) | {b"new-%d" % number for number in range(200)},
        len(seen) == len(set(seen)))
    folder.close()


@act
def that_are_gone(say):
    os.mkdir("gone")
    make("gone/file")
    folder = Folder("gone")
    here = os.open("gone", os.O_RDONLY)
    os.unlink("gone/file")
    os.rmdir("gone")
    say(attempt(folder.remaining), os.fstat(here).st_nlink, attempt(os.open, "new", os.O_CREAT, dir_fd=here))
    say(attempt(os.mkdir, "new", dir_fd=here), attempt(os.stat, "..", dir_fd=here) != "ENOENT")
    folder.close()
    os.close(here)


@act
def links_and_kinds(say):
    os.mkdir("a")
    os.mkdir("a/b")
    os.mkdir("a/c")
    make("a/file")
    os.symlink("x", "a/link")
    os.mkfifo("a/fifo")
    os.mknod("a/socket", stat.S_IFSOCK | 0o600)
    say(os.stat("a").st_nlink, os.stat("a/b").st_nlink)
    folder = Folder("a")
    kinds = {}
    while (entry := libc.readdir(folder.stream)):
        kinds[entry.contents.name] = entry.contents.kind
    folder.close()
    say(sorted(kinds.items()))
    os.rename("a/b", "b")
    say(os.stat("a").st_nlink, os.stat(".").st_nlink)
    os.rename("a/c", "b/c")
    os.rmdir("b/c")
    say(os.stat("a").st_nlink, os.stat("b").st_nlink)
