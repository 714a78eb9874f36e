"""Modes, owners and times, and what moves them."""

import ctypes
import os
import socket
import stat
import time

from acting import act, attempt, checked, contents, elsewhere, libc, make

NOW, OMIT = (1 << 30) - 1, (1 << 30) - 2
SECOND = 1_000_000_000
# CLOCK_REALTIME_COARSE: the clock of file systems, which moves by ticks.
COARSE = 5


class Time(ctypes.Structure):
    _fields_ = [("seconds", ctypes.c_int64), ("nanoseconds", ctypes.c_int64)]


def utimensat(path, accessed, modified, flags=0):
    times = (Time * 2)(Time(*accessed), Time(*modified))
    checked(libc.utimensat(-100, path.encode(), times, flags))


NOFOLLOW = 0x100


@act
def times(say):
    make("file", b"x")
    os.mkdir("folder")
    os.symlink("file", "link")
    os.mkfifo("fifo")
    paths = ("file", "folder", "link", "fifo")
    chosen = [
        (0, 0), (0, 1), (-1, 999_999_999), (-1, 0), (-2, 1), (-86400 * 365 * 50, 123_456_789), (-(1 << 31), 0),
        ((1 << 31) - 1, 999_999_999), (1 << 31, 0), ((1 << 32) + 5, 7), (1 << 33, 42), (1_234_567_890, 987_654_321),
    ]
    for seconds, nanoseconds in chosen:
        for path in paths:
            utimensat(path, (seconds, nanoseconds), (seconds + 1, nanoseconds), NOFOLLOW)
        seen = {(os.lstat(path).st_atime_ns, os.lstat(path).st_mtime_ns) for path in paths}
        say(seen == {(seconds * SECOND + nanoseconds, (seconds + 1) * SECOND + nanoseconds)}, seen)


@act
def times_in_part(say):
    for path in ("file", "folder"):
        make(path, b"x") if path == "file" else os.mkdir(path)
        utimensat(path, (1000, 1), (2000, 2))
        utimensat(path, (0, OMIT), (3000, 3))
        say(os.stat(path).st_atime_ns, os.stat(path).st_mtime_ns)
        utimensat(path, (4000, 4), (0, OMIT))
        say(os.stat(path).st_atime_ns, os.stat(path).st_mtime_ns)
        before = os.stat(path).st_ctime_ns
        utimensat(path, (0, OMIT), (0, OMIT))
        say(os.stat(path).st_atime_ns, os.stat(path).st_mtime_ns, os.stat(path).st_ctime_ns == before)
        # The clock of file systems is up to a tick behind.
        start = time.time_ns() - 20_000_000
        utimensat(path, (0, NOW), (5000, 5))
        say(start <= os.stat(path).st_atime_ns <= time.time_ns(), os.stat(path).st_mtime_ns)
        utimensat(path, (6000, 6), (0, NOW))
        say(os.stat(path).st_atime_ns, start <= os.stat(path).st_mtime_ns <= time.time_ns())
        say(attempt(utimensat, path, (1, SECOND), (1, 0)), attempt(utimensat, path, (1, -1), (1, 0)))


@act
def what_moves_times(say):
    """Which acts change a file's times of modification and change, and those of its folder."""
    def moved(change, path="file", parent="."):
        for place in (path, parent):
            os.utime(place, ns=(SECOND, SECOND))
        before = os.stat(path, follow_symlinks=False)
        # Past the tick in which the time was set.
        while time.clock_gettime_ns(COARSE) <= before.st_ctime_ns:
            pass
        change()
        after = os.stat(path, follow_symlinks=False)
        return (
            after.st_mtime_ns != before.st_mtime_ns, after.st_ctime_ns != before.st_ctime_ns,
            os.stat(parent).st_mtime_ns != SECOND)

    make("file", b"text")
    file = os.open("file", os.O_RDWR)
    acts = {
        "write": lambda: os.pwrite(file, b"x", 0),
        "write of nothing": lambda: os.pwrite(file, b"", 0),
        "append": lambda: os.pwrite(file, b"x", os.fstat(file).st_size),
        "truncate": lambda: os.ftruncate(file, 2),
        "ftruncate to the same": lambda: os.ftruncate(file, os.fstat(file).st_size),
        "truncate to the same": lambda: os.truncate("file", os.fstat(file).st_size),
        "longer": lambda: os.ftruncate(file, 10_000),
        "trunc": lambda: os.close(os.open("file", os.O_WRONLY | os.O_TRUNC)),
        "trunc of an empty one": lambda: os.close(os.open("file", os.O_WRONLY | os.O_TRUNC)),
        "chmod": lambda: os.chmod("file", 0o600),
        "chown": lambda: os.chown("file", 5, 6),
        "link": lambda: os.link("file", "second"),
        "unlink": lambda: os.unlink("second"),
        "setxattr": lambda: os.setxattr("file", "user.a", b"1"),
        "removexattr": lambda: os.removexattr("file", "user.a"),
        "rename": lambda: (os.rename("file", "other"), os.rename("other", "file")),
        "fallocate": lambda: os.posix_fallocate(file, 0, 20_000),
        "read": lambda: contents("file"),
        "open to write": lambda: os.close(os.open("file", os.O_RDWR)),
        "fsync": lambda: os.fsync(file),
    }
    for name, change in acts.items():
        say(name, *moved(change))
    os.mkdir("folder")
    for name, change in {
        "make": lambda: make("folder/in"), "remove": lambda: os.unlink("folder/in"),
        "make a folder": lambda: os.mkdir("folder/in"), "remove a folder": lambda: os.rmdir("folder/in"),
        "make a link": lambda: os.symlink("x", "folder/in"), "read": lambda: os.listdir("folder"),
        "rename within": lambda: os.rename("folder/in", "folder/out"), "chmod": lambda: os.chmod("folder", 0o700),
    }.items():
        say("folder:", name, *moved(change, "folder"))


@act
def modes(say):
    make("file")
    os.mkdir("folder")
    os.mkfifo("fifo")
    for path in ("file", "folder", "fifo"):
        for mode in (0o7777, 0, 0o4711, 0o2755, 0o1777, 0o644):
            os.chmod(path, mode)
            say(path, oct(os.stat(path).st_mode))
    for mask in (0, 0o022, 0o077, 0o777):
        os.umask(mask)
        place = f"umask-{mask:o}"
        os.close(os.open(place, os.O_CREAT, 0o777))
        os.mkdir(place + ".d", 0o1777)
        os.mkfifo(place + ".fifo", 0o666)
        os.mknod(place + ".node", stat.S_IFREG | 0o666)
        os.symlink("x", place + ".link")
        say(*[oct(os.lstat(place + end).st_mode) for end in ("", ".d", ".fifo", ".node", ".link")])


@act
def set_id_bits(say):
    def state(path):
        status = os.stat(path)
        return oct(stat.S_IMODE(status.st_mode)), status.st_uid, status.st_gid

    for mode in (0o6755, 0o6644, 0o4711, 0o2711):
        for number, change in enumerate((
            lambda: os.chown("file", 1, 1), lambda: os.chown("file", -1, 2), lambda: os.pwrite(file, b"x", 0),
            lambda: os.ftruncate(file, 0), lambda: os.chown("file", -1, -1),
        )):
            make("file", b"text", mode)
            file = os.open("file", os.O_RDWR)
            change()
            say(oct(mode), number, *state("file"))
            os.close(file)
            os.unlink("file")
        os.mkdir("folder")
        os.chmod("folder", mode)
        os.chown("folder", 1, 1)
        say(oct(mode), *state("folder"))
        os.rmdir("folder")


@act
def set_group_id_folders(say):
    os.mkdir("folder")
    os.chown("folder", 0, 4321)
    os.chmod("folder", 0o2777)
    make("folder/file")
    os.mkdir("folder/inner")
    os.mkfifo("folder/fifo")
    os.symlink("x", "folder/link")
    os.mknod("folder/device", stat.S_IFCHR | 0o600, os.makedev(1, 3))
    os.mkdir("folder/inner/deeper")
    make("outside")
    os.rename("outside", "folder/outside")

    def by_another():
        os.close(os.open("folder/his", os.O_CREAT, 0o2775))
        os.mkdir("folder/his.d", 0o2775)

    say(elsewhere(by_another, user=1234))
    for base, _, _ in os.walk("folder"):
        for path in sorted(os.listdir(base)):
            status = os.lstat(os.path.join(base, path))
            say(path, oct(status.st_mode), status.st_uid, status.st_gid)
    os.chown("folder", 1234, 4321)
    say(elsewhere(lambda: os.chmod("folder", 0o2777), user=1234), oct(os.stat("folder").st_mode))


@act
def numbers(say):
    status = os.statvfs(".")
    say(status.f_namemax, status.f_bfree <= status.f_blocks, status.f_bavail <= status.f_bfree, status.f_bsize >= 512)
    say(status.f_ffree <= status.f_files, status.f_blocks > 0, status.f_frsize > 0)
    make("file", b"x" * 10_000)
    status = os.stat("file")
    say(status.st_blksize >= 512, 10_000 <= status.st_blocks * 512 <= 40_000)
    say([os.pathconf("file", name) for name in ("PC_NAME_MAX", "PC_PATH_MAX", "PC_PIPE_BUF")])
    one, two = os.stat("file"), os.lstat("file")
    os.link("file", "link")
    say(one.st_ino == two.st_ino == os.stat("link").st_ino, os.path.samefile("file", "link"))
    entry = next(entry for entry in os.scandir(".") if entry.name == "link")
    say(entry.inode() == one.st_ino, one.st_dev == os.stat(".").st_dev)
