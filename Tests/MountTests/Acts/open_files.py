"""Files whose names change or go while they are open, and the flags of open(2)."""

import os
import stat

from acting import act, attempt, contents, make


@act
def without_a_name(say):
    file = os.open("file", os.O_RDWR | os.O_CREAT)
    os.write(file, b"text")
    reader = os.open("file", os.O_RDONLY)
    os.unlink("file")
    say(os.listdir("."), os.fstat(file).st_nlink, os.fstat(file).st_size)
    os.ftruncate(file, 10_000)
    os.pwrite(file, b"end", 9_997)
    os.fchmod(file, 0o600)
    os.fchown(file, 7, 8)
    os.utime(file, ns=(1_000_000_001, 2_000_000_002))
    status = os.fstat(reader)
    say(oct(status.st_mode), status.st_uid, status.st_gid, status.st_mtime_ns, status.st_size)
    say(os.pread(reader, 5, 0), os.pread(reader, 10, 9_997))
    say(attempt(os.link, f"/proc/self/fd/{file}", "again", follow_symlinks=True))
    again = os.open(f"/proc/self/fd/{file}", os.O_RDWR)
    os.pwrite(again, b"T", 0)
    say(os.pread(reader, 4, 0), attempt(os.fsync, file),
        os.readlink(f"/proc/self/fd/{file}").endswith("file (deleted)"))
    os.setxattr(file, "user.one", b"1")
    say(os.getxattr(reader, "user.one"), os.listxattr(reader))
    make("file", b"new")
    say(contents("file"), os.pread(file, 4, 0))


@act
def replaced(say):
    make("old", b"old")
    make("new", b"new")
    file = os.open("old", os.O_RDWR)
    os.rename("new", "old")
    say(os.fstat(file).st_nlink, os.pread(file, 3, 0), contents("old"), os.listdir("."))
    os.pwrite(file, b"still", 0)
    say(contents("old"), os.pread(file, 5, 0))
    os.link("old", "second")
    os.rename("old", "second")
    say(sorted(os.listdir(".")), os.stat("old").st_nlink)
    os.mkdir("folder")
    here = os.open("folder", os.O_RDONLY)
    os.rename("folder", "moved")
    os.close(os.open("inside", os.O_CREAT, dir_fd=here))
    say(os.listdir("moved"), attempt(os.rename, "moved", "moved/inner"), attempt(os.rename, "second", "moved"))


@act
def flags(say):
    make("file", b"text")
    os.mkdir("folder")
    os.symlink("file", "link")
    os.symlink("nowhere", "dangling")
    os.symlink("loop", "loop")

    def opened(path, how, mode=0o777):
        file = attempt(os.open, path, how, mode)
        if isinstance(file, int):
            os.close(file)
            return "opened"
        return file

    create = os.O_CREAT
    say(opened("file", create | os.O_EXCL), opened("link", create | os.O_EXCL), opened("dangling", create | os.O_EXCL))
    say(opened("folder", create), opened("folder", os.O_WRONLY), opened("folder", os.O_RDWR),
        opened("folder", os.O_RDONLY))
    say(opened("file", os.O_DIRECTORY), opened("link", os.O_NOFOLLOW), opened("link", os.O_NOFOLLOW | os.O_PATH))
    say(opened("loop", os.O_RDONLY), opened("file/", os.O_RDONLY), opened("file/x", create), opened("nothing/", create))
    say(opened("dangling", create), stat.S_IMODE(os.stat("nowhere").st_mode) == 0o755)
    say(opened("file", os.O_RDONLY | os.O_TRUNC), os.stat("file").st_size)
    path = os.open("file", os.O_PATH)
    say(attempt(os.read, path, 1), os.fstat(path).st_size, attempt(os.fchmod, path, 0o600))
    reader, writer = os.open("file", os.O_RDONLY), os.open("file", os.O_WRONLY)
    say(attempt(os.write, reader, b"x"), attempt(os.read, writer, 1), os.write(writer, b"x"))
    # The creator's own descriptor can write to a file whose mode forbids another open.
    kept = os.open("closed", create | os.O_RDWR, 0o000)
    say(os.write(kept, b"secret"), oct(os.fstat(kept).st_mode))
    nameless = os.open(".", os.O_TMPFILE | os.O_RDWR, 0o640)
    say(os.fstat(nameless).st_nlink, os.write(nameless, b"x"), oct(os.fstat(nameless).st_mode))
    os.link(f"/proc/self/fd/{nameless}", "named", src_dir_fd=nameless, follow_symlinks=True)
    say(contents("named"), os.fstat(nameless).st_nlink)


@act
def errors(say):
    make("file")
    os.mkdir("folder")
    make("folder/file")
    os.mkdir("empty")
    os.symlink("folder", "link")
    say(attempt(os.rmdir, "folder"), attempt(os.rmdir, "file"), attempt(os.rmdir, "link"), attempt(os.unlink, "folder"))
    say(attempt(os.rename, "file", "folder"), attempt(os.rename, "folder", "file"),
        attempt(os.rename, "empty", "folder"))
    say(attempt(os.rename, "folder", "folder/in"), attempt(os.rename, "nothing", "x"), attempt(os.rename, ".", "x"))
    say(attempt(os.link, "folder", "x"), attempt(os.link, "file", "folder"), attempt(os.link, "nothing", "x"))
    say(attempt(os.symlink, "x", "file"), attempt(os.symlink, "", "x"), attempt(os.symlink, "t" * 4096, "x"))
    say(attempt(os.mkdir, "file/x"), attempt(os.mkdir, "nothing/x"), attempt(os.mkfifo, "file"),
        attempt(os.rmdir, "folder/.."))
    say(attempt(os.readlink, "file"), attempt(os.unlink, "file/"), attempt(os.rename, "file", "x/"),
        attempt(os.stat, "link/"  ) != 0)
    say(attempt(os.symlink, "t" * 4095, "long"), len(os.readlink("long")), os.lstat("long").st_size)
    say(attempt(os.rename, "folder", "empty"), os.listdir("empty"))
