"""Spans of time and sizes, in words."""

from __future__ import annotations

from ..text import _, counted


def _units() -> tuple[str, ...]:
    return (_("{amount} B"), _("{amount} KiB"), _("{amount} MiB"), _("{amount} GiB"), _("{amount} TiB"),
            _("{amount} PiB"))


def span(seconds: float) -> str:
    """About how long something takes, such as "3 minutes"."""
    if seconds < 60:
        return counted("{number} second", "{number} seconds", max(1, round(seconds)))
    if seconds < 3600:
        return counted("{number} minute", "{number} minutes", round(seconds / 60))
    return counted("{number} hour", "{number} hours", round(min(seconds, 1e9) / 3600))


def size(count: int) -> str:
    """A size in bytes, such as "1.5 GiB", in the units that the commands use."""
    units = _units()
    value, unit = float(count), 0
    while value >= 1024 and unit < len(units) - 1:
        value, unit = value / 1024, unit + 1
    return units[unit].format(amount=f"{value:.1f}" if unit and value < 100 else f"{value:.0f}")


def files(count: int) -> str:
    """A number of files."""
    return counted("{number} file", "{number} files", count)
