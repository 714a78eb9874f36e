"""Prove that a vault that is open when the machine is put to sleep is locked, in its whole memory, while it sleeps."""

from __future__ import annotations

import argparse
import secrets
import sys
import time
from pathlib import Path
from typing import Any

sys.dont_write_bytecode = True
sys.path.insert(1, str(Path(__file__).resolve().parent.parent / "lib" / "search"))

from images import Owner, copy_out, look
from machine import Failed, Machine
from memory import Wanted

VAULTS = ("kept", "mine")
KINDS = ("strict", "plain")
# As guest/secret.py and guest/program.py read it.
FIRST, STEP = 5 << 20, 1 << 20
# QEMU's devices, with their vendor and product IDs. The configuration in the machine names the first.
DEVICES = {"named": ("usb-tablet", "0627:0001"), "other": ("usb-ccid", "08e6:4433")}
# A step of the scenario is bounded there; this is longer than any, on a machine where much else runs.
PATIENCE = 600


class Proof:
    def __init__(self, given: argparse.Namespace) -> None:
        self.given = given
        self.folder: Path = given.folder
        self.passcode = (self.folder / "passcode").read_bytes().strip()
        self.markers = {(name, kind): secrets.token_bytes(20) for kind in KINDS for name in VAULTS}
        self.failures = 0
        self.write_secrets()

    def write_secrets(self) -> None:
        self.secrets = self.folder / "secrets"
        with self.secrets.open("wb") as disk:
            disk.truncate(16 << 20)
            for number, raw in enumerate([self.passcode + b"\n", *self.markers.values()]):
                disk.seek(FIRST + number * STEP)
                disk.write(raw)

    def tell(self, what: str, result: str, wrong: list[str]) -> None:
        print(f"{what:34} {result:60} {'ok' if not wrong else 'FAILED'}", flush=True)
        for line in wrong:
            print(f"    {line}", flush=True)
        self.failures += len(wrong)

    def boot(self, name: str, options: str, **asked: Any) -> tuple[Machine, list[dict[str, Any]]]:
        """Boots, and answers the scenario in the machine until that is complete and the machine off."""
        begin = time.monotonic()
        devices = {key: driver for key, (driver, _) in DEVICES.items()} if asked["scenario"] == "devices" else {}
        machine = Machine(self.folder / name, self.given.kernel, self.given.initrd, self.secrets, options, devices)
        events: list[dict[str, Any]] = []
        sleeping = ""
        try:
            machine.start(self.given.disk)
            while True:
                source, event = machine.next(PATIENCE)
                if source == "qmp" and event.get("event") == "SUSPEND":
                    if sleeping:
                        machine.write_image(sleeping)
                    machine.command("system_wakeup")
                elif source == "qmp" and event.get("event") in ("SHUTDOWN", "END"):
                    break
                elif source == "said":
                    events.append(event)
                    sleeping = self.hear(machine, event, asked, sleeping, begin)
            machine.process.wait(timeout=60)
        finally:
            machine.end()
        if not events or events[-1]["event"] != "complete":
            raise Failed(f"the machine went off before its scenario was complete; its console ends with:\n"
                         f"{machine.console()}")
        return machine, events

    def hear(self, machine: Machine, event: dict[str, Any], asked: dict[str, Any], sleeping: str, begin: float) -> str:
        """Does what the scenario wants. Returns the name of the image that the next sleep is for."""
        if event["event"] == "ready":
            print(f"    {time.monotonic() - begin:.0f} s: booted", flush=True)
            machine.answer(**asked)
        elif event["event"] == "says":
            print(f"    {time.monotonic() - begin:.0f} s: {event['text']}", flush=True)
        elif event["event"] == "image":
            machine.command("stop")
            machine.write_image(event["name"])
            machine.command("cont")
            machine.answer(done=True)
        elif event["event"] in ("pull", "plug"):
            (machine.pull if event["event"] == "pull" else machine.plug)(event["name"])
            machine.answer(done=True)
        elif event["event"] == "sleeping":
            sleeping = event["name"]
        elif event["event"] == "failed":
            raise Failed(f"in the machine: {event['text']}\n{event['log']}")
        return sleeping

    # Memory

    def wanted(self, machine: Machine) -> Wanted:
        wanted = Wanted()
        for name in VAULTS:
            vault = copy_out(machine.disk, f"/home/ann/.local/share/latchkey/vaults/{name}", machine.folder / name)
            owner = Owner(name, vault, self.given.keys / f"{name}.device", self.given.keys / f"{name}.recovery",
                          self.passcode, {kind: self.markers[name, kind] for kind in KINDS})
            found = owner.wanted()
            wanted.whole |= found.whole
            wanted.aligned |= found.aligned
        return wanted

    def prove(self, name: str, options: str, clears_freed_memory: bool) -> None:
        machine, events = self.boot(name, options, scenario="sleeps", count=self.given.sleeps)
        (slept,) = [event for event in events if event["event"] == "slept"]
        print(f"    {slept['count']} sleeps; the kernel's freezer failed {slept['frozen']} times besides", flush=True)
        wanted = self.wanted(machine)
        always = {f"{vault}: {what}" for vault in VAULTS
                  for what in ("class key C", "class key D", "subkey for names", "contents of plain files")}
        open_too = {f"{vault}: {what}" for vault in VAULTS
                    for what in ("class key A", "class key B", "file key strict records", "file key strict mapped",
                                 "contents of strict files")}
        self.look(machine, "unlocked", wanted, always | open_too, None)
        for number in range(1, self.given.sleeps + 1):
            self.look(machine, f"asleep-{number}", wanted, always, clears_freed_memory)
        machine.remove()

    def look(self, machine: Machine, image: str, wanted: Wanted, required: set[str], clears: bool | None) -> None:
        """`clears`: whether the kernel clears what it frees; None for an image in which everything may be."""
        path = machine.folder / f"image-{image}"
        finding = look(path, wanted)
        wrong = [f"not found, but required: {name}" for name in sorted(required - finding.found)]
        allowed = ""
        if clears is not None:
            for name in sorted(finding.wrong):
                pages = f", in {finding.pages[name]} pages" if name in finding.pages else ""
                if not clears and self.may_be_in_freed_memory(name):
                    allowed += f"    in memory that the kernel has freed: {name}{pages}\n"
                else:
                    wrong.append(f"found: {name}{pages}")
        self.tell(image, f"{finding.megabytes:4.0f} MiB searched, {len(finding.found):3} secrets found", wrong)
        print(allowed, end="", flush=True)

    @staticmethod
    def may_be_in_freed_memory(name: str) -> bool:
        """What was in pages of programs and of the page cache, which only the kernel could clear."""
        return name.endswith("contents of strict files")

    # Devices

    def pull_devices(self) -> None:
        print("== a security key and a USB device are pulled out", flush=True)
        ids = {key: product for key, (_, product) in DEVICES.items()}
        machine, events = self.boot("devices", "", scenario="devices", count=self.given.devices, **ids)
        (pulled,) = [event for event in events if event["event"] == "pulled"]
        self.tell("devices", f"each was pulled out {pulled['count']} times, and the vaults were locked", [])
        machine.remove()

    # The freezer

    def count_freezes(self) -> None:
        print("== the kernel's freezer, with programs that write without a pause", flush=True)
        machine, events = self.boot("freezes", "", scenario="freezes", count=self.given.freezes, programs=4)
        for event in events:
            if event["event"] == "frozen":
                where = {"kept": "a unit of the system", "mine": "a unit of the user"}[event["name"]]
                first = ", user.slice frozen first" if event["first"] else ""
                failed = f"the freezer failed at {event['failed']} of {event['count']} sleeps"
                print(f"the daemon in {where}{first}: {failed}", flush=True)
        machine.remove()


def main() -> None:
    parser = argparse.ArgumentParser(prog="suspend", description=__doc__)
    parser.add_argument("--folder", type=Path, required=True, help="where images and disks of the machines go")
    for name, what in (("kernel", "the kernel"), ("initrd", "its first file system"), ("disk", "the root file system"),
                       ("keys", "the folder with the vaults' device keys and recovery keys")):
        parser.add_argument(f"--{name}", type=Path, required=True, help=what)
    parser.add_argument("--sleeps", type=int, required=True, help="how often each machine sleeps")
    parser.add_argument("--devices", type=int, required=True, help="how often each device is pulled out")
    parser.add_argument("--freezes", type=int, required=True, help="how many sleeps count the freezer's failures")
    given = parser.parse_args()
    try:
        proof = Proof(given)
        if given.sleeps:
            print("== sleeps; the kernel clears freed memory (init_on_free=1)", flush=True)
            proof.prove("clearing", "init_on_free=1", True)
            print("== sleeps; the kernel as Debian has it", flush=True)
            proof.prove("default", "", False)
        if given.devices:
            proof.pull_devices()
        if given.freezes:
            proof.count_freezes()
    except Failed as failed:
        sys.exit(f"suspend: {failed}")
    if proof.failures:
        sys.exit(f"suspend: {proof.failures} failed")


main()
