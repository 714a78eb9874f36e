"""Programs that bring what one machine has changed in its vault's folder to the other one."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, Optional

from syncing.machine import Failed, Machine, run
from syncing.tree import content_differences


class Synchroniser:
    """`sync` brings the vault of one machine to the other one; neither has it mounted. `glance` does it while the first
    machine uses the vault, so that what arrives is torn, and a later `sync` has to put it right."""

    package = ""
    can_glance = False
    needs_settled_store = False

    def __init__(self, machines: list[Machine], folder: Path):
        self.machines, self.folder = machines, folder

    def start(self) -> None:
        pass

    def sync(self, source: Machine, target: Machine) -> None:
        raise NotImplementedError

    def glance(self, source: Machine, target: Machine) -> None:
        raise NotImplementedError

    def stop(self) -> None:
        pass

    @property
    def takes_attributes(self) -> bool:
        return True


class Rsync(Synchroniser):
    package = "rsync"
    can_glance = True

    def sync(self, source: Machine, target: Machine) -> None:
        run("rsync", "-aHAX", "--delete", f"{source.vault}/", f"{target.vault}/")

    def glance(self, source: Machine, target: Machine) -> None:
        # 23 and 24: what has changed or gone meanwhile.
        run("rsync", "-aHAX", "--delete", f"{source.vault}/", f"{target.vault}/", statuses=(0, 23, 24))


class Tar(Synchroniser):
    package = "tar"

    def sync(self, source: Machine, target: Machine) -> None:
        archive = self.folder / "archive.tar"
        options = ["--acls", "--xattrs", "--xattrs-include=*", "--format=posix"]
        run("tar", *options, "--sparse", "-C", source.vault, "-cf", archive, ".")
        shutil.rmtree(target.vault, ignore_errors=True)
        target.vault.mkdir()
        run("tar", *options, "-C", target.vault, "-xpf", archive)
        archive.unlink()


class Restic(Synchroniser):
    package = "restic"

    def restic(self, *words: str | Path) -> None:
        run("restic", "-r", self.folder / "repository", "--password-file", self.folder / "password", "--cache-dir",
            self.folder / "cache", "--quiet", *words)

    def start(self) -> None:
        (self.folder / "password").write_text("restic\n")
        self.restic("init")
        self.backups = 0

    def sync(self, source: Machine, target: Machine) -> None:
        self.restic("backup", source.vault)
        place = target.data / "restored"
        self.restic("restore", "latest", "--target", place)
        shutil.rmtree(target.vault, ignore_errors=True)
        os.rename(place / source.vault.relative_to("/"), target.vault)
        shutil.rmtree(place)
        self.backups += 1
        if self.backups % 20 == 0:
            self.restic("forget", "--keep-last", "3", "--prune")


class Syncthing(Synchroniser):
    """Two instances that see each other on the loopback device alone. They look for changes only when told to."""

    package = "syncthing"
    can_glance = True
    key = "sync-rounds"

    def start(self) -> None:
        self.homes = {machine.name: self.folder / f"syncthing-{machine.name}" for machine in self.machines}
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.ports = dict(zip([(machine.name, what) for machine in self.machines for what in ("gui", "sync")],
                              free_ports(4)))
        self.ids: dict[str, str] = {}
        self.environment = {**os.environ, "STNORESTART": "1", "STNOUPGRADE": "1", "STNODEFAULTFOLDER": "1"}
        for machine in self.machines:
            home = self.homes[machine.name]
            run("syncthing", "generate", "--home", home, "--no-default-folder", environment=self.environment)
            text, _ = run("syncthing", "--home", home, "--device-id", environment=self.environment)
            self.ids[machine.name] = text.strip()
            (machine.data / ".stfolder").mkdir()
        for machine in self.machines:
            (self.homes[machine.name] / "config.xml").write_text(self.configuration(machine))
            with open(self.folder / f"syncthing-{machine.name}.log", "wb") as log:
                self.processes[machine.name] = subprocess.Popen(
                    ["syncthing", "serve", "--home", str(self.homes[machine.name]), "--no-browser", "--no-restart"],
                    stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self.environment, start_new_session=True)
        for machine in self.machines:
            self.until(lambda: self.ask(machine, "system/ping") and self.is_connected(machine), 60, "to start")

    @property
    def takes_attributes(self) -> bool:
        text, _ = run("syncthing", "--version")
        version = re.search(r"v(\d+)\.(\d+)", text)
        return bool(version) and (int(version[1]), int(version[2])) >= (1, 22)

    def configuration(self, machine: Machine) -> str:
        [other] = [other for other in self.machines if other is not machine]
        gui, here, there = (self.ports[machine.name, "gui"], self.ports[machine.name, "sync"],
                            self.ports[other.name, "sync"])
        return f"""<configuration version="36">
    <folder id="vaults" label="vaults" path="{machine.data}" type="sendreceive" rescanIntervalS="0"
        fsWatcherEnabled="false" ignorePerms="false" autoNormalize="true">
        <device id="{self.ids[machine.name]}"></device>
        <device id="{self.ids[other.name]}"></device>
        <minDiskFree unit="%">0</minDiskFree>
        <maxConflicts>-1</maxConflicts>
        <syncXattrs>true</syncXattrs>
        <sendXattrs>true</sendXattrs>
    </folder>
    <device id="{self.ids[machine.name]}" name="{machine.name}"><address>dynamic</address></device>
    <device id="{self.ids[other.name]}" name="{other.name}"><address>tcp://127.0.0.1:{there}</address></device>
    <gui enabled="true" tls="false"><address>127.0.0.1:{gui}</address><apikey>{self.key}</apikey></gui>
    <options>
        <listenAddress>tcp://127.0.0.1:{here}</listenAddress>
        <globalAnnounceEnabled>false</globalAnnounceEnabled>
        <localAnnounceEnabled>false</localAnnounceEnabled>
        <relaysEnabled>false</relaysEnabled>
        <natEnabled>false</natEnabled>
        <crashReportingEnabled>false</crashReportingEnabled>
        <urAccepted>-1</urAccepted>
        <autoUpgradeIntervalH>0</autoUpgradeIntervalH>
        <reconnectionIntervalS>2</reconnectionIntervalS>
    </options>
</configuration>
"""

    def ask(self, machine: Machine, what: str, method: str = "GET", patience: float = 10) -> Optional[Any]:
        address = f"http://127.0.0.1:{self.ports[machine.name, 'gui']}/rest/{what}"
        request = urllib.request.Request(address, method=method, headers={"X-API-Key": self.key})
        try:
            with urllib.request.urlopen(request, timeout=patience) as answer:
                text = answer.read()
        except (urllib.error.URLError, OSError):
            return None
        return json.loads(text) if text.strip() else {}

    def is_connected(self, machine: Machine) -> bool:
        answer = self.ask(machine, "system/connections") or {}
        return any(device["connected"] for device in answer.get("connections", {}).values())

    def until(self, is_true: Any, patience: float, what: str) -> None:
        end = time.monotonic() + patience
        while not is_true():
            if time.monotonic() > end:
                raise Failed(f"Syncthing takes more than {patience:.0f} s {what}")
            time.sleep(0.1)

    def scan(self, machine: Machine) -> None:
        if self.ask(machine, "db/scan?folder=vaults", "POST", 120) is None:
            raise Failed(f"Syncthing on {machine.name} cannot scan")

    def glance(self, source: Machine, target: Machine) -> None:
        self.scan(source)

    def is_in_sync(self) -> bool:
        for machine in self.machines:
            [other] = [other for other in self.machines if other is not machine]
            status = self.ask(machine, "db/status?folder=vaults")
            if not status or status["state"] != "idle" or status["needTotalItems"] or status["needBytes"]:
                return False
            # What this machine knows of the other one: it has said that it has everything.
            completion = self.ask(machine, f"db/completion?device={self.ids[other.name]}&folder=vaults")
            if not completion or completion["completion"] != 100 or completion["needBytes"] or \
                    completion["needItems"] or completion["needDeletes"]:
                return False
            if not self.is_connected(machine):
                return False
        return True

    def sync(self, source: Machine, target: Machine) -> None:
        self.scan(source)
        try:
            self.until(self.is_in_sync, 150, "to get in sync")
        except Failed as error:
            states = [self.ask(machine, what) for machine in self.machines
                      for what in ("db/status?folder=vaults", "folder/errors?folder=vaults")]
            raise Failed(f"{error}: {states}") from None

    def part(self) -> None:
        """Until `meet`, neither machine reaches the other one."""
        self.ask(self.machines[0], f"system/pause?device={self.ids[self.machines[1].name]}", "POST")

    def meet(self) -> None:
        """Each machine has found its own changes before it learns of those of the other one. Then they part again."""
        for machine in self.machines:
            self.scan(machine)
        self.next_scan = time.monotonic() + 5
        self.ask(self.machines[0], f"system/resume?device={self.ids[self.machines[1].name]}", "POST")
        try:
            self.until(self.is_settled, 150, "to get in sync")
        finally:
            self.part()

    def is_settled(self) -> bool:
        """In daily use Syncthing scans now and then. Without that, a folder that one machine has removed while the
        other one has changed something in it is not made again."""
        # What it puts aside is a change that the other machine is told of later.
        if self.is_in_sync() and not content_differences(*(machine.vault for machine in self.machines)):
            return True
        if time.monotonic() > self.next_scan:
            for machine in self.machines:
                self.scan(machine)
            self.next_scan = time.monotonic() + 5
        return False

    def stop(self) -> None:
        for process in self.processes.values():
            process.terminate()
        for process in self.processes.values():
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def free_ports(number: int) -> list[int]:
    sockets = [socket.socket() for _ in range(number)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


SYNCHRONISERS: dict[str, type[Synchroniser]] = {
    "rsync": Rsync, "tar": Tar, "restic": Restic, "syncthing": Syncthing}
