"""What is done on each store. Each step has a new vault and two machines that have just been booted."""

from __future__ import annotations

import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Optional

from machines import Failed, Machine, Outcome
from store import Store
from vaults import Program, Vault, acknowledged

PASS, FAIL, NONE = "pass", "fail", "none"
NO_SERVER = "the store has no server"


@dataclass
class Result:
    result: str
    what: str
    figures: dict[str, Any] = field(default_factory=dict)


class Scene:
    """The machines of one step."""

    def __init__(self, program: Program, store: Store, tools: Path) -> None:
        self.program = program
        self.store = store
        self.tools = tools
        self.scratch = store.scratch
        self.machines: list[Machine] = []
        self.count = 0
        self.notes: list[str] = []

    def machine(self, number: int) -> Machine:
        machine = Machine(number, self.scratch)
        self.machines.append(machine)
        machine.boot()
        self.store.attach(machine)
        return machine

    def vault(self, machine: Machine, name: str, *options: str) -> Vault:
        vault = Vault(self.program, self.store, machine, name)
        vault.init(*options)
        return vault

    def seen_from(self, vault: Vault, machine: Machine) -> Vault:
        other = Vault(self.program, self.store, machine, vault.name)
        vault.share_keys(other)
        self.store.settle()
        return other

    def acks(self) -> Path:
        self.count += 1
        return self.scratch / f"acks-{time.monotonic_ns()}"

    def end(self) -> None:
        for machine in self.machines:
            machine.end()
        self.machines = []


def number(count: int, what: str) -> str:
    return f"{count} {what}" + ("" if count == 1 else "s")


def counted(errors: dict[str, int]) -> str:
    return ", ".join(f"{error} {count} times" for error, count in errors.items()) or "no call fails"


def survived(found: dict[str, Any]) -> str:
    """What of the acknowledged writes is lost, or nothing."""
    return "" if not found["lost"] else \
        f"{found['lost']} of {found['acknowledged']} acknowledged writes are lost: {', '.join(found['first'])}"


def judged(problems: list[str], good: str, **figures: Any) -> Result:
    wrong = [problem for problem in problems if problem]
    return Result(FAIL if wrong else PASS, "; ".join(wrong) if wrong else good, figures)


def main_job(scene: Scene) -> Result:
    """init, mount, every usual call, lock, unlock, unmount, remount, fsck"""
    vault = scene.vault(scene.machine(1), "main")
    mounted = vault.mount("--grace", "0", "--class-default", "complete")
    warned = [line for line in mounted.output.splitlines() if "warning" in line.lower()]
    calls = vault.work("main", vault.mount_point, seconds=120)
    problems = [f"{call}: {answer}" for call, answer in calls.items() if answer != "ok"]
    try:
        problems += lock_and_remount(scene, vault)
    except Failed as failed:
        problems.append(str(failed))
    return judged(problems, f"all {len(calls)} calls, the same after lock, remount and fsck",
                  warnings=warned + vault.warnings, mountSeconds=round(mounted.seconds, 2),
                  calls={call: answer for call, answer in calls.items() if answer != "ok"})


def lock_and_remount(scene: Scene, vault: Vault) -> list[str]:
    before = vault.work("listing", vault.mount_point)
    problems = [f"{line[0]}, just written: {line[-1]}" for line in before
                if isinstance(line[-1], str) and line[-1].startswith("E")]
    locked = vault.latchkey("lock", "--wait", vault.mount_point)
    if locked.status != 0:
        problems.append(f"lock: {locked.last}")
    read = vault.work("read", vault.mount_point / "large")["read"]
    if read != "ENOKEY":
        problems.append(f"a locked file: {read}")
    unlocked = vault.latchkey("unlock", "--passcode-file", scene.program.passcode, vault.mount_point)
    if unlocked.status != 0:
        raise Failed(f"unlock: {unlocked.last}")
    problems += differences(before, vault.work("listing", vault.mount_point), "after the unlock")
    vault.unmount()
    vault.mount()
    problems += differences(before, vault.work("listing", vault.mount_point), "after the remount")
    vault.unmount()
    return [*problems, vault.fsck()]


def differences(before: list[Any], after: list[Any], when: str) -> list[str]:
    old, new = ({line[0]: line[1:] for line in lines} for lines in (before, after))
    different = sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))
    if not different:
        return []
    first = different[0]
    return [f"{when} {number(len(different), 'file')} differ, first {first}: {change(old.get(first), new.get(first))}"]


def change(old: Any, new: Any) -> str:
    """What differs: the kinds of values have their places in a line of inside.py's listing."""
    if old is None or new is None:
        return "it is new" if old is None else "it is missing"
    names = ("mode", "time", "length", "links", "contents")
    for place, (before, after) in enumerate(zip(old, new)):
        if before != after:
            return f"{names[place] if place < len(names) else 'attributes'} {before} before, {after} now"
    return "attributes"


def handover(scene: Scene) -> Result:
    """machine 1 writes and unmounts, machine 2 mounts, reads and writes, and back"""
    first = scene.vault(scene.machine(1), "handover")
    acks = scene.acks()
    first.mount()
    first.work("synced", first.mount_point / "written", acks, 1.5)
    first.unmount()
    begin = time.monotonic()
    scene.store.settle()
    settled = time.monotonic() - begin
    second = scene.seen_from(first, scene.machine(2))
    second.mount()
    problems = [survived(second.work("verify", second.mount_point / "written", acks))]
    more = scene.acks()
    second.work("synced", second.mount_point / "more", more, 1.5)
    second.unmount()
    scene.store.settle()
    first.mount()
    problems.append(survived(first.work("verify", first.mount_point / "more", more)))
    problems.append(survived(first.work("verify", first.mount_point / "written", acks)))
    first.unmount()
    problems.append(first.fsck())
    return judged(problems, "each machine reads what the other has written",
                  **({"settleSeconds": round(settled, 1)} if scene.store.has("settle") else {}))


def second_machine(scene: Scene) -> Result:
    """machine 2 mounts the vault that machine 1 has mounted"""
    first = scene.vault(scene.machine(1), "second")
    first.mount()
    second = scene.seen_from(first, scene.machine(2))
    if scene.store.has("settle"):
        first.work("synced", first.mount_point / "written", scene.acks(), 0.5)
        scene.store.settle()
    done = second.try_mount(seconds=150)
    if done.status == 0:
        return Result(FAIL, f"machine 2 mounts it too, after {done.seconds:.0f} s", {"seconds": round(done.seconds, 1)})
    if done.status == 124:
        return Result(FAIL, f"machine 2 still waits after {done.seconds:.0f} s")
    return Result(PASS, f"refused after {done.seconds:.0f} s: {done.last}", {"seconds": round(done.seconds, 1)})


def killed(scene: Scene) -> Result:
    """kill -9 of the daemon while a program writes and syncs, then mount again"""
    vault = scene.vault(scene.machine(1), "killed")
    problems, total = [], 0
    for turn in range(3):
        vault.mount()
        acks = scene.acks()
        folder = vault.mount_point / f"turn{turn}"
        work = vault.begin("synced", folder, acks, 20)
        if not acknowledged(acks, 40, 20):
            raise Failed("no write was acknowledged")
        vault.kill()
        work.end(acks)
        vault.clear()
        vault.mount()
        found = vault.work("verify", folder, acks)
        total += found["acknowledged"]
        problems.append(survived(found))
        vault.unmount()
    problems.append(vault.fsck())
    return judged(problems, f"3 times; all {total} acknowledged writes are there, fsck is clean", acknowledged=total)


def take_over(scene: Scene, first: Vault, second: Vault) -> Outcome:
    """Mounts on the second machine when the first is gone; tries again for a while if it is refused."""
    begin = time.monotonic()
    while True:
        done = second.try_mount(seconds=150)
        if done.status in (0, 124) or time.monotonic() - begin > 150:
            done.seconds = time.monotonic() - begin
            return done
        time.sleep(1)


def machine_end(scene: Scene) -> Result:
    """machine 1 loses its power and its network while it writes and syncs; machine 2 takes the vault over"""
    first = scene.vault(scene.machine(1), "ended")
    second = scene.seen_from(first, scene.machine(2))
    acks = scene.acks()
    first.mount()
    first.begin("synced", first.mount_point / "written", acks, 30)
    if not acknowledged(acks, 40, 20):
        raise Failed("no write was acknowledged")
    first.machine.end()
    scene.store.settle()
    taken = take_over(scene, first, second)
    if taken.status != 0:
        return Result(FAIL, f"machine 2 is refused for {taken.seconds:.0f} s: {taken.last}")
    found = second.work("verify", second.mount_point / "written", acks)
    second.unmount()
    lease = f" (lease of {scene.program.lease} s)" if scene.program.lease else ""
    return judged([survived(found), second.fsck()],
                  f"machine 2 has it after {taken.seconds:.0f} s{lease}; all {found['acknowledged']} acknowledged "
                  "writes are there, fsck is clean", seconds=round(taken.seconds, 1))


class Traced:
    """Counts how often the processes of a server call fsync(2) or fdatasync(2)."""

    def __init__(self, store: Store) -> None:
        self.processes = store.server_processes()
        self.log = store.scratch / "strace"
        self.count = 0
        self.said = "it was not traced whether its processes sync them to its disk"

    def __enter__(self) -> "Traced":
        self.tracer = None
        if self.processes:
            words = ["strace", "-f", "-q", "-e", "trace=fsync,fdatasync,sync_file_range,syncfs", "-o", str(self.log)]
            words += [word for process in self.processes for word in ("-p", str(process))]
            self.tracer = subprocess.Popen(words, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            limit = time.monotonic() + 10
            while not self.attached() and self.tracer.poll() is None and time.monotonic() < limit:
                time.sleep(0.05)
        return self

    def attached(self) -> bool:
        return all(f"TracerPid:\t{self.tracer.pid}" in Path(f"/proc/{process}/status").read_text()
                   for process in self.processes if self.tracer and Path(f"/proc/{process}").exists())

    def __exit__(self, *_: object) -> None:
        if self.tracer is None:
            return
        self.tracer.terminate()
        self.tracer.wait(timeout=20)
        self.count = len([line for line in self.log.read_text(errors="replace").splitlines()
                          if "sync" in line and "resumed" not in line])
        self.said = f"meanwhile its processes synced {number(self.count, 'time')}" if self.count else \
            "but its processes synced nothing to its disk"


def fsync_meant(scene: Scene) -> Result:
    """after fsync, kill -9 of the server's processes and of machine 1: what is on the server"""
    if not scene.store.has("crash"):
        return Result(NONE, NO_SERVER)
    first = scene.vault(scene.machine(1), "meant")
    acks = scene.acks()
    first.mount()
    with Traced(scene.store) as traced:
        first.begin("synced", first.mount_point / "written", acks, 30)
        if not acknowledged(acks, 40, 20):
            raise Failed("no write was acknowledged")
    scene.store.call("crash")
    first.machine.end()
    scene.store.call("heal", seconds=240)
    second = scene.seen_from(first, scene.machine(2))
    taken = take_over(scene, first, second)
    if taken.status != 0:
        return Result(FAIL, f"machine 2 is refused for {taken.seconds:.0f} s: {taken.last}")
    found = second.work("verify", second.mount_point / "written", acks)
    second.unmount()
    return judged([survived(found), second.fsck()], f"all {found['acknowledged']} synced writes are on the server; "
                  + traced.said, **({"serverSyncs": traced.count} if traced.processes else {}))


def server_gone(scene: Scene) -> Result:
    """the network of machine 1 is cut for 30 s while a program writes and syncs"""
    if not scene.store.has("crash"):
        return Result(NONE, NO_SERVER)
    vault = scene.vault(scene.machine(1), "gone")
    acks = scene.acks()
    vault.mount()
    work = vault.begin("synced", vault.mount_point / "written", acks, 150)
    before = acknowledged(acks, 20, 15)
    vault.machine.cut()
    time.sleep(30)
    meanwhile = acknowledged(acks, 0, 0)
    vault.machine.join()
    begin = time.monotonic()
    after = acknowledged(acks, meanwhile + 20, 60)
    back = time.monotonic() - begin
    done = work.end(acks)
    if done is None:
        return Result(FAIL, "the program that writes still waits 120 s after the server is back")
    if after < meanwhile + 20:
        return Result(FAIL, f"no write succeeds within 60 s after the server is back: {counted(done['errors'])}", done)
    problems = [survived(vault.work("verify", vault.mount_point / "written", acks))]
    vault.unmount()
    vault.mount()
    problems.append(survived(vault.work("verify", vault.mount_point / "written", acks)))
    vault.unmount()
    problems.append(vault.fsck())
    return judged(problems, f"calls wait for up to {done['longest']:.0f} s, {counted(done['errors'])}; written again "
                  f"{back:.0f} s after the server is back; all {done['acknowledged']} acknowledged writes are there, "
                  "fsck is clean", before=before, **done)


def server_gone_lock(scene: Scene) -> Result:
    """the vault is locked while the server is gone: are the keys gone in time?"""
    if not scene.store.has("crash"):
        return Result(NONE, NO_SERVER)
    vault = scene.vault(scene.machine(1), "gonelock", "--default-class", "complete")
    acks = scene.acks()
    vault.mount("--grace", "1")
    work = vault.begin("synced", vault.mount_point / "written", acks, 40)
    acknowledged(acks, 20, 15)
    vault.machine.cut()
    time.sleep(2)
    begin = time.monotonic()
    locked = vault.latchkey("lock", "--wait", vault.mount_point, seconds=25)
    took = time.monotonic() - begin
    state: dict[str, Any] = {}
    if locked.status == 0:
        state = vault.status()
    vault.machine.join()
    work.end(acks, 30)
    if locked.status == 124:
        return Result(FAIL, f"still locking {took:.0f} s after the lock", {"seconds": round(took, 1)})
    if locked.status != 0 or state.get("state") != "locked" or "complete" in state.get("classKeys", []):
        return Result(FAIL, f"lock: {locked.last}; state {state.get('state')}")
    unlocked = vault.latchkey("unlock", "--passcode-file", scene.program.passcode, vault.mount_point, seconds=120)
    problems = ["" if took <= 1 + 5 + 0.5 else f"the keys went {took - 1:.1f} s after the deadline"]
    if unlocked.status != 0:
        problems.append(f"unlock after the server is back: {unlocked.last}")
    else:
        problems.append(survived(vault.work("verify", vault.mount_point / "written", acks)))
        vault.unmount(seconds=90)
        problems.append(vault.fsck())
    return judged(problems, f"the keys are gone {max(took - 1, 0):.1f} s after the deadline; nothing acknowledged is "
                  "lost", seconds=round(took, 1))


def replica(scene: Scene) -> Result:
    """one replica is killed while a program writes and syncs, then healed"""
    if not scene.store.has("break_part"):
        return Result(NONE, "the store has one server")
    vault = scene.vault(scene.machine(1), "replica")
    acks = scene.acks()
    vault.mount()
    work = vault.begin("synced", vault.mount_point / "written", acks, 12)
    before = acknowledged(acks, 30, 15)
    scene.store.call("break_part")
    done = work.result(90)
    if done is None:
        scene.store.call("heal_part", seconds=150)
        return Result(FAIL, "the program that writes has not ended 78 s after its time")
    problems = ["" if done["acknowledged"] > before + 10 else f"no write succeeds on the others: {counted(done['errors'])}"]
    problems.append(survived(vault.work("verify", vault.mount_point / "written", acks)))
    scene.store.call("heal_part", seconds=150)
    vault.unmount()
    vault.mount()
    problems.append(survived(vault.work("verify", vault.mount_point / "written", acks)))
    vault.unmount()
    problems.append(vault.fsck())
    return judged(problems, f"{counted(done['errors'])}; all {done['acknowledged']} acknowledged writes are there before and after the "
                  "healing, fsck is clean", **done)


def lock_load(scene: Scene) -> Result:
    """lock and unlock while programs read, write and sync"""
    vault = scene.vault(scene.machine(1), "load", "--default-class", "complete")
    vault.mount("--grace", "1")
    acks = scene.acks()
    works = [vault.begin("load", vault.mount_point, acks, 120) for _ in range(2)]
    problems, longest = [], 0.0
    for _ in range(3):
        time.sleep(2)
        locked = vault.latchkey("lock", "--wait", vault.mount_point, seconds=30)
        if locked.status != 0:
            return Result(FAIL, f"lock: {'no end after 30 s' if locked.status == 124 else locked.last}")
        state = vault.status()
        longest = max(longest, state.get("lastLockDuration", 0.0))
        if state["state"] != "locked" or "complete" in state["classKeys"]:
            problems.append(f"after the lock: {state['state']}, {state['classKeys']}")
        read = vault.work("read", vault.mount_point / "load")["read"]
        if read not in ("ENOKEY", "ENOENT"):
            problems.append(f"a locked file: {read}")
        unlocked = vault.latchkey("unlock", "--passcode-file", scene.program.passcode, vault.mount_point)
        if unlocked.status != 0:
            raise Failed(f"unlock: {unlocked.last}")
    answers = [work.end(acks) for work in works]
    if None in answers:
        return Result(FAIL, "a program that writes has not ended")
    others = {error for found in answers if found for error in found["errors"]} - {"ENOKEY"}
    if others:
        problems.append(f"errors other than ENOKEY: {', '.join(sorted(others))}")
    if longest > 5:
        problems.append(f"the keys went {longest:.1f} s after the deadline")
    vault.unmount()
    problems.append(vault.fsck())
    return judged(problems, f"3 times; the keys were gone {longest:.1f} s after the deadline at most",
                  seconds=round(longest, 2))


Step = Callable[[Scene], Result]


def named(name: Optional[str] = None) -> dict[str, Step]:
    """All steps in their order."""
    import programs
    steps: dict[str, Step] = {
        "main": main_job, "handover": handover, "second": second_machine, "killed": killed, "ended": machine_end,
        "fsync": fsync_meant, "gone": server_gone, "gone-lock": server_gone_lock, "replica": replica,
        "lock": lock_load, "git": programs.git, "sqlite": programs.sqlite, "fsx": programs.fsx,
        "pjdfstest": programs.pjdfstest, "speed": programs.speed,
    }
    return steps
