"""Runs in the booted machine, as root: what happens there. The tool outside learns of it by lines of JSON on a port."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import traceback
import tty
from pathlib import Path
from typing import Any, Callable

import secret
from system import FREEZER, Failed, Session, Sleeper, agent_lines, checked, devices, freeze_users_first, until
from uhid import SecurityKey

# The daemon of the first is a unit of the system, and that of the second one of ann's manager.
VAULTS = ("kept", "mine")


class Port:
    def __init__(self) -> None:
        descriptor = os.open("/dev/ttyS1", os.O_RDWR | os.O_NOCTTY)
        tty.setraw(descriptor)
        self.file = os.fdopen(descriptor, "r+b", 0)

    def tell(self, event: str, **what: Any) -> None:
        self.file.write(json.dumps({"event": event, **what}).encode() + b"\n")

    def answer(self) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(self.file.readline())
        return answer


class Scenario:
    def __init__(self, port: Port) -> None:
        self.port = port
        # ann's programs read their markers from it.
        os.chown(secret.DISK, 61300, -1)
        self.session = Session()
        self.session.run("systemctl", "--user", "start", "latchkey-agent", "latchkey@mine")
        checked(["systemctl", "start", "latchkey-agent", "latchkey@kept"])
        self.sleeper = Sleeper()
        self.frozen = 0
        self.say("the vaults are mounted, and the agents run")

    def say(self, text: str) -> None:
        self.port.tell("says", text=text)

    def image(self, name: str) -> None:
        """The whole memory of the machine, as it is now."""
        self.port.tell("image", name=name)
        self.port.answer()

    def noted(self, name: str, what: str) -> int:
        path = Path(f"/home/ann/notes/{name}-{what}")
        return int(path.read_text() or 0) if path.exists() else 0

    def unlock(self) -> None:
        for name in VAULTS:
            if self.session.state(name) != "unlocked":
                self.session.unlock(name)

    def programs_go_on(self) -> None:
        """Each program that writes has something acknowledged that it had not before this."""
        before = {(name, what): self.noted(name, what) for name in VAULTS for what in ("strict", "plain", "database")}
        for (name, what), number in before.items():
            until(f"{name}: the program that writes {what} goes on", lambda: self.noted(name, what) > number + 2)

    # Sleeps with memory images

    def begin(self) -> None:
        self.unlock()
        self.mapping = {}
        for name in VAULTS:
            self.session.program("fill", name)
            self.session.program("check", name)
            self.say(f"{name}: filled")
            for what in ("records", "log", "rows"):
                self.session.start(what, name)
            self.mapping[name] = self.session.start("mapped", name)
        self.programs_go_on()
        self.say("the programs write")

    def touch_mappings(self) -> None:
        for name, pid in self.mapping.items():
            count = self.noted(name, "mapped")
            os.kill(pid, signal.SIGUSR1)
            until(f"{name}: the mapping gives its pages again", lambda: self.noted(name, "mapped") > count)

    def sleep_locked(self, number: int) -> None:
        """Sleeps once, unlocked before and locked after. A try at which the kernel's freezer fails counts apart."""
        for _ in range(10):
            self.unlock()
            self.programs_go_on()
            self.touch_mappings()
            for name in VAULTS:
                self.session.program("check", name)
            self.port.tell("sleeping", name=f"asleep-{number}")
            self.say("to sleep")
            lines = len(agent_lines())
            result = self.sleeper.sleep()
            self.look_after_waking(lines)
            if result.slept:
                self.say(f"sleep {number}: the delay locks were released {result.delay:.2f} s after PrepareForSleep")
                return
            self.frozen += 1
            self.say("the kernel could not freeze all programs, and stayed awake; again")
        raise Failed("the machine could not sleep in ten tries")

    def look_after_waking(self, lines: int) -> None:
        for name in VAULTS:
            if (state := self.session.state(name)) != "locked":
                raise Failed(f"{name} is {state} after the waking")
            self.session.program("check-locked", name)
        # One line of each agent. A mount that could not be locked in time stands there by its path.
        new = until("both agents have logged the sleep",
                    lambda: len(agent_lines()) >= lines + 2 and agent_lines()[lines:])
        for line in new:
            if "/" in line:
                raise Failed(f"an agent says: {line}")

    def run_sleeps(self, count: int) -> None:
        self.begin()
        self.image("unlocked")
        for number in range(1, count + 1):
            self.sleep_locked(number)
        self.unlock()
        self.programs_go_on()
        self.touch_mappings()
        if any(code is not None for code in self.session.end_programs()):
            raise Failed(f"a program has ended: {Path('/home/ann/errors').read_text()[-2000:]}")
        for name in VAULTS:
            self.session.program("verify", name)
            what = ", ".join(f"{self.noted(name, key)} {text}" for key, text in
                             (("strict", "records of A"), ("database", "rows"), ("plain", "records of C")))
            self.say(f"{name}: everything acknowledged is there: {what}")
        self.end()
        self.port.tell("slept", count=count, frozen=self.frozen)

    def end(self) -> None:
        checked(["systemctl", "stop", "latchkey@kept"])
        self.session.run("systemctl", "--user", "stop", "latchkey@mine")
        for name in VAULTS:
            self.session.run("latchkey", "fsck", "--unlock", name, how="with passcode")
            self.say(f"{name}: fsck finds nothing")

    # Devices that are pulled out

    def ask(self, event: str, **what: Any) -> None:
        """Has something done outside of the machine."""
        self.port.tell(event, **what)
        self.port.answer()

    def run_devices(self, count: int, named: str, other: str) -> None:
        """A security key and a USB device that ann's configuration names, pulled out while the vaults are unlocked."""
        checked(["systemctl", "stop", "latchkey-agent"])
        checked(["modprobe", "uhid"])
        self.session.run("sh", "-c", f'mkdir -p .config/latchkey; printf "[agent]\\nusb = [\\"{named}\\"]\\n" '
                                     '>>.config/latchkey/config.toml')
        until("both USB devices are there", lambda: {named, other} <= set(devices().values()))
        for number in range(1, count + 1):
            key = SecurityKey()
            until("the key has a device", key.is_plugged_in)
            self.unlock()
            before = self.fired("usb")
            self.ask("pull", name="other")
            until("the other USB device is gone", lambda: other not in devices().values())
            self.locks("security-key", key.pull_out)
            # The agent hears of devices in their order: of the other one before the key.
            if self.fired("usb") != before:
                raise Failed(f"round {number}: {self.session.run('latchkey', 'agent', '--status')}")
            self.unlock()
            self.locks("usb", lambda: self.ask("pull", name="named"))
            self.ask("plug", name="named")
            self.ask("plug", name="other")
            until("both USB devices are there again", lambda: {named, other} <= set(devices().values()))
            self.say(f"round {number}: each device that was pulled out has locked the vaults, another one has not")
        self.end()
        self.port.tell("pulled", count=count)

    def fired(self, source: str) -> str:
        """What the agent says of a source."""
        lines = self.session.run("latchkey", "agent", "--status").splitlines()
        (line,) = [line for line in lines if line.split()[:1] == [source]]
        # The widths of the columns depend on the other lines.
        return " ".join(line.split())

    def locks(self, source: str, act: Callable[[], None]) -> None:
        """The act begins a grace, at the end of which all vaults are locked."""
        before = self.fired(source)
        act()
        until(f"{source} is heard", lambda: self.fired(source) != before)
        for name in VAULTS:
            until(f"{name} is locked", lambda: self.session.state(name) == "locked")

    # The kernel's freezer

    def run_freezes(self, count: int, programs: int) -> None:
        """How often the kernel cannot freeze programs in a mount: by where its daemon is, and who is frozen first."""
        FREEZER.write_text("5000")
        self.unlock()
        for name in VAULTS:
            self.session.run("mkdir", f"/home/ann/{name}/plain")
        for name, users_first in (("kept", True), ("kept", False), ("mine", False)):
            freeze_users_first(users_first)
            failed = 0
            for _ in range(programs):
                self.session.start("load", name)
            for number in range(count):
                self.unlock()
                self.port.tell("sleeping", name="")
                failed += self.sleeper.sleep().freezing_failed
                self.say(f"{name}: {number + 1} sleeps tried, the freezer failed at {failed}")
            if any(code is not None for code in self.session.end_programs()):
                raise Failed(f"a program has ended: {Path('/home/ann/errors').read_text()[-2000:]}")
            self.port.tell("frozen", name=name, first=users_first, count=count, failed=failed)
        freeze_users_first(False)
        self.end()


def main() -> None:
    port = Port()
    try:
        port.tell("ready")
        asked = port.answer()
        # Everything that the boot starts has started.
        subprocess.run(["systemctl", "is-system-running", "--wait"], stdout=subprocess.DEVNULL, timeout=300)
        scenario = Scenario(port)
        if asked["scenario"] == "sleeps":
            scenario.run_sleeps(asked["count"])
        elif asked["scenario"] == "devices":
            scenario.run_devices(asked["count"], asked["named"], asked["other"])
        else:
            scenario.run_freezes(asked["count"], asked["programs"])
        port.tell("complete")
    except BaseException:
        log = subprocess.run(["journalctl", "--boot", "--no-pager", "--lines=60"], capture_output=True, text=True)
        port.tell("failed", text=traceback.format_exc(), log=log.stdout)
    os.sync()
    subprocess.run(["systemctl", "--no-block", "poweroff"])


sys.path.insert(0, "/usr/local/lib/sleeping")
main()
