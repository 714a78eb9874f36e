"""The workloads of tools/bench. Each one yields its measurements, one after another."""

from __future__ import annotations

import json
import os
import random
import shutil
import sqlite3
import statistics
import tarfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Iterator

from filesystems import FileSystem, command

SMALL_FILES = 5_000
CALLS = 1_500
CLIENTS = (1, 2, 4, 8, 16)
COMMITS = 200
SYNCS = 1_000
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class Measurement:
    name: str
    seconds: float
    """Elapsed time."""
    cpu: float
    """Seconds for which all processors of the machine were busy: client, kernel and daemon."""
    amount: float
    """How many `item`s were processed."""
    item: str


def busy() -> float:
    """Seconds for which all processors have been busy since the boot."""
    user, nice, system, _, _, irq, softirq = map(int, Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:8])
    return (user + nice + system + irq + softirq) / TICKS


def timed(name: str, amount: float, item: str, action: Callable[[], object]) -> Measurement:
    started, before = time.monotonic(), busy()
    action()
    return Measurement(name, time.monotonic() - started, busy() - before, amount, item)


# Large files -------------------------------------------------------------------------------------------------------


def fio(name: str, system: FileSystem, pattern: str, block: str, *, fresh: bool = False,
        invalidate: bool = True) -> Measurement:
    """Writes end with an fsync; random 4 KiB accesses touch an eighth of the file. The time excludes fio's start."""
    target = system.point / "fio"
    if fresh:
        target.unlink(missing_ok=True)
    size = system.options.size
    amount = max(size // 8, 1) if pattern.startswith("rand") and block == "4k" else size
    before = busy()
    output = command(
        "fio", "--name=bench", f"--filename={target}", f"--rw={pattern}", f"--bs={block}", f"--size={size}m",
        f"--io_size={amount}m", "--ioengine=psync", "--end_fsync=1", "--fallocate=none", "--randrepeat=1",
        f"--invalidate={int(invalidate)}", "--output-format=json")
    cpu = busy() - before
    side = "write" if "write" in pattern else "read"
    job = json.loads(output)["jobs"][0]
    seconds = max(job[side]["runtime"], 1) / 1000
    if side == "write":
        seconds = max(seconds, job["job_runtime"] / 1000)
    return Measurement(name, seconds, cpu, job[side]["io_bytes"] / (1 << 30), "GiB")


def large_files(system: FileSystem) -> Iterator[Measurement]:
    # The sequential write comes first: it makes the file that the others use.
    yield fio("sequential write, 1 MiB", system, "write", "1m", fresh=True)
    yield fio("sequential write, 4 KiB", system, "write", "4k", fresh=True)
    yield fio("random write, 1 MiB", system, "randwrite", "1m")
    yield fio("random write, 4 KiB", system, "randwrite", "4k")
    for name, pattern, block in (("sequential read, 1 MiB, cold", "read", "1m"),
                                 ("sequential read, 4 KiB, cold", "read", "4k"),
                                 ("random read, 1 MiB, cold", "randread", "1m"),
                                 ("random read, 4 KiB, cold", "randread", "4k")):
        system.cold()
        yield fio(name, system, pattern, block)
    fio("", system, "read", "1m", invalidate=False)
    yield fio("sequential read, 1 MiB, cached", system, "read", "1m", invalidate=False)
    yield fio("random read, 4 KiB, cached", system, "randread", "4k", invalidate=False)
    (system.point / "fio").unlink()


# Small files -------------------------------------------------------------------------------------------------------


def small_files(system: FileSystem) -> Iterator[Measurement]:
    tree = system.point / "small"
    sizes = random.Random(1)
    content = random.Random(2).randbytes(16_384)

    def create() -> None:
        tree.mkdir()
        for number in range(SMALL_FILES):
            folder = tree / f"folder {number // 100}"
            if number % 100 == 0:
                folder.mkdir()
            (folder / f"file {number}").write_bytes(content[:sizes.randint(1, 16_384)])

    def walk() -> None:
        for folder, _, files in os.walk(tree):
            for name in files:
                os.stat(os.path.join(folder, name))

    def read() -> None:
        for folder, _, files in os.walk(tree):
            for name in files:
                Path(folder, name).read_bytes()

    def measured(what: str, action: Callable[[], object]) -> Measurement:
        return timed(f"{SMALL_FILES} files: {what}", SMALL_FILES, "file", action)

    yield measured("create", create)
    system.cold()
    yield measured("walk and stat, cold", walk)
    system.cold()
    yield measured("read, cold", read)

    def rename() -> None:
        for folder, _, files in os.walk(tree):
            for name in files:
                os.rename(os.path.join(folder, name), os.path.join(folder, f"{name} renamed"))

    yield measured("rename", rename)
    yield measured("remove", lambda: shutil.rmtree(tree))


# Several programs at once ------------------------------------------------------------------------------------------


def at_once(count: int, action: Callable[[int], None]) -> None:
    """Runs the action in so many processes, and waits for all."""
    children = []
    for number in range(count):
        child = os.fork()
        if child == 0:
            status = 1
            try:
                action(number)
                status = 0
            finally:
                os._exit(status)
        children.append(child)
    if any([os.waitpid(child, 0)[1] for child in children]):
        raise SystemExit("bench: a client failed")


def rounds_of(system: FileSystem, clients: int, files: int) -> Iterator[tuple[str, Callable[[], None]]]:
    """Create, read and remove: so many files together, of 4 KiB, by so many clients."""
    tree = system.point / "clients"
    content = random.Random(2).randbytes(4096)

    def each(step: Callable[[Path], object]) -> Callable[[], None]:
        def work(client: int) -> None:
            for number in range(files // clients):
                step(tree / str(client) / str(number))

        return lambda: at_once(clients, work)

    tree.mkdir()
    for client in range(clients):
        (tree / str(client)).mkdir()
    yield "create", each(lambda path: path.write_bytes(content))
    system.cold()
    yield "read, cold", each(Path.read_bytes)
    yield "remove", each(Path.unlink)
    shutil.rmtree(tree)


def four_clients(system: FileSystem) -> Iterator[Measurement]:
    for what, action in rounds_of(system, 4, SMALL_FILES):
        yield timed(f"4 clients, {SMALL_FILES} files: {what}", SMALL_FILES, "file", action)
    amount = max(system.options.size // 4, 4)
    writers = [f"--directory={system.point}", "--rw=randwrite", "--bs=64k", f"--size={amount // 4}m", "--numjobs=4",
               "--ioengine=psync", "--end_fsync=1", "--fallocate=none", "--randrepeat=1", "--group_reporting",
               "--output-format=json", "--name=bench"]
    command("fio", *writers, "--rw=write")
    before = busy()
    job = json.loads(command("fio", *writers))["jobs"][0]
    cpu = busy() - before
    yield Measurement("4 clients: random write, 64 KiB", job["job_runtime"] / 4000, cpu,
                      job["write"]["io_bytes"] / (1 << 30), "GiB")
    for path in system.point.glob("bench.*"):
        path.unlink()


def many_clients(system: FileSystem) -> Iterator[Measurement]:
    for clients in CLIENTS:
        count = 1_600
        for what, action in rounds_of(system, clients, count):
            yield timed(f"{what}: {clients} clients", count, "file", action)


# Single calls ------------------------------------------------------------------------------------------------------


def calls(system: FileSystem) -> Iterator[Measurement]:
    """The median time of one call of a program, each on files of its own."""
    tree = system.point / "calls"
    tree.mkdir()
    content = random.Random(4).randbytes(4000)
    names = [os.fspath(tree / f"file {number}") for number in range(CALLS)]
    opened: dict[str, int] = {}

    def each(*steps: tuple[str, Callable[[str], object]]) -> Iterator[Measurement]:
        times: dict[str, list[int]] = {what: [] for what, _ in steps}
        for name in names:
            for what, action in steps:
                started = time.perf_counter_ns()
                action(name)
                times[what].append(time.perf_counter_ns() - started)
        for what, _ in steps:
            yield Measurement(what, statistics.median(times[what]) / 1e9, 0, 1, "call")

    def open_(flags: int) -> Callable[[str], None]:
        return lambda name: opened.__setitem__(name, os.open(name, flags, 0o644))

    def close(name: str) -> None:
        os.close(opened.pop(name))

    yield from each(("create", open_(os.O_CREAT | os.O_EXCL | os.O_WRONLY)),
                    ("write 4,000 bytes", lambda name: os.write(opened[name], content)), ("close", close))
    system.cold()
    yield from each(("stat, cold", os.stat))
    yield from each(("open", open_(os.O_RDONLY)), ("read 4,000 bytes", lambda name: os.read(opened[name], 4096)),
                    ("close after a read", close))
    yield from each(("rename", lambda name: os.rename(name, name + "x")))
    yield from each(("unlink", lambda name: os.unlink(name + "x")))
    tree.rmdir()


def untar(system: FileSystem) -> Iterator[Measurement]:
    tree = system.point / "untarred"
    tree.mkdir()
    archive = system.options.archive
    yield timed("untar a real tree", system.options.archived, "file",
                lambda: command("tar", "-xf", archive, "-C", tree))
    shutil.rmtree(tree)


def git(system: FileSystem) -> Iterator[Measurement]:
    clone = system.point / "clone"
    # For file:// git makes and checks a pack, as it does over a network.
    source = f"file://{system.options.repository}"
    count = system.options.archived
    yield timed("git clone", count, "file", lambda: command("git", "clone", "-q", source, clone))
    system.cold()
    yield timed("git status, cold", count, "file", lambda: command("git", "status", "--short", cwd=clone))
    yield timed("git status, again", count, "file", lambda: command("git", "status", "--short", cwd=clone))
    shutil.rmtree(clone)


# Durable changes ---------------------------------------------------------------------------------------------------


def database(system: FileSystem) -> Iterator[Measurement]:
    for mode in ("WAL", "DELETE"):
        path = system.point / f"{mode}.db"
        connection = sqlite3.connect(path, isolation_level=None)
        connection.execute(f"PRAGMA journal_mode={mode}")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("CREATE TABLE entries (id INTEGER PRIMARY KEY, body TEXT)")

        def commit() -> None:
            for number in range(COMMITS):
                connection.execute("BEGIN")
                connection.execute("INSERT INTO entries (body) VALUES (?)", (f"entry {number} " * 10,))
                connection.execute("COMMIT")

        name = "WAL" if mode == "WAL" else "rollback journal"
        yield timed(f"SQLite commits, {name}", COMMITS, "commit", commit)
        connection.close()
        path.unlink()


def synced(system: FileSystem) -> Iterator[Measurement]:
    block = random.Random(3).randbytes(4096)

    def each(name: str, flags: int, step: Callable[[int, int], None]) -> Measurement:
        descriptor = os.open(system.point / "synced", os.O_RDWR | flags, 0o644)
        try:
            return timed(name, SYNCS, "fsync", lambda: [step(descriptor, number) for number in range(SYNCS)])
        finally:
            os.close(descriptor)

    def append(descriptor: int, number: int) -> None:
        os.pwrite(descriptor, block, 4096 * number)
        os.fsync(descriptor)

    def overwrite(descriptor: int, number: int) -> None:
        os.pwrite(descriptor, block, 4096 * (number * 7919 % SYNCS))
        os.fsync(descriptor)

    def save() -> None:
        for number in range(SYNCS // 4):
            with open(system.point / "saved.new", "wb") as file:
                file.write(block)
                file.flush()
                os.fsync(file.fileno())
            os.rename(system.point / "saved.new", system.point / "saved")

    yield each("4 KiB append and fsync", os.O_CREAT, append)
    yield each("4 KiB overwrite and fsync", 0, overwrite)
    yield timed("atomic save: write, fsync, rename", SYNCS // 4, "save", save)
    for name in ("synced", "saved"):
        (system.point / name).unlink()


WORKLOADS = {"large": large_files, "small": small_files, "clients": four_clients, "untar": untar, "git": git,
             "sqlite": database, "synced": synced}
# With tables of their own.
MORE_WORKLOADS = {"calls": calls, "many-clients": many_clients}


# Their data ------------------------------------------------------------------------------------------------------


def make_archive(folder: Path, limit: int) -> tuple[Path, int]:
    """Makes a tar of the first `limit` bytes of /usr/include or /usr/share: a real tree, not a generated one.

    Returns its path and the number of files in it.
    """
    source = next(path for path in (Path("/usr/include"), Path("/usr/share")) if path.is_dir())
    archive, total, count = folder / "tree.tar", 0, 0
    with tarfile.open(archive, "w") as tar:
        for parent, folders, files in os.walk(source):
            folders.sort()
            for name in sorted(files):
                path = Path(parent, name)
                if path.is_symlink() or not path.is_file() or not os.access(path, os.R_OK):
                    continue
                tar.add(path, arcname=path.relative_to(source))
                total += path.stat().st_size
                count += 1
            if total >= limit:
                break
    return archive, count


def make_repository(folder: Path, archive: Path) -> Path:
    repository = folder / "repository"
    repository.mkdir()
    command("tar", "-xf", archive, "-C", repository)
    command("git", "init", "-q", cwd=repository)
    command("git", "add", "-A", cwd=repository)
    command("git", "-c", "user.name=bench", "-c", "user.email=bench@localhost", "commit", "-q", "-m", "a real tree",
            cwd=repository)
    return repository
