"""A rotation of the class keys: which old and new keys are in memory at each step."""

from __future__ import annotations

import json
import subprocess

from aes import expanded
from keys import LETTERS, fmt
from memory import Wanted
from proof import Proof


def class_keys(proof: Proof, prefix: str) -> dict[str, bytes]:
    """The current class keys, and the key that authenticates the keybag, from the vault itself."""
    vault = proof.opened_vault()
    keys = {f"{prefix}class key {letter}": vault.classes.key(number) for number, letter in enumerate(LETTERS, 1)}
    _, device_key = fmt.parse_device_key(proof.scene.device_key.read_bytes())
    for slot in vault.keybag.passcode_slots:
        key = fmt.passcode_key(proof.scene.passcode, slot, device_key, vault.keybag.volume)
        bundle = fmt.unwrap(key, slot.wrapped)
        if bundle is not None:
            keys[f"{prefix}unlock MAC key"] = bundle[160:192]
    return keys


def wanted(keys: dict[str, bytes]) -> Wanted:
    return Wanted(dict(keys), {f"{name}, expanded": expanded(key) for name, key in keys.items()})


def prove_rotation(proof: Proof) -> None:
    """The mount is locked before and after this."""
    scene = proof.scene
    old = class_keys(proof, "old ")
    scene.unlock()
    # One file keeps its old wrap, because chattr +i forbids writes to it: so the rotation cannot end.
    explained = json.loads(scene.run("explain", "--json", str(scene.path("plain", 0))))
    explained = explained[0] if isinstance(explained, list) else explained
    kept = scene.vault / explained["backingPath"]
    subprocess.run(["chattr", "+i", str(kept)], check=True)
    scene.rotate()
    subprocess.run(["chattr", "-i", str(kept)], check=True)
    both = wanted({**old, **class_keys(proof, "")})
    names = {f"{age}class key {letter}" for age in ("old ", "") for letter in LETTERS}
    proof.look("new keys, not all files have them", both, names | {"unlock MAC key"},
               lambda name: name.startswith("old unlock MAC key"))
    scene.lock_now()
    of_locked = ("old class key C", "old class key D", "class key C", "class key D")
    proof.look("the same, locked", both, set(of_locked), lambda name: not name.startswith(of_locked))
    scene.lock_deeply()
    of_deeply_locked = ("old class key D", "class key D")
    proof.look("the same, locked deeply", both, set(of_deeply_locked),
               lambda name: not name.startswith(of_deeply_locked))

    scene.unlock()
    # The unlock goes on with the rotation, and may have ended it by now.
    scene.wait_for_rotation()
    proof.look("all files have the new keys", both, {f"class key {letter}" for letter in LETTERS},
               lambda name: name.startswith("old ") or name.startswith("unlock MAC key"))
    proof.everything_is_there()
    scene.lock_now()
    proof.look("the same, locked", both, {"class key C", "class key D"},
               lambda name: not name.startswith(("class key C", "class key D")))
