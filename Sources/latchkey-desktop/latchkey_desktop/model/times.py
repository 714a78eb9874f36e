"""Times of messages, in words. A time that no calendar has is told as such."""

from __future__ import annotations

import time

from ..text import _


def _local(seconds: float | None, form: str) -> str:
    if seconds is None:
        return _("an unknown time")
    try:
        return time.strftime(form, time.localtime(seconds))
    except (OverflowError, ValueError, OSError):
        return _("an unknown time")


def day(seconds: float | None) -> str:
    """The day of a time in seconds since 1970."""
    return _local(seconds, "%Y-%m-%d")


def moment(seconds: float | None) -> str:
    """A time in seconds since 1970, to the second."""
    return _local(seconds, "%Y-%m-%d %H:%M:%S")
