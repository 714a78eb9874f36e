"""Fields of JSON that another program wrote: a missing, wrong or huge value becomes a harmless one."""

from __future__ import annotations

import json
import math
from typing import Any

LARGEST = 2**63
LONGEST = 4096
DEEPEST = 32


def parsed(text: bytes) -> Any:
    """The value of a JSON text; None if it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def fields(value: Any) -> dict[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def objects(value: Any, most: int) -> list[dict[str, Any]]:
    """The objects in a list, at most so many."""
    return [item for item in value[:most] if isinstance(item, dict)] if isinstance(value, list) else []


def text(value: Any) -> str:
    """The value if it is a text, cut to a bounded length; else an empty one."""
    return value[:LONGEST] if isinstance(value, str) else ""


def texts(value: Any, most: int) -> list[str]:
    """The texts in a list, at most so many."""
    return [text(item) for item in value[:most] if isinstance(item, str)] if isinstance(value, list) else []


def number(value: Any) -> float | None:
    """The value if it is a finite number, else None."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    # A whole number may be too large for a float.
    if not -LARGEST < value < LARGEST:
        return None
    return float(value) if math.isfinite(value) else None


def count(value: Any) -> int:
    """The value if it is a number that counts something, else 0."""
    found = number(value)
    return max(0, int(found)) if found is not None else 0


def flag(value: Any) -> bool:
    """Whether the value is true."""
    return value is True
