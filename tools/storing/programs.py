"""Programs of others in the mount: git, SQLite, fsx and pjdfstest; and how fast it is."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Iterable

from machines import Failed
from scene import FAIL, NONE, PASS, Result, Scene, judged, number
from vaults import Vault, acknowledged

GIT = r"""
set -eu
export GIT_AUTHOR_NAME=stores GIT_AUTHOR_EMAIL=stores@localhost
export GIT_COMMITTER_NAME=stores GIT_COMMITTER_EMAIL=stores@localhost GIT_CONFIG_NOSYSTEM=1
cd "$1"
git clone -q "file://$2" clone
cd clone
git checkout -q -b work
echo changed >>"$(git ls-files | head -n 1)"
git rm -q "$(git ls-files | tail -n 1)"
git commit -q -a -m change
git mv "$(git ls-files | head -n 1)" moved
git commit -q -m moved
git repack -q -a -d
git fsck --full --strict
test -z "$(git status --porcelain)"
git archive HEAD | sha256sum
"""


def git(scene: Scene) -> Result:
    """clone, commit, repack and fsck; the same after a remount"""
    vault = scene.vault(scene.machine(1), "git")
    vault.mount()
    done = vault.machine.run("bash", "-c", GIT, "git", vault.mount_point, scene.tools / "repository", seconds=120)
    if done.status != 0:
        return Result(FAIL, f"git: {'no end after 120 s' if done.status == 124 else done.last}")
    vault.unmount()
    vault.mount()
    again = vault.machine.run(
        "bash", "-c", 'cd "$1/clone" && git fsck --full --strict && test -z "$(git status --porcelain)" && '
        "git archive HEAD | sha256sum", "git", vault.mount_point, seconds=60)
    vault.unmount()
    problems = ["" if again.status == 0 and again.last == done.last else f"after the remount: {again.last}"]
    problems.append(vault.fsck())
    return judged(problems, f"clone, commits, repack and git fsck in {done.seconds:.0f} s",
                  seconds=round(done.seconds, 1))


def sqlite(scene: Scene) -> Result:
    """commits in both modes, kill -9 of the daemon, integrity_check"""
    vault = scene.vault(scene.machine(1), "sqlite")
    problems, good = [], []
    for mode in ("wal", "delete"):
        acks = scene.acks()
        vault.mount()
        work = vault.begin("database", vault.mount_point, mode, acks, 15)
        if not acknowledged(acks, 30, 14):
            answer = work.result(20)
            problems.append(f"{mode}: no commit: {answer['errors'] if answer else 'no end'}")
            vault.kill()
            vault.clear()
            continue
        vault.kill()
        vault.clear()
        vault.mount()
        found = vault.work("database-verify", vault.mount_point, mode, acks)
        if found["integrity"] != "ok" or found["lost"]:
            problems.append(f"{mode}: integrity_check says {found['integrity']}, {found['lost']} of "
                            f"{found['acknowledged']} commits are lost")
        good.append(f"{found['acknowledged']} in mode {mode}")
        vault.unmount()
    problems.append(vault.fsck())
    return judged(problems, f"all commits are there after kill -9: {', '.join(good)}")


def fsx(scene: Scene) -> Result:
    """fsx compares every byte of a file that it changes at random"""
    program = scene.tools / "fsx"
    if not program.exists():
        return Result(NONE, "no checkout of xfstests: --xfstests")
    vault = scene.vault(scene.machine(1), "fsx")
    vault.mount()
    (scene.scratch / "fsx.log").mkdir(exist_ok=True)
    total, begin = 0, time.monotonic()
    for seed, options in ((1, []), (2, ["-R", "-W"])):
        done = vault.machine.run(program, "-S", str(seed), "-N", "1500", "-l", "200000", "-P",
                                 scene.scratch / "fsx.log", *options, vault.mount_point / f"fsx{seed}", seconds=100)
        found = re.search(r"All (?:operations|(\d+) operations) completed A-OK", done.output)
        if not found:
            why = "no end after 100 s" if done.status == 124 else done.last
            vault.machine.abort_mounts()
            return Result(FAIL, f"fsx -S {seed} {' '.join(options)}: {why}")
        total += int(found[1] or 1500)
    seconds = time.monotonic() - begin
    vault.unmount()
    return judged([vault.fsck()], f"{total} operations, no byte differs", seconds=round(seconds, 1))


# One file of each call: all of them take longer than the rest of a run.
TESTS = ("chmod/01", "chown/02", "ftruncate/00", "ftruncate/12", "link/01", "mkdir/00", "mkdir/10", "mkfifo/09",
         "open/00", "open/03", "posix_fallocate/00", "rename/00", "rename/13", "rmdir/06", "rmdir/07", "symlink/00",
         "truncate/00", "unlink/14", "utimensat/01", "utimensat/08")

JUDGE = r"""
mkdir -p "$2/pjd"; chmod 755 "$2/pjd"; cd "$2/pjd"
for name in $3; do
    [ -e "$1/tests/$name.t" ] || continue
    timeout --kill-after=2 60 sh "$1/tests/$name.t" 2>/dev/null | awk -v name="$name" '
        /^1\.\./ { split($1, plan, /\.\./) }
        /^ok / { passed++ }
        /^not ok / { failed++; if (!/# TODO/) print "failed", name, $3 }
        END { print "done", name, passed + failed; if (passed + failed < plan[2]) print "failed", name, "missing" }'
done
"""


def run_tests(vault: Vault, scene: Scene, folder: Path,
              names: Iterable[str] = TESTS) -> tuple[set[str], dict[str, int]]:
    done = vault.machine.run("bash", "-c", JUDGE, "pjdfstest", scene.tools / "pjdfstest", folder, " ".join(names),
                             seconds=240)
    failed, counts = set(), {}
    for line in done.output.splitlines():
        kind, name, *rest = line.split()
        if kind == "failed":
            failed.add(f"{name} {rest[0]}")
        elif kind == "done":
            counts[name] = int(rest[0])
    return failed, counts


def pjdfstest(scene: Scene) -> Result:
    """tests of pjdfstest in the mount, and in the store itself"""
    if not (scene.tools / "pjdfstest" / "pjdfstest").exists():
        return Result(NONE, "no checkout of pjdfstest: --pjdfstest")
    machine = scene.machine(1)
    vault = scene.vault(machine, "pjdfstest")
    machine.run("chmod", "755", scene.scratch, machine.folder)
    vault.mount("-o", "allow_other,dev,suid")
    machine.run("chmod", "755", vault.mount_point)
    in_store, bare = run_tests(vault, scene, machine.store)
    in_mount, counts = run_tests(vault, scene, vault.mount_point)
    both = set(counts) & set(bare)
    found = {test for test in in_mount - in_store if test.split()[0] in both}
    if found:
        # Tests that compare times fail by chance where the clock of the server, or its grain, is another.
        names = sorted({test.split()[0] for test in found})
        found &= run_tests(vault, scene, vault.mount_point, names)[0]
        found -= run_tests(vault, scene, machine.store, names)[0]
    worse = sorted(found)
    vault.unmount()
    total = sum(counts[name] for name in both)
    what = (f"{number(len([test for test in in_mount if test.split()[0] in both]), 'failure')} of {total} in the "
            f"mount, {len([test for test in in_store if test.split()[0] in both])} in the store itself")
    if len(both) < len([name for name in TESTS if (scene.tools / "pjdfstest" / "tests" / f"{name}.t").exists()]):
        what += f"; {len(both)} of {len(TESTS)} files in the time"
    if worse:
        what += f"; only in the mount: {', '.join(worse[:6])}" + (" …" if len(worse) > 6 else "")
    return Result(FAIL if worse or not total else PASS, what,
                  {"tests": total, "mount": sorted(in_mount), "store": sorted(in_store)})


def speed(scene: Scene) -> Result:
    """small files, streams and syncs, beside ext4 in the same run"""
    machine = scene.machine(1)
    vault = scene.vault(machine, "speed")
    # ext4 of this machine, with a vault and without one.
    disk, local = scene.scratch / "speed-disk", machine.folder / "local"
    made = machine.run("bash", "-c", 'truncate -s 600M "$1"; mkfs.ext4 -q -F "$1"; mkdir -p "$2" "$2.mount"; '
                       'mount -o loop "$1" "$2"', "disk", disk, local, seconds=30)
    if made.status != 0:
        raise Failed(f"a disk to compare with: {made.last}")
    places = {"local": (vault, local / "bare"), "store": (vault, machine.store / "bare")}
    try:
        if not scene.program.is_debug:
            beside = Vault(scene.program, scene.store, machine, "../local/vault", machine.folder / "beside")
            beside.init()
            for one in (vault, beside):
                machine.run("mkdir", "-p", one.mount_point)
                one.mount()
            places |= {"localVault": (beside, beside.mount_point / "speed"),
                       "vault": (vault, vault.mount_point / "speed")}
        rates = best_rates(places)
        if not scene.program.is_debug:
            vault.unmount()
            beside.unmount()
    finally:
        machine.run("umount", "-l", local, seconds=20)
        disk.unlink(missing_ok=True)
    what = "the store itself beside ext4: " + ratios(rates["store"], rates["local"])
    if "vault" in rates:
        what = "a vault beside one on ext4: " + ratios(rates["vault"], rates["localVault"]) + "; " + what
    return Result(PASS, what, rates)


def best_rates(places: dict[str, tuple[Vault, Path]]) -> dict[str, dict[str, float]]:
    """The best of three rounds, in turn: other work on the machine makes a round slower, and none quicker."""
    rates: dict[str, dict[str, float]] = {}
    for turn in range(3):
        for place, (vault, folder) in places.items():
            found = vault.work("speed", folder.with_name(f"{folder.name}{turn}"), seconds=90)
            best = rates.setdefault(place, found)
            rates[place] = {name: max(value, best[name]) for name, value in found.items()}
    return rates


def ratios(one: dict[str, float], other: dict[str, float]) -> str:
    return ", ".join(f"{name} {one[name] / other[name]:.2f}" for name in other if other[name])
