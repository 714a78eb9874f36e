"""What the scenario asks of the booted system: the session, logind's sleep, the agents' delay locks, the log."""

from __future__ import annotations

import json
import queue
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable

PROGRAM = "/usr/local/lib/sleeping/program.py"
INHIBITORS = Path("/run/systemd/inhibit")
STATISTICS = Path("/sys/power/suspend_stats")
# How long the kernel tries to freeze all programs, in milliseconds: 20,000 unless it is told otherwise.
FREEZER = Path("/sys/power/pm_freeze_timeout")
DROP_IN = Path("/run/systemd/system/systemd-suspend.service.d/users-first.conf")
LOGIND = "org.freedesktop.login1.Manager"
PROBE = "org.example.Probe"


class Failed(Exception):
    """What is not as it must be."""


def until(what: str, condition: Callable[[], Any], seconds: float = 90) -> Any:
    """The first true value of `condition`. The clock of this does not run while the machine sleeps."""
    end = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > end:
            raise Failed(f"after {seconds} s: {what}")
        time.sleep(0.02)
    return value


def checked(command: list[str]) -> str:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
    if done.returncode != 0:
        raise Failed(f"{' '.join(command)}: status {done.returncode}\n{done.stdout}")
    return done.stdout


class Session:
    """A session of ann, as a login makes it."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            ["runuser", "-l", "ann", "-c", "exec python3 -B /usr/local/lib/sleeping/session.py"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, how: str, *command: str) -> dict[str, Any]:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps({"how": how, "command": command}) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise Failed("ann's session has ended")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def run(self, *command: str, how: str = "run") -> str:
        answer = self.ask(how, *command)
        if answer["status"] != 0:
            raise Failed(f"{' '.join(command)}: status {answer['status']}\n{answer['output']}")
        output: str = answer["output"]
        return output

    def program(self, what: str, name: str) -> None:
        self.run("python3", "-B", PROGRAM, what, name)

    def start(self, what: str, name: str) -> int:
        pid: int = self.ask("start", "python3", "-B", PROGRAM, what, name)["pid"]
        return pid

    def end_programs(self) -> list[int | None]:
        """How the programs ended that did so before they were killed here: None for all if all is well."""
        codes: list[int | None] = self.ask("end")["codes"]
        return codes

    def state(self, name: str) -> str:
        status = json.loads(self.run("latchkey", "status", "--json", f"/home/ann/{name}"))
        state: str = (status[0] if isinstance(status, list) else status)["state"]
        return state

    def unlock(self, name: str) -> None:
        self.run("latchkey", "unlock", name, how="with passcode")


def delays() -> set[str]:
    """The delay locks of sleep that agents hold."""
    found = set()
    for path in INHIBITORS.iterdir():
        # The other end of the lock, a FIFO.
        if path.suffix == ".ref":
            continue
        try:
            text = path.read_text()
        except OSError:
            continue
        fields = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
        if fields.get("WHO") == "Latchkey" and "sleep" in fields.get("WHAT", ""):
            found.add(path.name)
    return found


def devices() -> dict[str, str]:
    """Vendor and product ID of each USB device that is plugged in."""
    found = {}
    for path in Path("/sys/bus/usb/devices").iterdir():
        try:
            found[path.name] = f"{(path / 'idVendor').read_text().strip()}:{(path / 'idProduct').read_text().strip()}"
        except OSError:
            # An interface, or pulled out meanwhile.
            continue
    return found


def statistic(name: str) -> int:
    return int((STATISTICS / name).read_text())


def freeze_users_first(wanted: bool) -> None:
    """Freezes user.slice before the kernel freezes everything, as systemd does by itself since version 256."""
    if wanted:
        DROP_IN.parent.mkdir(parents=True, exist_ok=True)
        DROP_IN.write_text("[Service]\nExecStartPre=-/usr/bin/systemctl freeze user.slice\n"
                           "ExecStopPost=-/usr/bin/systemctl thaw user.slice\n")
    else:
        DROP_IN.unlink(missing_ok=True)
    checked(["systemctl", "daemon-reload"])


@dataclass
class Sleep:
    """What one try to sleep came to."""

    slept: bool
    freezing_failed: bool
    # Seconds from logind's signal to the release of the last delay lock.
    delay: float


class Sleeper:
    """Puts the machine to sleep as a person does, and waits until it is awake."""

    def __init__(self) -> None:
        self.signals: queue.Queue[bool] = queue.Queue()
        self.released: queue.Queue[float] = queue.Queue()
        matches = [f"--match=type=signal,interface={interface}" for interface in (LOGIND, PROBE)]
        self.monitor = subprocess.Popen(["stdbuf", "-oL", "busctl", "monitor", *matches, "--json=short"],
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.hears = threading.Event()
        threading.Thread(target=self.watch, daemon=True).start()
        until("busctl hears the bus", self.probe)

    def probe(self) -> bool:
        checked(["busctl", "emit", "/", PROBE, "Probe"])
        return self.hears.wait(0.2)

    def watch(self) -> None:
        assert self.monitor.stdout is not None
        for line in self.monitor.stdout:
            message = json.loads(line)
            if message.get("interface") == PROBE:
                self.hears.set()
            if message.get("member") != "PrepareForSleep":
                continue
            begins = message["payload"]["data"][0]
            if begins:
                begin = time.monotonic()
                while delays() and time.monotonic() < begin + 30:
                    time.sleep(0.002)
                self.released.put(time.monotonic() - begin)
            self.signals.put(begins)

    def sleep(self) -> Sleep:
        until("two agents hold delay locks of sleep", lambda: len(delays()) == 2)
        success, failed = statistic("success"), statistic("failed_freeze")
        checked(["systemctl", "suspend"])
        try:
            while self.signals.get(timeout=120):
                pass
            delay = self.released.get(timeout=30)
        except queue.Empty:
            raise Failed("logind did not say that the sleep is over") from None
        result = Sleep(statistic("success") > success, statistic("failed_freeze") > failed, delay)
        if not result.slept and not result.freezing_failed:
            raise Failed(f"the machine did not sleep: {checked(['journalctl', '-b', '-n', '30', '--no-pager'])}")
        until("the agents hold delay locks again", lambda: len(delays()) == 2)
        return result


def agent_lines() -> list[str]:
    """What the agents have logged about sleep since the boot."""
    lines = checked(["journalctl", "--boot", "--output=cat", "--no-pager", "_COMM=latchkey"])
    return [line for line in lines.splitlines() if line.startswith("sleep: ")]
