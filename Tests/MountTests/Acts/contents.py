"""What is in files: appends, direct reads and writes, holes, allocation, mappings."""

import ctypes
import mmap
import os
import random
import resource
import shutil
import signal
import subprocess
import time

from acting import act, attempt, checked, contents, elsewhere, libc, make

PAGE = 4096
KEEP, PUNCH, COLLAPSE, ZERO, INSERT = 1, 2, 8, 16, 32
libc.fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64]


def fallocate(file, mode, offset, length):
    checked(libc.fallocate(file, mode, offset, length))


def page(bytes_):
    """Memory at the start of a page, as O_DIRECT wants it."""
    memory = mmap.mmap(-1, max(len(bytes_), 1))
    memory[:len(bytes_)] = bytes_
    return memory


@act
def appended_by_many(say):
    """No record is lost or torn, and none stands before one that the same writer wrote earlier."""
    make("log")
    processes = []
    for writer in range(6):
        if (process := os.fork()) == 0:
            chance = random.Random(writer)
            file = os.open("log", os.O_WRONLY | os.O_APPEND)
            for number in range(200):
                record = b"%d %d " % (writer, number) + b"x" * chance.choice((1, 50, 4000, 9000)) + b"\n"
                if os.write(file, record) != len(record):
                    os._exit(1)
            os._exit(0)
        processes.append(process)
    say([os.waitpid(process, 0)[1] for process in processes])
    records = [line.split(b" ") for line in contents("log").splitlines()]
    order = [[int(record[1]) for record in records if record[0] == b"%d" % writer] for writer in range(6)]
    say(len(records), all(numbers == list(range(200)) for numbers in order))
    lengths = {record[2].strip(b"x"): 0 for record in records}
    say(lengths, {len(record[2]) for record in records} == {1, 50, 4000, 9000})
    # pwrite(2) appends as well, whatever its offset; a read in between starts at offset 0.
    file = os.open("log", os.O_RDWR | os.O_APPEND | os.O_TRUNC)
    os.write(file, b"one")
    os.pwrite(file, b"two", 0)
    say(os.pread(file, 10, 0), os.lseek(file, 0, os.SEEK_CUR))


@act
def direct(say):
    file = os.open("file", os.O_RDWR | os.O_CREAT | os.O_DIRECT)
    body = bytes(range(256)) * 64
    say(os.pwrite(file, page(body), 0), os.pwrite(file, page(body[:PAGE]), 4 * PAGE))
    into = page(bytes(8 * PAGE))
    say(os.preadv(file, [into], 0), into[:5 * PAGE] == body + body[:PAGE])
    say(os.preadv(file, [into], 4 * PAGE), os.preadv(file, [into], 5 * PAGE), os.fstat(file).st_size)
    # Bypasses the page cache, in both directions.
    other = os.open("file", os.O_RDWR)
    mapped = mmap.mmap(other, 5 * PAGE)
    say(mapped[:4] == body[:4], os.pread(other, 4, PAGE) == body[:4])
    os.pwrite(file, page(b"D" * PAGE), PAGE)
    say(os.pread(other, 2, PAGE), mapped[PAGE:PAGE + 2])
    os.pwrite(other, b"buffered", 2 * PAGE)
    mapped[3 * PAGE:3 * PAGE + 3] = b"map"
    os.preadv(file, [into], 0)
    say(into[2 * PAGE:2 * PAGE + 8], into[3 * PAGE:3 * PAGE + 3])
    # A file system may refuse unaligned requests; if it does not, they are ordinary writes.
    odd = attempt(os.pwrite, file, b"odd", 4 * PAGE + 1)
    say(odd in (3, "EINVAL"), os.pread(other, 5, 4 * PAGE) == (b"\0odd\4" if odd == 3 else body[:5]))
    tail = attempt(os.preadv, file, [memoryview(bytearray(100))], 7)
    say(tail in (100, "EINVAL"))
    # An append.
    last = os.open("file", os.O_WRONLY | os.O_APPEND | os.O_DIRECT)
    say(os.write(last, page(b"A" * PAGE)), os.fstat(file).st_size, os.pread(other, 2, 5 * PAGE))
    os.ftruncate(file, 100)
    say(os.preadv(file, [into], 0), into[:100] == body[:100])


def has_data_at(path, expected):
    """Whether SEEK_DATA and SEEK_HOLE tell of data in these MiB of a file, and of not much else: a file system may take
    what lies beside data for data, and for a moment everything, until it has heard that the writer has closed it."""
    beside = {mib + step for mib in expected for step in (-1, 0, 1)} | {0}
    for _ in range(200):
        found = data_in(path)
        if expected <= found <= beside:
            return True
        time.sleep(0.01)
    return sorted(found), sorted(expected)


def data_in(path):
    """The MiB of a file that have data."""
    file = os.open(path, os.O_RDONLY)
    size = os.fstat(file).st_size
    found, offset = set(), 0
    while offset < size:
        start = attempt(os.lseek, file, offset, os.SEEK_DATA)
        if start == "ENXIO":
            break
        end = os.lseek(file, start, os.SEEK_HOLE)
        found |= set(range(start >> 20, (end + (1 << 20) - 1) >> 20))
        offset = end
    os.close(file)
    return found


def is_sparse(path):
    return os.stat(path).st_blocks * 512 < 4 << 20


@act
def holes(say):
    size = 64 << 20
    file = os.open("file", os.O_RDWR | os.O_CREAT)
    os.ftruncate(file, size)
    for offset in (16 << 20, 40 << 20):
        os.pwrite(file, b"data" * 300_000, offset)
    os.close(file)
    say(has_data_at("file", {16, 17, 40, 41}), is_sparse("file"))
    file = os.open("file", os.O_RDWR)
    say(os.pread(file, 8, (16 << 20) - 4), os.pread(file, 8, (16 << 20) + 1_200_000 - 4))
    say(attempt(os.lseek, file, size, os.SEEK_DATA), attempt(os.lseek, file, size, os.SEEK_HOLE))
    say(os.lseek(file, size - 1, os.SEEK_HOLE) >= size - 1, attempt(os.lseek, file, size + 1, os.SEEK_DATA))
    say(attempt(os.lseek, file, -1, os.SEEK_SET), attempt(os.lseek, file, -1, os.SEEK_DATA))
    # They stay holes in a copy.
    for command in (
        "cp --sparse=always file cp", "cp --sparse=auto file auto", "rsync -S file rsync",
        "tar -cSf archive.tar file; mkdir tar; tar -xf archive.tar -C tar; mv tar/file tar.file",
    ):
        subprocess.run(["sh", "-ec", command], check=True)
    for copy in ("cp", "auto", "rsync", "tar.file"):
        say(copy, has_data_at(copy, {16, 17, 40, 41}), is_sparse(copy))
        subprocess.run(["cmp", "file", copy], check=True)
    say(os.stat("archive.tar").st_size < 4 << 20)
    # The time of the file is in it.
    os.unlink("archive.tar")


@act
def allocation(say):
    size = 8 << 20
    file = os.open("file", os.O_RDWR | os.O_CREAT)
    fallocate(file, 0, 0, size)
    say(os.fstat(file).st_size, os.fstat(file).st_blocks * 512 >= size, os.pread(file, 4, size - 4))
    fallocate(file, KEEP, size, size)
    say(os.fstat(file).st_size, os.pread(file, 4, size))
    for offset in range(0, size, 1 << 20):
        os.pwrite(file, b"w" * (1 << 20), offset)
    os.fsync(file)
    fallocate(file, PUNCH | KEEP, 1 << 20, 4 << 20)
    say(os.fstat(file).st_size, contents("file") == b"w" * (1 << 20) + bytes(4 << 20) + b"w" * (3 << 20))
    os.close(file)
    say(has_data_at("file", {0, 5, 6, 7}))
    file = os.open("file", os.O_RDWR)
    fallocate(file, PUNCH | KEEP, 100, 50)
    fallocate(file, ZERO, 7 << 20, (1 << 20) + 10)
    say(os.fstat(file).st_size - size, os.pread(file, 52, 99) == b"w" + bytes(50) + b"w", contents("file")[-4:])
    fallocate(file, ZERO | KEEP, size, PAGE)
    say(os.fstat(file).st_size - size)
    say(attempt(fallocate, file, 0, 0, 0), attempt(fallocate, file, 0, -1, 5), attempt(fallocate, file, PUNCH, 0, 5))
    say(attempt(fallocate, file, 0, 1 << 62, 1 << 62))
    reader = os.open("file", os.O_RDONLY)
    say(attempt(fallocate, reader, 0, 0, 5), attempt(fallocate, os.open(".", os.O_RDONLY), 0, 0, 5))
    say(attempt(fallocate, file, 0x80, 0, PAGE))


@act
def truncation(say):
    file = os.open("file", os.O_RDWR | os.O_CREAT)
    os.write(file, b"x" * 10_000)
    for size in (10_000, 9_999, 4097, 4096, 4095, 1, 0, 5, 5000):
        os.ftruncate(file, size)
        say(os.fstat(file).st_size, contents("file").count(b"x"), os.pread(file, 100, size))
    os.truncate("file", 3)
    say(os.lseek(file, 0, os.SEEK_CUR), os.write(file, b"end"), os.fstat(file).st_size)
    say(attempt(os.truncate, "file", -1), attempt(os.ftruncate, os.open("file", os.O_RDONLY), 1))
    say(attempt(os.truncate, ".", 1), attempt(os.truncate, "nothing", 1))


@act
def limits(say):
    def write_past():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
        file = os.open("file", os.O_RDWR | os.O_CREAT)
        said = [os.pwrite(file, b"x" * 200, 9_900), attempt(os.pwrite, file, b"x", 10_000)]
        return said + [attempt(os.ftruncate, file, 10_001), attempt(fallocate, file, 0, 0, 20_000)]

    say(elsewhere(write_past), os.stat("file").st_size)


@act
def copies_in_the_kernel(say):
    make("from", bytes(range(256)) * 1000)
    source, target = os.open("from", os.O_RDWR), os.open("to", os.O_RDWR | os.O_CREAT)
    say(os.copy_file_range(source, target, 100_000, 5, 0), contents("to") == contents("from")[5:100_005])
    say(os.sendfile(target, source, 0, 1000), os.fstat(target).st_size)
    say(attempt(os.copy_file_range, source, source, 100, 0, 50),
        attempt(os.copy_file_range, source, target, 9, 256_000, 0))
    reader, writer = os.pipe()
    say(os.splice(source, writer, 5000, 10), os.splice(reader, target, 5000, None, 0))
    say(contents("to")[:5000] == contents("from")[10:5010])
    gather = os.pwritev(target, [b"one", b"two"], 0, os.RWF_DSYNC)
    say(gather, os.preadv(target, [bytearray(3), bytearray(3)], 0), contents("to")[:6])


@act
def mapped(say):
    make("file", b"a" * 5000)
    file = os.open("file", os.O_RDWR)
    # Python maps no more than there is.
    os.ftruncate(file, 2 * PAGE)
    memory, private = mmap.mmap(file, 2 * PAGE), mmap.mmap(file, PAGE, mmap.MAP_PRIVATE)
    os.ftruncate(file, 5000)
    memory[0:3] = b"one"
    private[10:13] = b"not"
    say(os.pread(file, 3, 0), os.pread(file, 3, 10), private[0:3])
    os.pwrite(file, b"two", 4096)
    say(memory[4096:4099], memory[5000:5004])
    # What is stored behind the end is not part of the file.
    memory[5000:5004] = b"lost"
    memory.flush()
    say(os.fstat(file).st_size)
    os.ftruncate(file, 6000)
    say(os.pread(file, 4, 5000))
    memory[5990:6000] = b"0123456789"
    os.close(file)
    memory.close()
    say(contents("file")[-10:], len(contents("file")))

    def touch_behind():
        make("short", b"x")
        other = os.open("short", os.O_RDWR)
        mapping = mmap.mmap(other, 0)
        os.ftruncate(other, PAGE * 2)
        whole = mmap.mmap(other, 2 * PAGE)
        os.ftruncate(other, 1)
        whole[PAGE] = 1
        return "no signal"

    say(elsewhere(touch_behind))


@act
def programs(say):
    """A program in the folder runs, and a running program cannot be opened for writing."""
    shutil.copy(shutil.which("sleep"), "program")
    say(subprocess.run(["./program", "0"]).returncode)
    process = subprocess.Popen(["./program", "100"])
    # It is running when its own file is mapped.
    while os.path.basename(os.readlink(f"/proc/{process.pid}/exe")) != "program":
        pass
    say(attempt(lambda: os.close(os.open("program", os.O_WRONLY))))
    os.unlink("program")
    shutil.copy(shutil.which("true"), "program")
    say(subprocess.run(["./program"]).returncode, process.poll())
    process.kill()
    process.wait()
    os.chmod("program", 0o644)
    say(attempt(os.execv, "./program", ["program"]))
    with open("script", "w") as script:
        script.write("#!/bin/sh\necho $0 $1")
    os.chmod("script", 0o755)
    say(subprocess.run(["./script", "word"], capture_output=True).stdout)
    path = next(line.split()[-1] for line in open("/proc/self/maps") if "libc.so" in line or "libc-" in line)
    shutil.copy(path, "library.so")
    say(subprocess.run(["python3", "-c", "import ctypes; print(ctypes.CDLL('./library.so').abs(-5))"],
                       capture_output=True).stdout)
