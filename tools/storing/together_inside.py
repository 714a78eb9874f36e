"""What runs on one machine while others work in the same vault: workloads, and what must be true after them.

together_inside.py WORK MOUNT NUMBER ACKS REPOSITORY MACHINES [FOLDER OF ACKS...]

A workload goes on until ACKS/end exists. It writes a line into ACKS/WORK.acks for each change that is acknowledged, and
tries again after each error: the daemon may be killed.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Callable

TOKENS = 40


class Work:
    def __init__(self, what: str, mount: str, number: str, acks: str, repository: str, machines: str,
                 *folders: str) -> None:
        self.what, self.number = what, int(number)
        self.root = Path(mount) / "together"
        self.acks = Path(acks)
        self.repository = repository
        self.machines = int(machines)
        self.folders = [Path(folder) for folder in folders]
        self.random = random.Random(f"{what} {number} {time.time()}")

    @property
    def is_over(self) -> bool:
        return (self.acks / "end").exists()

    def acknowledge(self, text: str) -> None:
        with open(self.acks / f"{self.what}.acks", "a", encoding="ascii") as file:
            file.write(text + "\n")

    def acknowledged(self, what: str) -> dict[int, list[str]]:
        found = {}
        for folder in self.folders:
            path = folder / f"{what}.acks"
            found[int(folder.name.removeprefix("acks"))] = path.read_text().split() if path.exists() else []
        return found

    def prepare(self) -> list[str]:
        self.root.mkdir()
        (self.root / "tokens").mkdir()
        for token in range(TOKENS):
            (self.root / "tokens" / f"{token}.0").write_text(f"token {token}\n")
        (self.root / "log").touch()
        (self.root / "held").mkdir()
        for machine in range(1, self.machines + 1):
            (self.root / f"own{machine}").mkdir()
            (self.root / "held" / f"{machine}.0").touch()
        os.sync()
        return []

    # How fast it is, in a folder of its own

    def rates(self) -> dict[str, float]:
        """Calls, and MiB, per second. The root is the folder to use."""
        files, size = 150, 96
        folder = self.root.parent / f"rates{self.number}"
        folder.mkdir()
        found = {}

        def timed(name: str, count: float, body: Callable[[], object]) -> None:
            begin = time.monotonic()
            body()
            found[name] = count / (time.monotonic() - begin)

        def make(path: Path) -> None:
            with open(path, "wb") as file:
                file.write(b"x" * 1000)

        paths = [folder / f"file{number}" for number in range(files)]
        begin = time.monotonic()
        timed("create", files, lambda: [make(path) for path in paths])
        timed("stat", files, lambda: [os.stat(path) for path in paths])
        timed("stat again", 3 * files, lambda: [os.stat(path) for path in 3 * paths])
        timed("list", 1, lambda: [entry.stat() for entry in os.scandir(folder)])
        timed("read", files, lambda: [path.read_bytes() for path in paths])
        timed("rename", files, lambda: [path.rename(f"{path}r") for path in paths])
        timed("unlink", files, lambda: [os.unlink(f"{path}r") for path in paths])
        # As many of each as a program makes: three stats for one of the others.
        found["metadata"] = (4 + 4 + 1) * files / (time.monotonic() - begin)
        # Whole pages, as cp and dd have them: direct I/O of others needs two requests.
        block = mmap.mmap(-1, 1 << 20)
        block.write(os.urandom(1 << 20))

        def write() -> None:
            with open(folder / "stream", "wb", buffering=0) as file:
                for _ in range(size):
                    file.write(block)
                os.fsync(file.fileno())

        def read() -> None:
            with open(folder / "stream", "rb", buffering=0) as file:
                while file.readinto(block):
                    pass

        self.wait_for_others("write")
        timed("write", size, write)
        self.wait_for_others("read")
        timed("read stream", size, read)
        self.wait_for_others("end")
        shutil.rmtree(folder)
        return found

    def wait_for_others(self, phase: str) -> None:
        """Returns when all machines have come so far: what each does next, they do at the same time."""
        (self.acks / phase).touch()
        while len(list(self.acks.parent.glob(f"acks*/{phase}"))) < self.machines:
            time.sleep(0.002)

    # One file, to which all append

    @staticmethod
    def line(machine: int, count: int) -> bytes:
        size = random.Random(machine * 1_000_003 + count).choice([10, 80, 700, 5000])
        body = f"{machine} {count} ".encode() + b"x" * size
        return body + b" " + hashlib.sha256(body).hexdigest()[:16].encode() + b"\n"

    def append(self) -> list[str]:
        count = 0
        while not self.is_over:
            count += 1
            try:
                # Without O_CREAT: where nothing is mounted, nothing is made.
                file = os.open(self.root / "log", os.O_WRONLY | os.O_APPEND)
                try:
                    line = self.line(self.number, count)
                    if os.write(file, line) != len(line):
                        continue
                    if self.random.random() < 0.5:
                        os.fsync(file)
                finally:
                    # Closing, too, may fail: then nothing is acknowledged.
                    os.close(file)
            except OSError:
                time.sleep(0.2)
                continue
            self.acknowledge(f"{count}")
            time.sleep(self.random.random() * 0.05)
        return []

    def check_append(self) -> list[str]:
        wrong = []
        seen: dict[tuple[int, int], int] = {}
        for text in (self.root / "log").read_bytes().split(b"\n"):
            if not text:
                continue
            words = text.split(b" ")
            try:
                machine, count = int(words[0]), int(words[1])
                is_whole = text + b"\n" == self.line(machine, count)
            except (ValueError, IndexError):
                is_whole = False
            if not is_whole:
                wrong.append(f"a torn line of {len(text)} bytes: {text[:40]!r}")
                continue
            seen[machine, count] = seen.get((machine, count), 0) + 1
        for machine, counts in self.acknowledged("append").items():
            lost = [count for count in map(int, counts) if (machine, count) not in seen]
            if lost:
                wrong.append(f"{len(lost)} of {len(counts)} lines of machine {machine} are lost: {lost[:5]}")
        twice = [key for key, times in seen.items() if times > 1]
        if twice:
            wrong.append(f"lines that stand there twice: {twice[:5]}")
        return wrong[:20]

    # One folder, in which all rename

    def rename(self) -> list[str]:
        folder = self.root / "tokens"
        count = 0
        while not self.is_over:
            try:
                names = os.listdir(folder)
            except OSError:
                time.sleep(0.2)
                continue
            tokens = sorted(int(name.split(".")[0]) for name in names)
            if tokens != list(range(TOKENS)):
                return [f"a listing has {len(tokens)} tokens: {sorted(set(range(TOKENS)) ^ set(tokens))[:5]}"]
            name = self.random.choice(names)
            count += 1
            new = f"{name.split('.')[0]}.{self.number}x{count}"
            try:
                os.rename(folder / name, folder / new)
            except FileNotFoundError:
                continue
            except OSError:
                time.sleep(0.2)
                continue
            self.acknowledge(f"{name}>{new}")
            time.sleep(self.random.random() * 0.05)
        return []

    def check_rename(self) -> list[str]:
        wrong = []
        names = os.listdir(self.root / "tokens")
        tokens = sorted(int(name.split(".")[0]) for name in names)
        if tokens != list(range(TOKENS)):
            wrong.append(f"there are {len(tokens)} tokens: {tokens}")
        for name in names:
            text = (self.root / "tokens" / name).read_text()
            if text != f"token {name.split('.')[0]}\n":
                wrong.append(f"{name} has {text!r}")
        # A rename that was acknowledged has happened, and nothing has undone it.
        renames = [text.split(">") for texts in self.acknowledged("rename").values() for text in texts]
        gone = {old for old, _ in renames}
        wrong += [f"{name} is back" for name in names if name in gone]
        return wrong

    # A file of each, which stays open while others rename it

    def held(self) -> list[str]:
        folder = self.root / "held"
        count = 0
        while not self.is_over:
            try:
                (path,) = folder.glob(f"{self.number}.*")
                file = os.open(path, os.O_WRONLY | os.O_APPEND)
                try:
                    while not self.is_over:
                        count += 1
                        os.write(file, f"{count}\n".encode())
                        os.fsync(file)
                        self.acknowledge(f"{count}")
                        self.rename_one_of_another(folder, count)
                        time.sleep(self.random.random() * 0.05)
                finally:
                    os.close(file)
            except (OSError, ValueError):
                time.sleep(0.2)
        return []

    def rename_one_of_another(self, folder: Path, count: int) -> None:
        names = [name for name in os.listdir(folder) if not name.startswith(f"{self.number}.")]
        if names and self.random.random() < 0.3:
            name = self.random.choice(names)
            try:
                os.rename(folder / name, folder / f"{name.split('.')[0]}.{self.number}x{count}")
            except FileNotFoundError:
                pass  # Another one was faster.

    def check_held(self) -> list[str]:
        wrong = []
        for machine, counts in self.acknowledged("held").items():
            files = list((self.root / "held").glob(f"{machine}.*"))
            if len(files) != 1:
                wrong.append(f"machine {machine} has {len(files)} files: {files}")
                continue
            lines = set(files[0].read_text().split())
            lost = [count for count in counts if count not in lines]
            if lost:
                wrong.append(f"{len(lost)} of {len(counts)} synced lines of machine {machine} are lost: {lost[:5]}")
        return wrong

    # SQLite, each in a folder of its own

    def sqlite(self) -> list[str]:
        path = self.root / f"own{self.number}" / "database"
        count = 0
        while not self.is_over:
            try:
                if not path.parent.is_dir():
                    raise OSError
                database = sqlite3.connect(path, timeout=20, isolation_level=None)
                database.execute("pragma journal_mode=delete")
                database.execute("pragma synchronous=full")
                database.execute("create table if not exists rows (number integer primary key, text)")
                last = database.execute("select max(number) from rows").fetchone()[0] or 0
                count = max(count, last)
                while not self.is_over:
                    count += 1
                    database.execute("insert into rows values (?, ?)", (count, "y" * (count % 3000)))
                    self.acknowledge(f"{count}")
            except (OSError, sqlite3.Error):
                time.sleep(0.3)
        return []

    def check_sqlite(self) -> list[str]:
        wrong = []
        for machine, counts in self.acknowledged("sqlite").items():
            path = self.root / f"own{machine}" / "database"
            database = sqlite3.connect(path, timeout=20)
            answer = database.execute("pragma integrity_check").fetchone()[0]
            if answer != "ok":
                wrong.append(f"the database of machine {machine}: {answer}")
            rows = {row[0] for row in database.execute("select number from rows")}
            lost = [count for count in map(int, counts) if count not in rows]
            if lost:
                wrong.append(f"{len(lost)} of {len(counts)} commits of machine {machine} are lost: {lost[:5]}")
            database.close()
        return wrong

    # git, each in a folder of its own

    def git(self) -> list[str]:
        own = self.root / f"own{self.number}"
        count = 0
        while not self.is_over:
            count += 1
            clone = own / f"clone{count}"
            try:
                if not own.is_dir():
                    raise OSError
                for command in (["git", "clone", "-q", f"file://{self.repository}", str(clone)],
                                ["git", "-C", str(clone), "fsck", "--full", "--strict"]):
                    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False,
                                          env={**os.environ, "GIT_CONFIG_NOSYSTEM": "1"})
                    if done.returncode != 0:
                        raise OSError(done.stderr)
                os.sync()
                self.acknowledge(f"{count}")
                # The last two stay.
                shutil.rmtree(own / f"clone{count - 2}", ignore_errors=True)
            except (OSError, subprocess.TimeoutExpired):
                time.sleep(0.5)
        return []

    def check_git(self) -> list[str]:
        wrong = []
        for machine, counts in self.acknowledged("git").items():
            if not counts:
                continue
            clone = self.root / f"own{machine}" / f"clone{counts[-1]}"
            for command in (["fsck", "--full", "--strict"], ["status", "--porcelain"]):
                done = subprocess.run(["git", "-c", "safe.directory=*", "-C", str(clone), *command],
                                      capture_output=True, text=True, timeout=300, check=False)
                if done.returncode != 0 or (command[0] == "status" and done.stdout):
                    wrong.append(f"clone {counts[-1]} of machine {machine}: {(done.stderr + done.stdout)[:200]}")
        return wrong


def main() -> None:
    what = sys.argv[1]
    work = Work(what, *sys.argv[2:])
    wrong = getattr(work, what.replace("-", "_"))()
    if what.startswith("check") or what in ("prepare", "rates"):
        print(json.dumps(wrong))
    elif wrong:
        sys.exit(wrong[0])


if __name__ == "__main__":
    main()
