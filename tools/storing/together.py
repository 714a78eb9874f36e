"""Several machines work in one vault at the same time, and their daemons are killed. tools/together calls this in
namespaces of its own."""

from __future__ import annotations

import argparse
import json
import random
import shutil
import subprocess
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import Any

sys.dont_write_bytecode = True

from machines import Failed, Machine, make_network
from store import Store
from vaults import Program, Vault

HERE = Path(__file__).resolve().parent
# How long a mount may take: the others may have to wait for a dead one, several terms, and its journal.
PATIENCE = 240


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


class Member:
    """A machine with the vault mounted, and its workloads."""

    def __init__(self, number: int, store: Store, program: Program, options: list[str]) -> None:
        self.machine = Machine(number, store.scratch)
        self.machine.boot()
        store.on(self.machine, "client_shared" if store.has("client_shared") else "client", str(number),
                 self.machine.store)
        self.vault = Vault(program, store, self.machine)
        self.options = options
        self.acks = store.scratch / f"acks{number}"
        self.acks.mkdir()
        self.work: list[tuple[str, subprocess.Popen[bytes], Path]] = []

    def mount(self) -> float:
        begin = time.monotonic()
        self.vault.mount("--shared", *self.options, seconds=PATIENCE)
        return time.monotonic() - begin

    def begin(self, what: str, *rest: str | Path | float) -> None:
        log = self.acks / f"{what}.log"
        words = [sys.executable, "-B", str(HERE / "together_inside.py"), what, str(self.vault.mount_point),
                 str(self.machine.number), str(self.acks), *map(str, rest)]
        self.work.append((what, self.machine.begin(*words, log=log), log))

    def end_work(self, seconds: float) -> list[str]:
        """Ends the workloads. What they say that is wrong."""
        (self.acks / "end").touch()
        wrong = []
        for what, process, log in self.work:
            try:
                status: int | str = process.wait(timeout=seconds)
            except subprocess.TimeoutExpired:
                process.kill()
                status = f"no end after {seconds:g} s"
            if status != 0:
                lines = log.read_text(errors="replace").strip().splitlines()
                wrong.append(f"machine {self.machine.number}, {what}: {lines[-1] if lines else status}")
        self.work = []
        return wrong

    def verify(self, what: str, *rest: str | Path, seconds: float = 300) -> Any:
        words = [sys.executable, "-B", str(HERE / "together_inside.py"), what, str(self.vault.mount_point),
                 str(self.machine.number), str(self.acks), *map(str, rest)]
        done = self.machine.run(*words, seconds=seconds)
        lines = done.output.strip().splitlines()
        if done.status != 0 or not lines:
            raise Failed(f"{what}: {lines[-1] if lines else done.status}")
        return json.loads(lines[-1])


class Together:
    def __init__(self, given: argparse.Namespace, store: Store, program: Program) -> None:
        self.given = given
        self.random = random.Random(given.seed)
        self.store = store
        self.wrong: list[str] = []
        self.mounts: list[float] = []
        options = ["--lease", f"{given.lease:g}"]
        self.members = [Member(number, store, program, options) for number in range(1, given.machines + 1)]
        for member in self.members:
            member.vault.program.lease = None  # it stands in the options

    def run(self) -> bool:
        given, first = self.given, self.members[0]
        first.vault.init("--synchronised", "yes")
        for member in self.members[1:]:
            first.vault.share_keys(member.vault)
        for member in self.members:
            self.mounts.append(member.mount())
        say("mounted on all machines, after " + ", ".join(f"{time:.1f}" for time in self.mounts) + " s")
        first.verify("prepare", given.repository, len(self.members))
        if given.rates:
            return self.measure()
        works = given.works.split(",")
        for member in self.members:
            for what in works:
                member.begin(what, given.repository, len(self.members))
        killed = self.kill_now_and_then()
        for member in self.members:
            self.wrong += member.end_work(PATIENCE)
        self.check_from_all(works, killed)
        return not self.wrong

    def measure(self) -> bool:
        """The same work of all machines at the same time, in turns in the store itself and in the vault."""
        found: dict[str, list[dict[str, float]]] = {"plain": [], "vault": []}
        for number in range(self.given.rates):
            for place, results in found.items():
                for member in self.members:
                    for phase in ("write", "read", "end"):
                        (member.acks / phase).unlink(missing_ok=True)
                mounts = [member.vault.mount_point if place == "vault" else member.machine.store
                          for member in self.members]
                works = [subprocess.Popen(
                    member.machine.inside(sys.executable, "-B", str(HERE / "together_inside.py"), "rates",
                                          f"{mount}", str(member.machine.number), str(member.acks), "",
                                          str(len(self.members))),
                    stdout=subprocess.PIPE, text=True) for member, mount in zip(self.members, mounts)]
                answers = [json.loads(work.communicate(timeout=PATIENCE)[0]) for work in works]
                results.append({name: sum(answer[name] for answer in answers) for name in answers[0]})
            say(f"round {number + 1}")
        for name in found["plain"][0]:
            plain, vault = (sorted(result[name] for result in found[place])[self.given.rates // 2]
                            for place in ("plain", "vault"))
            say(f"{name:12} plain {plain:9.1f}/s  vault {vault:9.1f}/s  ratio {vault / plain:.2f}")
        for member in self.members:
            member.vault.unmount(120)
        return True

    def kill_now_and_then(self) -> int:
        every = self.given.kill_every
        begin = time.monotonic()
        end = begin + self.given.minutes * 60
        killed = 0
        while time.monotonic() < end:
            # By the clock: a mount that takes long makes the kills no rarer.
            next_kill = begin + (int((time.monotonic() - begin) / every) + 1) * every if every else end
            time.sleep(max(0.0, min(next_kill, end) - time.monotonic()))
            if time.monotonic() >= end - 1:
                break
            victim = self.random.choice(self.members)
            before = self.counts()
            victim.vault.kill()
            victim.vault.clear()
            # Outside of the machine's namespace, this is the bare mount point: git makes the folders that it lacks.
            shutil.rmtree(victim.vault.mount_point / "together", ignore_errors=True)
            killed += 1
            try:
                taken = victim.mount()
            except Failed as failed:
                self.wrong.append(f"machine {victim.machine.number} after kill {killed}: {failed}")
                say(self.wrong[-1])
                break
            self.mounts.append(taken)
            say(f"machine {victim.machine.number} was killed, and has mounted again after {taken:.1f} s; "
                + ", ".join(f"{name} {count}" for name, count in sorted(before.items())))
        return killed

    def counts(self) -> dict[str, int]:
        counts: dict[str, int] = {}
        for member in self.members:
            for path in member.acks.glob("*.acks"):
                counts[path.stem] = counts.get(path.stem, 0) + path.read_bytes().count(b"\n")
        return counts

    def check_from_all(self, works: list[str], killed: int) -> None:
        folders = [str(member.acks) for member in self.members]
        for member in self.members:
            for what in works:
                try:
                    found = member.verify(f"check-{what}", self.given.repository, len(self.members), *folders)
                except Failed as failed:
                    found = [str(failed)]
                self.wrong += [f"machine {member.machine.number}, {what}: {text}" for text in found]
        for member in self.members:
            try:
                member.vault.unmount(120)
            except Failed as failed:
                self.wrong.append(f"machine {member.machine.number}: {failed}")
        fault = self.members[0].vault.fsck(600)
        if fault:
            self.wrong.append(fault)
        say(f"{killed} kills, the longest mount took {max(self.mounts):.1f} s; "
            + ", ".join(f"{name} {count}" for name, count in sorted(self.counts().items())))
        for text in self.wrong:
            say(f"WRONG: {text}")

    def end(self) -> None:
        for member in self.members:
            member.machine.leave()
        for member in self.members:
            member.machine.end()


def main() -> None:
    parser = argparse.ArgumentParser(prog="together", description=__doc__)
    parser.add_argument("--by", default="local")
    parser.add_argument("--machines", type=int, default=4)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--kill-every", type=float, default=60, help="seconds; 0 for never")
    parser.add_argument("--lease", type=float, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rates", type=int, default=0, help="measure so many rounds, and kill nothing")
    parser.add_argument("--works", default="append,held,rename,sqlite,git")
    parser.add_argument("--program", type=Path)
    parser.add_argument("--scratch", type=Path)
    parser.add_argument("--repository", type=Path)
    given = parser.parse_args()
    make_network()
    (given.scratch / "passcode").touch(0o600)
    (given.scratch / "passcode").write_text("a passcode of the stores\n")
    program = Program(given.program, given.scratch / "passcode")
    folder = given.scratch / given.by
    folder.mkdir()
    store = Store(given.by, folder)
    store.call("start", seconds=240)
    if store.has("prepare_shared"):
        store.call("prepare_shared")
    say(f"{given.by}, {store.version()}, {given.machines} machines, seed {given.seed}")
    good = False
    together = None
    try:
        together = Together(given, store, program)
        good = together.run()
    except Failed as failed:
        say(f"WRONG: {failed}")
    except Exception:  # pylint: disable=broad-except
        traceback.print_exc()
    finally:
        keep = given.scratch.parent / "kept"
        shutil.rmtree(keep, ignore_errors=True)
        keep.mkdir()
        for path in [*folder.glob("acks*/*.log"), *folder.glob("m*/run*"), *folder.glob("m*/state/*/log/*.log")]:
            shutil.copy(path, keep / str(path.relative_to(folder)).replace("/", "-"))
        if together:
            together.end()
        store.call("stop", seconds=60)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
