"""Waits until something is so, and fails if that does not come in time."""

from __future__ import annotations

import time
from typing import Callable, TypeVar

Found = TypeVar("Found")
LIMIT = 60.0
_PAUSE = 0.05


def until(condition: Callable[[], Found], what: str | Callable[[], str], limit: float = LIMIT) -> Found:
    """The value of a condition once it is true. It fails after `limit` seconds."""
    end = time.monotonic() + limit
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > end:
            raise AssertionError(f"did not come within {limit:g} s: {what() if callable(what) else what}")
        time.sleep(_PAUSE)
