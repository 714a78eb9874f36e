"""A process that poses as a daemon: it sends what no real one sends, so no real one can stand in for it."""

from __future__ import annotations

import json
import os
import socket
import threading
from pathlib import Path
from typing import Callable

FOLDER = Path("/run/latchkey")
NAME = "0123456789abcdef0123456789abcdef.socket"


class Impostor:
    """Answers every call on a control socket with the bytes that `answer` makes of the method's name."""

    def __init__(self, answer: Callable[[str], bytes], name: str = NAME) -> None:
        self._answer = answer
        os.chmod(FOLDER, 0o700)
        self._path = FOLDER / name
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(str(self._path))
        self._socket.listen(16)
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        self._socket.close()
        self._path.unlink(missing_ok=True)

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._speak, args=(client,), daemon=True).start()

    def _speak(self, client: socket.socket) -> None:
        rest = b""
        try:
            while received := client.recv(65536):
                *calls, rest = (rest + received).split(b"\0")
                for call in calls:
                    client.sendall(self._answer(json.loads(call)["method"]))
        except OSError:
            pass
        finally:
            client.close()


def reply(status: dict[str, object]) -> bytes:
    """A reply with a status."""
    return json.dumps({"parameters": {"status": status}}).encode() + b"\0"
