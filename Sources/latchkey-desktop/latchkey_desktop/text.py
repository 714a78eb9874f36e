"""Words for people: translation, and texts of other programs made safe to show."""

from __future__ import annotations

import gettext
import os
import unicodedata
from pathlib import Path

DOMAIN = "latchkey-desktop"
LONGEST = 400
MOST_LINES = 30
_ISOLATE, _END = "\u2068", "\u2069"


def _translations() -> gettext.NullTranslations:
    """The language of the environment, from the folder of this installation or of this source tree."""
    beside = Path(__file__).resolve().parent.parent / "locale"
    folder = os.environ.get("LATCHKEY_DESKTOP_LOCALE") or (str(beside) if beside.is_dir() else None)
    return gettext.translation(DOMAIN, folder, fallback=True)


_language = _translations()


def _(text: str) -> str:
    """The text in the user's language."""
    return _language.gettext(text)


def counted(one: str, many: str, number: int) -> str:
    """One of two texts by a number, in the user's language, with {number} in it replaced."""
    return _language.ngettext(one, many, number).format(number=number)


def is_right_to_left() -> bool:
    """Whether the user's language is written from right to left."""
    # Translators: do not translate "direction:"; write direction:rtl if your language is written right to left.
    return _("direction:ltr") == "direction:rtl"


def shown(text: str, longest: int = LONGEST) -> str:
    """A text of another program, in one line of bounded length, with every character that is not visible escaped."""
    parts = []
    for character in text[:longest]:
        if character == "\n":
            parts.append("\\n")
        elif character == " " or not unicodedata.category(character).startswith(("C", "Z")):
            parts.append(character)
        elif ord(character) < 0x100:
            parts.append(f"\\x{ord(character):02x}")
        else:
            parts.append(f"\\u{ord(character):04x}")
    return "".join(parts) + ("…" if len(text) > longest else "")


def apart(text: str, longest: int = LONGEST) -> str:
    """A text of another program inside a sentence: its direction does not change that of the sentence."""
    found = shown(text, longest)
    return _ISOLATE + found + _END if is_right_to_left() else found


def lines(message: bytes) -> str:
    """What a command has written, line by line, safe to show."""
    # The last lines say how it has ended.
    found = message[-MOST_LINES * LONGEST:].decode(errors="backslashreplace").strip().splitlines()
    cut = len(found) > MOST_LINES or len(message) > MOST_LINES * LONGEST
    return "\n".join((["…"] if cut else []) + [shown(line) for line in found[-MOST_LINES:]])
