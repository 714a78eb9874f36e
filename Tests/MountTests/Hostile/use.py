"""use.py use|look|remove MOUNT: does to everything in a mount what programs do, whatever the calls return.

Prints each step before it, so that the last line names the one at which a daemon has ended. Ends with status 1 if the
daemon has ended, or if an entry leads out of the mount.
"""

import errno
import os
import stat
import sys

MOST_ENTRIES = 4000
MOST_DEPTH = 60
GONE = (errno.ENOTCONN, errno.ECONNABORTED, errno.ECANCELED, errno.ECONNREFUSED)
what, mount = sys.argv[1], os.fsencode(sys.argv[2])
device = os.stat(mount).st_dev
entries = 0


def tried(call, *arguments, **named):
    try:
        return call(*arguments, **named)
    except OSError as error:
        if error.errno in GONE:
            sys.exit(f"{call.__name__}: {error}")
        return None
    except (ValueError, OverflowError):
        return None  # a number that Python has no room for


def attributes(path):
    for name in tried(os.listxattr, path, follow_symlinks=False) or []:
        tried(os.getxattr, path, name, follow_symlinks=False)


def read(path, size):
    file = tried(os.open, path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    if file is None:
        return
    for offset in {0, 4096, size // 2, max(0, size - 100), size}:
        tried(os.pread, file, 8192, offset)
    for whence in (os.SEEK_DATA, os.SEEK_HOLE):
        tried(os.lseek, file, 0, whence)
        tried(os.lseek, file, max(0, size - 1), whence)
    tried(os.close, file)


def write(path, size):
    file = tried(os.open, path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    if file is None:
        return
    tried(os.pwrite, file, b"new", 10)
    tried(os.pwrite, file, b"new", size)
    tried(os.fsync, file)
    tried(os.posix_fallocate, file, 0, 5000)
    tried(os.ftruncate, file, size + 5)
    tried(os.ftruncate, file, 4000)
    tried(os.pwrite, file, b"n" * 9000, 100)
    tried(os.fchmod, file, 0o640)
    tried(os.utime, file, ns=(1, 1))
    tried(os.setxattr, file, "user.new", b"value")
    tried(os.setxattr, file, "user.latchkey.class", b"complete")
    tried(os.setxattr, file, "user.latchkey.class", b"none")
    tried(os.close, file)


def make(folder):
    for name in (b"made", b"made " + b"l" * 200):
        tried(os.mkdir, folder + b"/" + name)
        file = tried(os.open, folder + b"/" + name + b"/file", os.O_CREAT | os.O_RDWR, 0o600)
        if file is not None:
            tried(os.pwrite, file, b"contents", 0)
            tried(os.fsync, file)
            tried(os.close, file)
        tried(os.symlink, b"x" * 3500, folder + b"/" + name + b"/link")
    tried(os.setxattr, folder, "user.latchkey.class", b"none")


def visit(folder, name, depth):
    """`folder` is a descriptor: no path is too long this way."""
    global entries
    entries += 1
    path = b"/proc/self/fd/%d/%s" % (folder, name)
    print(path, flush=True)
    status = tried(os.lstat, path)
    attributes(path)
    if status is None:
        return
    if status.st_dev != device:
        sys.exit("it leads out of the mount")
    if stat.S_ISLNK(status.st_mode):
        tried(os.readlink, path)
    elif stat.S_ISREG(status.st_mode):
        read(path, status.st_size)
        if what == "use":
            write(path, status.st_size)
    elif stat.S_ISDIR(status.st_mode) and depth < MOST_DEPTH:
        inner = tried(os.open, path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        if inner is not None:
            walk(inner, depth + 1)
            tried(os.close, inner)
        if what == "use":
            make(path)
    if what == "use":
        tried(os.link, path, path + b"+", follow_symlinks=False)
        tried(os.rename, path, path + b"-")
        tried(os.rename, path + b"-", path)
    elif what == "remove":
        tried(os.rmdir if stat.S_ISDIR(status.st_mode) else os.unlink, path)


def walk(folder, depth):
    for name in tried(os.listdir, folder) or []:
        if entries < MOST_ENTRIES:
            visit(folder, os.fsencode(name), depth)


top = os.open(mount, os.O_RDONLY | os.O_DIRECTORY)
walk(top, 0)
tried(os.statvfs, mount)
os.close(top)
