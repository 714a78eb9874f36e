"""Prove that a lock removes keys and plaintext from memory, as docs/EVICTION.md says."""

from __future__ import annotations

import argparse
import secrets
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(1, str(Path(__file__).resolve().parent.parent / "lib" / "search"))

from keys import secrets_of_slots
from memory import Wanted
from proof import Proof, timed
from rotation import prove_rotation
from scene import Scene


def prove(proof: Proof, cycles: int) -> None:
    scene = proof.scene
    proof.search_finds_expanded_keys()
    scene.start()
    scene.unlock()
    scene.fill()
    scene.run("lock", str(scene.point), "--now", "--wait")
    scene.run("unmount", str(scene.point))
    # The name bindings of all files are now current on disk, so that their keys can be computed.
    wanted = proof.wanted()
    scene.mount()
    proof.look("before the first unlock", wanted, {"class key D", "subkey for names"},
               lambda name: proof.is_gone_deeply(name) or name.startswith("file key"))
    scene.unlock()
    scene.read_all()
    scene.use()
    proof.look("unlocked, in use", wanted, proof.REQUIRED_UNLOCKED, lambda name: name.startswith(("passcode", "text")))

    begin = time.monotonic()
    scene.run("lock", str(scene.point))
    time.sleep(max(0, begin + scene.grace + 1 - time.monotonic()))
    proof.look_while_locked(f"{scene.grace + 1} s after a lock", wanted)
    proof.look_through_handles()
    proof.look_into_a_core(wanted)

    wrong = b"wrong " + secrets.token_hex(16).encode()
    scene.run("unlock", str(scene.point), secret=wrong, status=3)
    with_wrong = Wanted({**wanted.whole, "the wrong passcode": wrong}, wanted.aligned)
    proof.look_while_locked("locked, after a wrong passcode", with_wrong)

    scene.unlock()
    proof.closed_files_have_no_pages()
    proof.everything_is_there()
    took = timed(scene.lock_now)
    proof.look_while_locked(f"after lock --now --wait, which took {took:.2f} s", wanted)

    scene.unlock()
    took = timed(scene.lock_deeply)
    proof.look_after_deep_lock(f"after lock --deep --now --wait, which took {took:.2f} s", wanted)
    scene.unlock()
    proof.everything_is_there()
    scene.lock_now()
    scene.lock_deeply()
    proof.look_after_deep_lock("locked, then locked deeply", wanted)

    scene.unlock()
    old, scene.passcode = scene.passcode, b"another " + secrets.token_hex(16).encode()
    scene.run("passwd", str(scene.point), secret=old, new_passcode_file=scene.passcode)
    scene.lock_now()
    changed = proof.wanted()
    for new, before in [(changed.whole, wanted.whole), (changed.aligned, wanted.aligned)]:
        new |= {f"{name}, before the change": raw for name, raw in before.items() if "passcode" in name}
    proof.look_while_locked("locked, after a change of the passcode", changed)

    scene.unlock()
    ways = scene.add_slots()
    slots = secrets_of_slots(scene.vault, scene.device_key, scene.passcode, ways).wanted()
    with_slots = Wanted({**changed.whole, **slots.whole}, {**changed.aligned, **slots.aligned})
    scene.lock_now()
    proof.look_while_locked("locked, after five slots were added and used", with_slots)
    scene.remove_slots(ways)
    proof.look_while_locked("locked, after they were removed", with_slots)

    for _ in range(cycles):
        scene.unlock()
        scene.lock_now()
    proof.look_while_locked(f"locked, after {cycles} unlocks and locks", changed)
    prove_rotation(proof)
    scene.unlock()
    proof.everything_is_there()
    scene.end()


def prove_shared(proof: Proof, cycles: int) -> None:
    """The same of one machine, while another one that has the vault mounted too writes."""
    scene = proof.scene
    scene.start()
    scene.unlock()
    scene.fill()
    scene.run("lock", str(scene.point), "--now", "--wait")
    scene.run("unmount", str(scene.point))
    wanted = proof.wanted()
    scene.mount()
    scene.unlock()
    scene.begin_other_machine()
    scene.read_all()
    scene.use()
    proof.look("unlocked, in use, another machine writes", wanted, {"class key A", "class key D"},
               lambda name: name.startswith(("passcode", "text")))
    for cycle in range(max(1, cycles // 4)):
        took = timed(scene.lock_now)
        scene.other_has_written()
        proof.look_while_locked(f"after lock {cycle + 1}, which took {took:.2f} s; the other machine writes", wanted)
        scene.unlock()
        proof.everything_is_there()
    took = timed(scene.lock_deeply)
    scene.other_has_written()
    proof.look_after_deep_lock(f"after lock --deep, which took {took:.2f} s; the other machine writes", wanted)
    scene.unlock()
    proof.everything_is_there()
    scene.end_other_machine()
    scene.end()


def main() -> None:
    parser = argparse.ArgumentParser(prog="prove-eviction", description=__doc__)
    parser.add_argument("--latchkey", default="latchkey", help="the program (default: latchkey in PATH)")
    parser.add_argument("--folder", type=Path, required=True, help="an empty folder for the vault and its mount")
    parser.add_argument("--files", type=int, default=1000,
                        help="number of open files of class A, and of closed files of class B (default: 1000)")
    parser.add_argument("--grace", type=int, default=10, help="grace of the mount in seconds (default: 10)")
    parser.add_argument("--cycles", type=int, default=20,
                        help="number of unlocks and locks before the last search (default: 20)")
    parser.add_argument("--shared", action="store_true", help="another machine has the vault mounted, and writes")
    given = parser.parse_args()
    proof = Proof(Scene(given.latchkey, given.folder, given.files, given.grace, given.shared))
    try:
        (prove_shared if given.shared else prove)(proof, given.cycles)
    finally:
        proof.scene.end_workers()
    if proof.failures:
        sys.exit(f"prove-eviction: {proof.failures} failed")


main()
