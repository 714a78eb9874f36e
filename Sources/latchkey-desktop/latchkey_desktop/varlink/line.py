"""A connection to a daemon, on which one call after another is made, without waiting for any."""

from __future__ import annotations

from collections import deque
from typing import Any, Callable

import gi

gi.require_version("Gio", "2.0")
from gi.repository import Gio, GLib  # noqa: E402

from .frames import BadMessage, Frames, call  # noqa: E402

Reply = Callable[[dict[str, Any]], None]
_CHUNK = 65536


class Line:
    """One connection. All callbacks come on the main loop.

    `on_end` is called once, when the daemon has closed the connection, cannot be reached, or has sent nonsense; it is
    not called after `close`. A call that is late is not given up: its reply still comes if the daemon wakes.
    """

    def __init__(self, path: str, on_end: Callable[[], None]) -> None:
        self._on_end = on_end
        self._stop = Gio.Cancellable()
        self._frames = Frames()
        self._waiting: deque[tuple[Reply, bool]] = deque()
        self._unsent: list[bytes] = []
        self._is_sending = False
        self._connection: Gio.SocketConnection | None = None
        client = Gio.SocketClient()
        # No proxy is asked for a path of this machine.
        client.set_enable_proxy(False)
        client.connect_async(Gio.UnixSocketAddress.new(path), self._stop, self._connected)

    def call(self, method: str, parameters: dict[str, Any], on_reply: Reply, more: bool = False) -> None:
        """Sends a call. With `more`, `on_reply` is called for each of its replies."""
        self._waiting.append((on_reply, more))
        self._unsent.append(call("io.latchkey." + method, parameters, more))
        self._send()

    def close(self) -> None:
        """Ends the connection; no callback comes any more."""
        if not self._stop.is_cancelled():
            self._stop.cancel()
            if self._connection is not None:
                self._connection.close_async(GLib.PRIORITY_DEFAULT, None, lambda *_: None)

    def _end(self) -> None:
        if not self._stop.is_cancelled():
            self.close()
            self._on_end()

    def _connected(self, client: Gio.SocketClient, result: Gio.AsyncResult) -> None:
        try:
            self._connection = client.connect_finish(result)
        except GLib.Error:
            return self._end()
        self._receive()
        self._send()

    def _send(self) -> None:
        if self._connection is None or self._is_sending or not self._unsent:
            return
        self._is_sending = True
        text = b"".join(self._unsent)
        self._unsent.clear()
        self._connection.get_output_stream().write_all_async(text, GLib.PRIORITY_DEFAULT, self._stop, self._sent)

    def _sent(self, stream: Gio.OutputStream, result: Gio.AsyncResult) -> None:
        try:
            stream.write_all_finish(result)
        except GLib.Error:
            return self._end()
        self._is_sending = False
        self._send()

    def _receive(self) -> None:
        assert self._connection is not None
        self._connection.get_input_stream().read_bytes_async(
            _CHUNK, GLib.PRIORITY_DEFAULT, self._stop, self._received)

    def _received(self, stream: Gio.InputStream, result: Gio.AsyncResult) -> None:
        try:
            received = stream.read_bytes_finish(result).get_data()
            messages = self._frames.add(received or b"")
        except (GLib.Error, BadMessage):
            return self._end()
        for message in messages:
            if self._stop.is_cancelled():
                return
            self._answer(message)
        if not received:
            return self._end()
        if not self._stop.is_cancelled():
            self._receive()

    def _answer(self, message: dict[str, Any]) -> None:
        if not self._waiting:
            return self._end()
        on_reply, more = self._waiting[0]
        if not more or message.get("continues") is not True:
            self._waiting.popleft()
        on_reply(message)
