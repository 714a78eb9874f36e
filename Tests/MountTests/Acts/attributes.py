"""Extended attributes: their names are bytes, and their values can be any bytes."""

import os
import random
import stat

from acting import act, attempt, make

LARGEST = 65536


def everything():
    make("file")
    os.mkdir("folder")
    os.symlink("file", "link")
    os.mkfifo("fifo")
    os.mknod("socket", stat.S_IFSOCK | 0o644)
    os.mknod("device", stat.S_IFCHR | 0o644, os.makedev(1, 3))
    return ("file", "folder", "link", "fifo", "socket", "device")


def get(path, name):
    return attempt(os.getxattr, path, name, follow_symlinks=False)


def put(path, name, value, flags=0):
    return attempt(os.setxattr, path, name, value, flags, follow_symlinks=False)


def remove(path, name):
    return attempt(os.removexattr, path, name, follow_symlinks=False)


def listed(path):
    names = attempt(os.listxattr, path, follow_symlinks=False)
    return names if isinstance(names, str) else sorted(names)


@act
def on_everything(say):
    for path in everything():
        for name in ("user.one", "trusted.one", "security.one", "system.one", "other.one", "user.", "user", ""):
            say(path, name, get(path, name), put(path, name, b"1"), get(path, name), listed(path))
        say(path, put(path, "trusted.one", b"2", os.XATTR_CREATE), put(path, "trusted.two", b"2", os.XATTR_REPLACE))
        say(path, put(path, "trusted.one", b"3", os.XATTR_REPLACE), get(path, "trusted.one"), listed(path))
        say(path, put(path, "trusted.empty", b""), get(path, "trusted.empty"))
        os.rename(path, path + ".moved")
        os.link(path + ".moved", path + ".linked", follow_symlinks=False) if path != "folder" else None
        say(path, get(path + ".moved", "trusted.one"), get(path + ".moved", "security.one"))
        say(path, remove(path + ".moved", "trusted.one"), remove(path + ".moved", "trusted.one"),
            listed(path + ".moved"))


@act
def names_of_all_bytes(say):
    make("file")
    names = {b"user." + bytes([byte]) for byte in range(1, 256)}
    names |= {b"user." + bytes([byte]) * 25 for byte in range(1, 256)}
    good = 0
    for name in names:
        good += put("file", name, name) is None and get("file", name) == name
        good += put("file", name, b"2", os.XATTR_CREATE) == "EEXIST"
        good += set(map(os.fsencode, listed("file"))) == {name}
        good += remove("file", name) is None and get("file", name) == "ENODATA"
    say(good == 4 * len(names), good)
    for name in (b"user." + b"n" * 250, b"user." + b"\xff" * 250, b"user.\xcc\x81x", "user.\u0301é".encode()):
        say(put("file", name, b"v"), get("file", name), [os.fsencode(each) == name for each in listed("file")],
            remove("file", name))
    say(put("file", b"user." + b"n" * 251, b"v"), get("file", b"user." + b"n" * 251))


@act
def values_of_all_sizes(say):
    chance = random.Random(1)
    for path in ("file", "folder"):
        make(path) if path == "file" else os.mkdir(path)
        for name in ("user.value", "user." + "n" * 240):
            for size in (0, 1, 4000, 16_000, 65_000, 65_200, 65_230, 65_263, 65_503, 65_504, LARGEST - 1, LARGEST, 5,
                         LARGEST, 65_503):
                value = chance.randbytes(size)
                say(path, size, put(path, name, value), get(path, name) == value, len(listed(path)))
            say(path, put(path, name, bytes(LARGEST + 1)), put(path, name, bytes(LARGEST), os.XATTR_CREATE))
            say(path, get(path, name) == value, remove(path, name), listed(path))
        for number in range(8):
            say(path, put(path, f"user.{number}", bytes([number]) * LARGEST))
        say(path, all(get(path, f"user.{number}") == bytes([number]) * LARGEST for number in range(8)),
            len(listed(path)))
    os.rename("file", "moved")
    os.link("moved", "linked")
    say(all(get("linked", f"user.{number}") == bytes([number]) * LARGEST for number in range(8)))


@act
def while_read(say):
    """A value that is read while it is replaced is either the old or the new one."""
    make("file")
    values = [bytes([letter]) * LARGEST for letter in b"abc"] + [b"d"]
    put("file", "user.value", values[0])
    told, writer = os.pipe()
    os.set_blocking(told, False)
    if (process := os.fork()) == 0:
        os.close(writer)
        turn = 0
        while attempt(os.read, told, 1) == "EAGAIN":
            turn += 1
            if put("file", "user.value", values[turn % 4]) is not None:
                os._exit(1)
        os._exit(0)
    os.close(told)
    say({get("file", "user.value") in values for _ in range(200)})
    os.close(writer)
    say(os.waitpid(process, 0)[1], put("file", "user.value", values[0]))
