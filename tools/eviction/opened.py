"""What a program can still read, through the kernel, of files that it has open and mapped.

Source: mincore(2), splice(2), open(2) with O_DIRECT.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import signal
from dataclasses import dataclass
from typing import Callable

PAGE = 4096
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p]
libc.mlock.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


def checked(result: int) -> int:
    if result < 0 or result == ctypes.c_size_t(-1).value:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


@dataclass
class Mapping:
    """A file mapped into memory."""

    address: int
    count: int
    kind: str

    @classmethod
    def of(cls, descriptor: int, count: int, kind: str) -> Mapping:
        """`kind` is "shared", "private" or "locked"."""
        flags = mmap.MAP_PRIVATE if kind == "private" else mmap.MAP_SHARED
        address = checked(libc.mmap(None, count, mmap.PROT_READ | mmap.PROT_WRITE, flags, descriptor, 0))
        mapping = cls(address, count, kind)
        if kind == "locked":
            checked(libc.mlock(address, count))
        return mapping

    def bytes(self) -> bytes:
        return ctypes.string_at(self.address, self.count)

    def touch(self) -> None:
        for at in range(0, self.count, PAGE):
            ctypes.string_at(self.address + at, 1)

    def resident(self) -> int:
        """Its pages in the page cache with contents; a page that a refused read left empty does not count."""
        pages = (self.count + PAGE - 1) // PAGE
        vector = ctypes.create_string_buffer(pages)
        checked(libc.mincore(self.address, self.count, vector))
        return sum(byte & 1 for byte in vector.raw)

    def close(self) -> None:
        checked(libc.munmap(self.address, self.count))


def refusal(act: Callable[[], object]) -> str:
    """The name of the error that an act fails with, or "" if it succeeds."""
    try:
        act()
    except OSError as error:
        return errno.errorcode.get(error.errno or 0, str(error.errno))
    return ""


def death(act: Callable[[], object]) -> str:
    """The name of the signal that kills a child process during an act, or "" if the child survives."""
    child = os.fork()
    if child == 0:
        try:
            act()
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else ""


def read_directly(descriptor: int, offset: int) -> bytes:
    """A page read past the page cache, through a descriptor with O_DIRECT."""
    buffer = mmap.mmap(-1, PAGE)
    try:
        count = os.preadv(descriptor, [buffer], offset)
        return buffer[:count]
    finally:
        buffer.close()


def splice_page(descriptor: int, offset: int) -> bytes:
    """A page spliced through a pipe, not through this process's memory."""
    reading, writing = os.pipe()
    try:
        count = os.splice(descriptor, writing, PAGE, offset_src=offset)
        return os.read(reading, count)
    finally:
        os.close(reading)
        os.close(writing)
