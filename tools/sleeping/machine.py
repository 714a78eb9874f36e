"""An emulated machine that sleeps, is looked into, and wakes.

Source: the QEMU Machine Protocol: qemu-qmp-ref(7).
"""

from __future__ import annotations

import json
import queue
import shutil
import socket
import subprocess
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

MEMORY = 768 << 20


class Failed(Exception):
    """What did not come, or went wrong in the machine."""


@dataclass
class Machine:
    """One boot of a disk, of which the machine has a copy."""

    folder: Path
    kernel: Path
    initrd: Path
    secrets: Path
    options: str
    # Devices that can be pulled out, by their names: QEMU's driver for each.
    devices: dict[str, str] = field(default_factory=dict)
    happened: "queue.Queue[tuple[str, dict[str, Any]]]" = field(default_factory=queue.Queue)

    @property
    def disk(self) -> Path:
        return self.folder / "disk"

    def start(self, disk: Path) -> None:
        self.folder.mkdir()
        subprocess.run(["cp", "--sparse=always", str(disk), str(self.disk)], check=True)
        command = [
            # It ends with this process, whatever ends that.
            "setpriv", "--pdeathsig", "KILL", "qemu-system-x86_64", "-machine", "pc", "-accel", "tcg", "-cpu", "max",
            "-smp", "2", "-m", f"{MEMORY >> 20}M", "-nodefaults", "-display", "none", "-no-reboot",
            "-kernel", str(self.kernel), "-initrd", str(self.initrd),
            "-append", f"root=/dev/vda rw console=ttyS0 no_console_suspend panic=-1 {self.options}",
            "-drive", f"file={self.disk},format=raw,if=virtio,cache=unsafe",
            "-drive", f"file={self.secrets},format=raw,if=virtio,cache=unsafe,readonly=on",
            "-serial", f"file:{self.folder / 'console'}",
            "-serial", f"unix:{self.folder / 'port'},server=on,wait=off",
            "-qmp", f"unix:{self.folder / 'qmp'},server=on,wait=off"]
        if self.devices:
            command += ["-device", "qemu-xhci,id=usb"]
        for name, driver in self.devices.items():
            command += ["-device", f"{driver},id={name},bus=usb.0"]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=(self.folder / "errors").open("wb"))
        said, self.port = self.connect("port")
        answers, self.qmp = self.connect("qmp")
        threading.Thread(target=self.listen, args=("said", said), daemon=True).start()
        threading.Thread(target=self.listen, args=("qmp", answers), daemon=True).start()
        self.waiting: list[tuple[str, dict[str, Any]]] = []
        self.command("qmp_capabilities")

    def connect(self, name: str) -> tuple[TextIO, TextIO]:
        end = time.monotonic() + 30
        while time.monotonic() < end and self.process.poll() is None:
            try:
                connection = socket.socket(socket.AF_UNIX)
                connection.connect(str(self.folder / name))
                # Two files: one that is read from a thread cannot be written to by another.
                return connection.makefile("r"), connection.makefile("w")
            except OSError:
                connection.close()
                time.sleep(0.05)
        raise Failed(f"QEMU does not answer: {(self.folder / 'errors').read_text()}")

    def listen(self, source: str, lines: TextIO) -> None:
        try:
            for line in lines:
                if line.startswith("{"):
                    self.happened.put((source, json.loads(line)))
        except (OSError, ValueError):
            pass
        self.happened.put((source, {"event": "END"}))

    def next(self, seconds: float) -> tuple[str, dict[str, Any]]:
        """What happens next: an event of QEMU, or what the scenario in the machine says."""
        if self.waiting:
            return self.waiting.pop(0)
        try:
            return self.happened.get(timeout=seconds)
        except queue.Empty:
            raise Failed(f"nothing happened for {seconds:.0f} s; the console ends with:\n{self.console()}") from None

    def console(self) -> str:
        return (self.folder / "console").read_text(errors="replace")[-2000:]

    def command(self, name: str, **arguments: Any) -> dict[str, Any]:
        self.qmp.write(json.dumps({"execute": name, "arguments": arguments}) + "\n")
        self.qmp.flush()
        while True:
            try:
                source, message = self.happened.get(timeout=120)
            except queue.Empty:
                raise Failed(f"QEMU does not answer {name}") from None
            if source == "qmp" and "error" in message:
                raise Failed(f"QEMU refuses {name}: {message['error']}")
            if source == "qmp" and "return" in message:
                return message
            if (source, message.get("event")) == ("qmp", "END"):
                raise Failed("QEMU has ended")
            self.waiting.append((source, message))

    def answer(self, **what: Any) -> None:
        self.port.write(json.dumps(what) + "\n")
        self.port.flush()

    def pull(self, name: str) -> None:
        self.command("device_del", id=name)

    def plug(self, name: str) -> None:
        self.command("device_add", driver=self.devices[name], id=name, bus="usb.0")

    def write_image(self, name: str) -> None:
        """Writes the whole memory to a file, byte for byte. The machine must not run."""
        self.command("pmemsave", val=0, size=MEMORY, filename=str(self.folder / f"image-{name}"))

    def end(self) -> None:
        """Ends the machine, if it has not switched itself off."""
        self.process.kill()
        self.process.wait()

    def remove(self) -> None:
        shutil.rmtree(self.folder)
