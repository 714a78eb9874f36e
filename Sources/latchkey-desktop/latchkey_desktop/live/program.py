"""Runs a command beside the main loop, with bounded output and time."""

from __future__ import annotations

import os
import traceback
from dataclasses import dataclass
from typing import Callable

from gi.repository import Gio, GLib

from ..model.commands import Command

MOST_OUTPUT = 4 << 20
LIMIT = 60.0
# Asking takes five minutes at most, three times over, and a security key waits for a touch.
ASKING_LIMIT = 20 * 60.0
_CHUNK = 65536


@dataclass(frozen=True)
class Outcome:
    """How a command has ended. `code` is None if it was ended, or could not be started."""

    code: int | None
    output: bytes
    errors: bytes
    was_late: bool = False

    @property
    def succeeded(self) -> bool:
        return self.code == 0


class Program:
    """One run. `on_end` is called once, on the main loop.

    The command gets no terminal: what it has to ask, it asks in a window of its own, and the answer never comes here.
    With `on_line`, which gets each line of its output, it may take as long as it needs, unless `limit` says otherwise.
    """

    def __init__(self, command: Command, on_end: Callable[[Outcome], None], limit: float | None = None,
                 on_line: Callable[[bytes], None] | None = None) -> None:
        self._on_end = on_end
        self._on_line = on_line
        self._parts: dict[str, bytearray] = {"output": bytearray(), "errors": bytearray()}
        self._open = 0
        self._was_late = False
        self._timer = 0
        self._process: Gio.Subprocess | None = None
        launcher = Gio.SubprocessLauncher.new(Gio.SubprocessFlags.STDOUT_PIPE | Gio.SubprocessFlags.STDERR_PIPE)
        launcher.set_cwd("/")
        # In a session of its own it has no terminal, even if the window was started from one.
        arguments = ["setsid", *command.arguments]
        if os.environ.get("LATCHKEY_PROGRAM") and arguments[1] == "latchkey":
            arguments[1] = os.environ["LATCHKEY_PROGRAM"]
        try:
            self._process = launcher.spawnv([os.fsencode(argument) for argument in arguments])
        except GLib.Error as error:
            GLib.idle_add(self._failed, error.message)
            return
        seconds = limit or (ASKING_LIMIT if command.asks else LIMIT)
        if on_line is None or limit is not None:
            self._timer = GLib.timeout_add(int(seconds * 1000), self._late)
        for name, stream in (("output", self._process.get_stdout_pipe()), ("errors", self._process.get_stderr_pipe())):
            self._open += 1
            self._read(name, stream)

    def stop(self) -> None:
        """Ends the command; `on_end` still comes."""
        if self._process is not None:
            self._process.send_signal(15)

    def _failed(self, message: str) -> bool:
        self._on_end(Outcome(None, b"", message.encode()))
        return GLib.SOURCE_REMOVE

    def _late(self) -> bool:
        self._timer = 0
        self._was_late = True
        assert self._process is not None
        self._process.force_exit()
        return GLib.SOURCE_REMOVE

    def _read(self, name: str, stream: Gio.InputStream) -> None:
        stream.read_bytes_async(_CHUNK, GLib.PRIORITY_DEFAULT, None, self._received, name)

    def _received(self, stream: Gio.InputStream, result: Gio.AsyncResult, name: str) -> None:
        try:
            received = stream.read_bytes_finish(result).get_data() or b""
        except GLib.Error:
            received = b""
        part = self._parts[name]
        # What is beyond the bound is read, so that the command can end, and dropped: of messages the first ones.
        if name == "errors":
            part += received
            del part[:-MOST_OUTPUT]
        else:
            part += received[:MOST_OUTPUT - len(part)]
        if received:
            if name == "output" and self._on_line is not None:
                self._lines()
            return self._read(name, stream)
        self._open -= 1
        if self._open == 0:
            assert self._process is not None
            self._process.wait_async(None, self._ended)

    def _lines(self) -> None:
        """Hands out what has come as whole lines, and forgets it."""
        assert self._on_line is not None
        *whole, rest = bytes(self._parts["output"]).split(b"\n")
        self._parts["output"] = bytearray(rest)
        for line in whole:
            try:
                self._on_line(line)
            except Exception:
                # The command must not wait for ever for a reader.
                traceback.print_exc()

    def _ended(self, process: Gio.Subprocess, result: Gio.AsyncResult) -> None:
        try:
            process.wait_finish(result)
        except GLib.Error:
            pass
        if self._timer:
            GLib.source_remove(self._timer)
            self._timer = 0
        code = process.get_exit_status() if process.get_if_exited() else None
        self._on_end(Outcome(code, bytes(self._parts["output"]), bytes(self._parts["errors"]), self._was_late))
