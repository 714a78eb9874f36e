"""Messages in a stream: JSON objects, each followed by a NUL byte."""

from __future__ import annotations

import json
from typing import Any

from ..model.fields import fields, parsed, text

LARGEST = 1 << 20


class BadMessage(Exception):
    """The other side has sent what is no message, or one that is too large."""


class Frames:
    """Cuts received bytes into messages, of at most 1 MiB each."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def add(self, received: bytes) -> list[dict[str, Any]]:
        """The messages that are complete now; raises BadMessage."""
        self._rest += received
        found = []
        while (end := self._rest.find(b"\0")) >= 0:
            if end > LARGEST:
                raise BadMessage
            message = parsed(bytes(self._rest[:end]))
            if not isinstance(message, dict):
                raise BadMessage
            del self._rest[:end + 1]
            found.append(message)
        if len(self._rest) > LARGEST:
            raise BadMessage
        return found


def call(method: str, parameters: dict[str, Any], more: bool = False) -> bytes:
    """The bytes of a call."""
    message: dict[str, Any] = {"method": method, "parameters": parameters}
    if more:
        message["more"] = True
    return json.dumps(message).encode() + b"\0"


def error_of(reply: dict[str, Any]) -> tuple[str, dict[str, Any]] | None:
    """The name of a reply's error without its interface, and its parameters; None if the call has succeeded."""
    name = text(reply.get("error"))
    return (name.rpartition(".")[2], fields(reply.get("parameters"))) if name else None
