"""Steps that break something: the daemon, a machine, the server, the network, one replica."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path
from typing import Any

from machines import Failed, Outcome
from scene import FAIL, NO_SERVER, NONE, PASS, Result, Scene, counted, judged, number, survived
from store import Store
from vaults import Vault, acknowledged


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
        return Result(FAIL, f"machine 2 mounts it too, after {done.seconds:.0f} s",
                      {"seconds": round(done.seconds, 1)})
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
    # The servers of MooseFS keep a chunk for 120 s that a dead machine was writing.
    found = second.work("verify", second.mount_point / "written", acks, seconds=200)
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
    errors = counted(done["errors"])
    problems = ["" if done["acknowledged"] > before + 10 else f"no write succeeds on the others: {errors}"]
    problems.append(survived(vault.work("verify", vault.mount_point / "written", acks)))
    scene.store.call("heal_part", seconds=150)
    vault.unmount()
    vault.mount()
    problems.append(survived(vault.work("verify", vault.mount_point / "written", acks)))
    vault.unmount()
    problems.append(vault.fsck())
    return judged(problems, f"{errors}; all {done['acknowledged']} acknowledged writes are there before and after "
                  "the healing, fsck is clean", **done)
