"""Writes text as mdoc(7): escaped, one sentence to a line, no line over 80 bytes."""

from __future__ import annotations

import re
import textwrap

SENTENCE = re.compile(r"(?<=[.!?]) +(?=\S)|(?<=[.!?][)\"'’]) +(?=\S)")
# Two columns, as the discussions of the commands have them.
COLUMNS = re.compile(r"(\S(?:.*?\S)?) {2,}(\S.*)")
NAMED = {"…": r"\&...", "“": r"\(lq", "”": r"\(rq", "‘": r"\(oq", "’": r"\(cq", "–": r"\(en", "—": r"\(em"}


def escaped(text: str) -> str:
    """Text that stands in the middle of a line."""
    out = text.replace("\\", r"\e").replace("-", r"\-")
    return "".join(NAMED.get(letter, letter if ord(letter) < 128 else rf"\[u{ord(letter):04X}]") for letter in out)


def line(text: str) -> str:
    """Text that stands at the beginning of a line, where a dot or an apostrophe would begin a macro."""
    out = escaped(text)
    return rf"\&{out}" if out[:1] in (".", "'") else out


def words(text: str) -> str:
    """The words of a macro's arguments: none of them is a macro itself, nor punctuation that the macro moves."""
    return " ".join(rf"\&{escaped(word)}" for word in text.split()) if text.split() else r"\&"


def prose(text: str) -> list[str]:
    """A paragraph: each sentence on a new line, so that the formatter sets the space between them."""
    lines: list[str] = []
    for sentence in SENTENCE.split(" ".join(text.split())):
        # A hyphen takes two bytes once it is escaped: room for several in a line.
        lines += textwrap.wrap(sentence, 66, break_long_words=False, break_on_hyphens=False)
    return [line(each) for each in lines]


def literal(lines: list[str]) -> list[str]:
    return [".Bd -literal -offset indent", *[line(each) if each else "" for each in lines], ".Ed"]


def tagged(pairs: list[tuple[str, str]]) -> list[str]:
    """A list with a term in front of each text."""
    width = max(len(term) for term, _ in pairs)
    out = [f".Bl -tag -width {'n' * min(width, 24)}"]
    for term, text in pairs:
        out += [f".It {words(term)}", *prose(text)]
    return [*out, ".El"]


def paragraphs(text: str) -> list[str]:
    """A discussion: paragraphs, tables of two columns, and indented lines, which are examples to type."""
    out: list[str] = []
    for block in re.split(r"\n\s*\n", text.strip("\n")):
        lines = block.split("\n")
        columns = [COLUMNS.fullmatch(each) for each in lines]
        if all(each.startswith("  ") for each in lines):
            made = literal(textwrap.dedent(block).split("\n"))
        elif all(columns):
            made = tagged([(found[1], found[2]) for found in columns if found])
        else:
            made = prose(block)
        # A display and a list make their own space.
        out += [".Pp", *made] if out and not made[0].startswith(".B") else made
    return out
