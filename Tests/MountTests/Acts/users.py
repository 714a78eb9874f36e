"""Several users: what each of them may do, and who owns the result."""

import ctypes
import os
import stat

from acting import act, attempt, checked, contents, elsewhere, libc, make

ONE, TWO = 1234, 1235
# Source: linux/falloc.h.
KEEP_SIZE, PUNCH_HOLE, ZERO_RANGE = 1, 2, 16


def owner(path):
    status = os.lstat(path)
    return status.st_uid, status.st_gid, oct(status.st_mode)


@act
def own_what_they_make(say):
    os.chmod(".", 0o777)

    def work():
        make("file", b"text", 0o640)
        os.mkdir("folder")
        os.symlink("file", "link")
        os.mkfifo("fifo")
        os.link("file", "hard")
        make("folder/file")

    say(elsewhere(work, user=ONE, group=77))
    say([owner(path) for path in ("file", "folder", "link", "fifo", "hard", "folder/file")])
    say(elsewhere(contents, "file", user=TWO), elsewhere(contents, "file", user=TWO, groups=[77]))
    say(elsewhere(contents, "file", user=TWO, group=77), elsewhere(os.open, "file", os.O_RDWR, user=TWO, groups=[77]))


@act
def permissions(say):
    os.chmod(".", 0o755)
    for mode in (0o700, 0o070, 0o007, 0o604, 0o040, 0):
        make(f"file-{mode:o}", b"x", mode)
        os.chown(f"file-{mode:o}", ONE, ONE)
        os.mkdir(f"folder-{mode:o}")
        make(f"folder-{mode:o}/in", b"x", 0o666)
        os.chown(f"folder-{mode:o}", ONE, ONE)
        os.chmod(f"folder-{mode:o}", mode)
        for user, groups in ((ONE, ()), (TWO, ()), (TWO, (ONE,))):
            def tries():
                path, folder = f"file-{mode:o}", f"folder-{mode:o}"
                return [
                    attempt(contents, path), attempt(lambda: os.close(os.open(path, os.O_WRONLY))),
                    [os.access(path, how) for how in (os.R_OK, os.W_OK, os.X_OK)],
                    attempt(os.listdir, folder), attempt(contents, folder + "/in"), attempt(os.mkfifo, folder + "/new"),
                    attempt(os.unlink, folder + "/new"),
                    attempt(os.truncate, path, 1), attempt(os.listxattr, path), attempt(os.getxattr, path, "user.x"),
                    attempt(os.setxattr, path, "user.y", b"1"),
                ]

            say(oct(mode), user, groups, elsewhere(tries, user=user, groups=groups))


@act
def of_others(say):
    os.chmod(".", 0o777)
    make("file", b"x", 0o666)
    os.chown("file", ONE, ONE)
    os.utime("file", ns=(5, 5))
    for call in (
        lambda: os.chmod("file", 0o777), lambda: os.chown("file", TWO, TWO), lambda: os.chown("file", -1, TWO),
        lambda: os.utime("file", ns=(1, 1)), lambda: os.utime("file"), lambda: os.link("file", "linked"),
        lambda: os.rename("file", "moved"), lambda: os.rename("moved", "file"),
        lambda: os.setxattr("file", "user.x", b"1"), lambda: os.setxattr("file", "trusted.x", b"1"),
        lambda: os.setxattr("file", "security.x", b"1"), lambda: os.getxattr("file", "trusted.x"),
    ):
        say(elsewhere(call, user=TWO))
    for call in (
        lambda: os.chown("file", TWO, -1), lambda: os.chown("file", -1, 88), lambda: os.chown("file", -1, 99),
        lambda: os.chmod("file", 0o2777), lambda: os.chmod("file", 0o4777), lambda: os.utime("file", ns=(7, 7)),
    ):
        say(elsewhere(call, user=ONE, groups=[88]), owner("file"))


@act
def sticky_folders(say):
    os.mkdir("shared")
    os.chmod("shared", 0o1777)
    elsewhere(lambda: (make("shared/one", b"1", 0o666), os.mkdir("shared/folder"), make("shared/target")), user=ONE)
    for call in (
        lambda: os.unlink("shared/one"), lambda: os.rmdir("shared/folder"),
        lambda: os.rename("shared/one", "shared/new"),
        lambda: (make("shared/two"), os.rename("shared/two", "shared/target")), lambda: os.unlink("shared/two"),
        lambda: os.rename("shared/one", "elsewhere"), lambda: os.write(os.open("shared/one", os.O_WRONLY), b"x"),
    ):
        say(elsewhere(call, user=TWO))
    say(sorted(os.listdir("shared")), elsewhere(lambda: os.unlink("shared/one"), user=ONE))
    os.chown("shared", TWO, TWO)
    say(elsewhere(lambda: os.unlink("shared/target"), user=TWO), sorted(os.listdir("shared")))


@act
def set_id_bits_go(say):
    os.chmod(".", 0o777)

    def allocate(mode):
        file = os.open("file", os.O_WRONLY)
        return checked(libc.fallocate(file, mode, ctypes.c_long(0), ctypes.c_long(4096)))

    for mode in (0o6777, 0o6767, 0o4777, 0o2777, 0o2766, 0o6666):
        for number, change in enumerate((
            lambda: os.write(os.open("file", os.O_WRONLY), b"x"), lambda: os.truncate("file", 0),
            lambda: os.close(os.open("file", os.O_WRONLY | os.O_TRUNC)), lambda: os.chmod("file", mode),
            lambda: os.posix_fallocate(os.open("file", os.O_WRONLY), 0, 100), lambda: os.chown("file", -1, 89),
            lambda: allocate(KEEP_SIZE), lambda: allocate(PUNCH_HOLE | KEEP_SIZE), lambda: allocate(ZERO_RANGE),
        )):
            for user, groups in ((ONE, [88, 89]), (ONE, [89]), (TWO, [88]), (TWO, []), (TWO, range(100, 400)),
                                 (None, [])):
                make("file", b"text")
                os.chown("file", ONE, 88)
                os.chmod("file", mode)
                said = elsewhere(change, user=user, groups=groups)
                say(oct(mode), number, user, list(groups)[:2], said, owner("file")[1:])
                os.unlink("file")


@act
def set_id_bits_of_what_is_made(say):
    for kind in (stat.S_IFREG, stat.S_IFIFO, stat.S_IFSOCK):
        for mode in (0o2010, 0o2000, 0o4100, 0o6755):
            for folder_mode, user in ((0o777, None), (0o777, ONE), (0o2777, None), (0o2777, ONE)):
                os.mkdir("folder")
                os.chown("folder", -1, 88)
                os.chmod("folder", folder_mode)
                os.umask(0)
                said = elsewhere(lambda: os.mknod("folder/made", kind | mode), user=user)
                say(oct(kind), oct(mode), oct(folder_mode), user, said, owner("folder/made"))
                os.unlink("folder/made")
                os.rmdir("folder")


@act
def lists(say):
    """chmod(2) and lists of access control, through the attributes that carry them."""
    import struct

    def entries(*parts):
        return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", tag, bits, who) for tag, bits, who in parts)

    nobody = (1 << 32) - 1
    access, default = "system.posix_acl_access", "system.posix_acl_default"
    full = entries((1, 6, nobody), (2, 6, ONE), (4, 4, nobody), (16, 6, nobody), (32, 0, nobody))
    make("file", b"text")
    os.setxattr("file", access, full)
    say(owner("file")[2], os.getxattr("file", access) == full, os.listxattr("file"))
    say(elsewhere(contents, "file", user=ONE), elsewhere(contents, "file", user=TWO))
    os.chmod("file", 0o600)
    say(elsewhere(contents, "file", user=ONE), os.getxattr("file", access).hex())
    for bad in (b"", b"x", entries((1, 6, nobody)), entries((1, 9, nobody), (4, 4, nobody), (32, 4, nobody)),
                full[:-4]):
        say(attempt(os.setxattr, "file", access, bad))
    say(attempt(os.setxattr, "file", default, full), attempt(os.getxattr, "file", default))
    say(attempt(os.removexattr, "file", access), attempt(os.removexattr, "file", access), owner("file")[2])
    os.mkdir("folder")
    os.setxattr("folder", default, full)
    for mode in (0o777, 0o640, 0):
        for name, call in {
            "file": lambda path: os.close(os.open(path, os.O_CREAT, mode)), "folder": lambda path: os.mkdir(path, mode),
            "fifo": lambda path: os.mkfifo(path, mode), "socket": lambda path: os.mknod(path, stat.S_IFSOCK | mode),
            "device": lambda path: os.mknod(path, stat.S_IFCHR | mode, os.makedev(1, 3)),
        }.items():
            path = f"folder/{name}-{mode:o}"
            call(path)
            listed = attempt(os.getxattr, path, access)
            say(path, owner(path)[2], listed if isinstance(listed, str) else listed.hex())
    os.symlink("x", "folder/link")
    say(attempt(os.getxattr, "folder/link", access, follow_symlinks=False))
    os.mkfifo("fifo", 0o600)
    say(attempt(os.setxattr, "fifo", access, full), owner("fifo")[2], elsewhere(
        lambda: os.close(os.open("fifo", os.O_RDWR)), user=ONE),
        elsewhere(lambda: os.open("fifo", os.O_RDWR), user=TWO))
