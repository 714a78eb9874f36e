"""tree.py FOLDER: every name below with all its metadata, except times that no program has set."""

import hashlib
import os
import stat
import sys
import time


def described(path):
    status = os.lstat(path)
    kind = stat.S_IFMT(status.st_mode)
    words = [oct(status.st_mode), status.st_uid, status.st_gid, status.st_nlink]
    if kind == stat.S_IFREG:
        with open(path, "rb") as file:
            words += [status.st_size, hashlib.sha256(file.read()).hexdigest()]
    elif kind == stat.S_IFLNK:
        words += [status.st_size, os.readlink(path)]
    elif kind in (stat.S_IFCHR, stat.S_IFBLK):
        words += [os.major(status.st_rdev), os.minor(status.st_rdev)]
    if abs(status.st_mtime - time.time()) > 86_400:
        words.append(status.st_mtime_ns)
    for name in sorted(os.listxattr(path, follow_symlinks=False)):
        value = os.getxattr(path, name, follow_symlinks=False)
        words += [os.fsencode(name), len(value), hashlib.sha256(value).hexdigest()]
    return words


top = os.fsencode(sys.argv[1])
for folder, folders, files in os.walk(top):
    folders.sort()
    if len(files) > 10_000:
        print(os.path.relpath(folder, top), len(files), hashlib.sha256(b"/".join(sorted(files))).hexdigest())
        continue
    for name in sorted(folders + files):
        path = os.path.join(folder, name)
        print(os.path.relpath(path, top), *described(path))
