"""What open_by_handle_at(2) finds: handles.py MOUNT make|check|forget|locked|gone|forged STATE."""

import ctypes
import errno
import os
import pickle
import shutil
import stat
import sys
import time

libc = ctypes.CDLL(None, use_errno=True)
AT_FDCWD = -100


class Handle(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint), ("kind", ctypes.c_int), ("bytes", ctypes.c_ubyte * 128)]


def handle_of(path: str) -> tuple[int, bytes]:
    handle, mount = Handle(size=128), ctypes.c_int()
    if libc.name_to_handle_at(AT_FDCWD, os.fsencode(path), ctypes.byref(handle), ctypes.byref(mount), 0):
        raise OSError(ctypes.get_errno(), f"name_to_handle_at {path}")
    return handle.kind, bytes(handle.bytes[:handle.size])


def open_handle(handle: tuple[int, bytes], flags: int) -> int:
    kind, data = handle
    value = Handle(size=len(data), kind=kind)
    value.bytes[:len(data)] = data
    mount = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        file = libc.open_by_handle_at(mount, ctypes.byref(value), flags | os.O_CLOEXEC)
        if file < 0:
            raise OSError(ctypes.get_errno(), "open_by_handle_at")
        return file
    finally:
        os.close(mount)


def forget() -> None:
    """The kernel forgets what no program uses."""
    with open("/proc/sys/vm/drop_caches", "w") as file:
        file.write("2\n")


def expect_stale(handle: tuple[int, bytes], what: str) -> None:
    try:
        file = open_handle(handle, os.O_PATH)
    except OSError as error:
        assert error.errno == errno.ESTALE, (what, error)
    else:
        raise AssertionError((what, os.readlink(f"/proc/self/fd/{file}")))


def paths() -> list[str]:
    found = [root]
    for folder, folders, files in os.walk(root):
        found += [os.path.join(folder, name) for name in folders + files]
    return [path for path in found if not os.path.ismount(path) or path == root]


def write(path: str) -> None:
    with open(path, "w") as file:
        file.write(f"text of {os.path.relpath(path, root)}\n")


def make() -> None:
    deep = root
    for number in range(40):
        deep = f"{deep}/folder {number}"
        os.mkdir(deep)
        write(f"{deep}/file")
    os.mkdir(f"{root}/wide")
    for number in range(300):
        write(f"{root}/wide/{'long ' * (number % 2 * 40)}{number}")
    os.symlink("wide/0", f"{root}/link")
    os.mkfifo(f"{root}/wide/pipe")
    os.mkdir(f"{root}/moved")
    os.mkdir(f"{root}/moved/inner")
    write(f"{root}/moved/inner/file")
    write(f"{root}/linked")
    os.link(f"{root}/linked", f"{root}/moved/linked")
    keep({path: (handle_of(path), os.lstat(path).st_ino) for path in paths()})


def keep(handles: dict) -> None:
    with open(state, "wb") as file:
        pickle.dump(handles, file)


def kept() -> dict:
    with open(state, "rb") as file:
        return pickle.load(file)


def check(moved: dict[str, str] = {}) -> None:
    for path, (handle, inode) in kept().items():
        is_link = os.path.basename(path) == "link"
        file = open_handle(handle, os.O_PATH | os.O_NOFOLLOW)
        status = os.fstat(file)
        assert status.st_ino == inode, path
        now = next((new + path[len(old):] for old, new in moved.items() if path.startswith(old)), path)
        if stat.S_ISDIR(status.st_mode):
            # The way up to the root is found too.
            shown = os.readlink(f"/proc/self/fd/{file}")
            assert shown == now, (shown, now)
            listed = os.open(f"/proc/self/fd/{file}", os.O_RDONLY | os.O_DIRECTORY)
            assert set(os.listdir(listed)) == set(os.listdir(now)), path
            os.close(listed)
        elif stat.S_ISREG(status.st_mode):
            content = os.open(f"/proc/self/fd/{file}", os.O_RDONLY)
            assert os.read(content, 1000).decode() == f"text of {os.path.relpath(path, root)}\n".replace(
                "moved/linked", "linked"), path
            os.close(content)
        else:
            assert is_link == stat.S_ISLNK(status.st_mode), path
        os.close(file)


def moves() -> None:
    os.rename(f"{root}/moved", f"{root}/wide/elsewhere")
    os.unlink(f"{root}/linked")
    forget()
    check({f"{root}/moved": f"{root}/wide/elsewhere"})
    forget()
    check({f"{root}/moved": f"{root}/wide/elsewhere"})


def locked() -> None:
    file = f"{root}/wide/0"
    forget()
    found = open_handle(kept()[file][0], os.O_PATH)
    assert os.fstat(found).st_ino == kept()[file][1]
    try:
        open_handle(kept()[file][0], os.O_RDONLY)
        raise AssertionError("a locked file was opened")
    except OSError as error:
        assert error.errno == errno.ENOKEY, error


def gone() -> None:
    open_one = os.open(f"{root}/wide/0", os.O_RDONLY)
    # Many: another program may use some of the disk's free numbers.
    more = [f"wide/more {number}" for number in range(30)]
    for name in more:
        write(f"{root}/{name}")
    closed = ["wide/2", "wide/4", *more]
    removed = {name: handle_of(f"{root}/{name}") for name in ["wide/0", *closed, "link", "wide/pipe"]}
    numbers = {os.lstat(f"{root}/{name}").st_ino for name in closed}
    for name in removed:
        os.unlink(f"{root}/{name}")
    removed["folder 0"] = handle_of(f"{root}/folder 0")
    shutil.rmtree(f"{root}/folder 0")
    # A file that a program holds open is still there.
    again = open_handle(removed["wide/0"], os.O_RDONLY)
    assert os.read(again, 100) == b"text of wide/0\n"
    # New files get the inode numbers of removed ones, once those are closed.
    os.sync()
    forget()
    for number in range(2000):
        write(f"{root}/wide/new {number}")
        numbers.discard(os.stat(f"{root}/wide/new {number}").st_ino)
        if not numbers:
            break
    assert len(numbers) < len(closed), "the disk has not used the numbers of removed files again"
    for _ in range(2):
        for name in removed:
            if name != "wide/0":
                expect_stale(removed[name], name)
        forget()
    os.close(again)
    os.close(open_one)
    forget()
    keep({name: (handle, 0) for name, handle in removed.items()})
    stale()


def stale() -> None:
    # The kernel keeps a removed file until the daemon has heard that it was closed, for which close(2) does not wait.
    for _ in range(500):
        try:
            os.close(open_handle(kept()["wide/0"][0], os.O_PATH))
        except OSError:
            break
        time.sleep(0.01)
    for name, (handle, _) in kept().items():
        expect_stale(handle, name)


def forged() -> None:
    """Numbers that no node has, and those of Latchkey's own files, which the mount does not show."""
    vault = sys.argv[4]
    kind, data = handle_of(f"{root}/wide/6")
    assert len(data) == 12, len(data)
    own = [os.lstat(os.path.join(vault, name)).st_ino for name in os.listdir(vault) if name.startswith("lk.")]
    assert own
    for number in [0, 1 << 48, (1 << 63) - 1, 1 << 63, 1 << 63 | 5, (1 << 64) - 1, *own]:
        # The lower half of a number comes first.
        expect_stale((kind, number.to_bytes(8, sys.byteorder) + bytes(4)), str(number))
        halves = number.to_bytes(8, "big")
        expect_stale((kind, halves[3::-1] + halves[:3:-1] + bytes(4)), str(number))
    # The right number with another generation.
    expect_stale((kind, data[:8] + bytes(byte ^ 1 for byte in data[8:])), "another generation")


root, act, state = sys.argv[1:4]
{"make": make, "check": check, "forget": forget, "moves": moves, "locked": locked, "gone": gone, "stale": stale,
 "forged": forged}[act]()
