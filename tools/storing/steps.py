"""What is done on each store. Each step has a new vault and machines that have just been booted."""

from __future__ import annotations

import time
from typing import Any, Callable

import breaking
import programs
from machines import Failed
from scene import FAIL, Result, Scene, judged, number, survived
from vaults import Vault


def main_job(scene: Scene) -> Result:
    """init, mount, every usual call, lock, unlock, unmount, remount, fsck"""
    vault = scene.vault(scene.machine(1), "main")
    mounted = vault.mount("--grace", "0", "--class-default", "complete")
    warned = [line for line in mounted.output.splitlines() if "warning" in line.lower()]
    calls = vault.work("main", vault.mount_point, seconds=120)
    problems = [f"{call}: {answer}" for call, answer in calls.items() if answer != "ok"]
    doctor, kind = vault.doctor(), vault.machine.kind()
    if doctor and kind not in doctor:
        problems.append(f"doctor does not name {kind}")
    try:
        problems += lock_and_remount(scene, vault)
    except Failed as failed:
        problems.append(str(failed))
    return judged(problems, f"all {len(calls)} calls, the same after lock, remount and fsck",
                  warnings=warned, doctor=[line.strip() for line in doctor.partition("What follows:")[2].splitlines()
                                         if line.strip()], mountSeconds=round(mounted.seconds, 2),
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


def lock_load(scene: Scene) -> Result:
    """lock and unlock while programs read, write and sync"""
    vault = scene.vault(scene.machine(1), "load", "--default-class", "complete")
    vault.mount("--grace", "1")
    # A file that no program has open while the vault is locked.
    vault.work("synced", vault.mount_point / "kept", scene.acks(), 0.5)
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
        read = vault.work("read", vault.mount_point / "kept" / "appended")["read"]
        if read != "ENOKEY":
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


def named() -> dict[str, Step]:
    """All steps in their order."""
    return {
        "main": main_job, "handover": handover, "second": breaking.second_machine, "killed": breaking.killed,
        "ended": breaking.machine_end, "fsync": breaking.fsync_meant, "gone": breaking.server_gone,
        "gone-lock": breaking.server_gone_lock, "replica": breaking.replica, "lock": lock_load, "git": programs.git,
        "sqlite": programs.sqlite, "fsx": programs.fsx, "pjdfstest": programs.pjdfstest, "speed": programs.speed,
    }
