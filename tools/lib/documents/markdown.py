"""The Markdown that this project's documents use: kinds of lines, code spans, links and headings."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

FENCE = re.compile(r" {0,3}(```+|~~~+)\s*(\w*)")
ITEM = re.compile(r"( *)([-*+]|\d+[.)])( +)")
HEADING = re.compile(r"(#{1,6}) +(.*?)(?: +#+)?$")
SPAN = re.compile(r"(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
LINK = re.compile(r"\[(?:[^\[\]]|\[[^\[\]]*\])*\]\(\s*<?([^\s)>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
REFERENCE = re.compile(r"^ {0,3}\[[^\]]+\]:\s+<?(\S+?)>?\s*$", re.MULTILINE)
HTML = re.compile(r"\b(?:src|srcset|href)=\"([^\"\s]+)")


@dataclass
class Line:
    number: int
    text: str
    # "text", "blank", "table", "heading", "fence" (the mark itself), "fenced" or "indented"
    kind: str
    language: str = ""


@dataclass
class Found:
    """A piece of a document, and the number of the line on which it begins."""

    number: int
    text: str


class Document:
    def __init__(self, path: Path, text: str) -> None:
        self.path = path
        self.lines = list(classify(text))

    @classmethod
    def read(cls, path: Path) -> Document:
        return cls(path, path.read_text(encoding="utf-8"))

    def prose(self) -> str:
        """The text with the same number of lines; the lines of code blocks are empty."""
        code = ("fence", "fenced", "indented")
        return "\n".join("" if line.kind in code else line.text for line in self.lines)

    def spans(self) -> list[Found]:
        """Code between backticks. It may continue on the next line of its paragraph, but not in the next cell."""
        found = []
        for number, paragraph in self.paragraphs():
            for match in SPAN.finditer(paragraph):
                line = number + paragraph.count("\n", 0, match.start())
                found.append(Found(line, " ".join(match.group(2).split())))
        return found

    def paragraphs(self) -> list[tuple[int, str]]:
        """Consecutive lines of text as one piece; a row of a table or a heading is a piece by itself."""
        pieces: list[tuple[int, list[str]]] = []
        previous = "blank"
        for line in self.lines:
            if line.kind == "text" and previous == "text" and not ITEM.match(line.text):
                pieces[-1][1].append(line.text)
            elif line.kind in ("text", "table", "heading"):
                pieces.append((line.number, [line.text]))
            previous = line.kind
        return [(number, "\n".join(texts)) for number, texts in pieces]

    def links(self) -> list[Found]:
        text = SPAN.sub(lambda match: re.sub(r"[^\n]", "x", match.group()), self.prose())
        found = []
        for pattern in (LINK, REFERENCE, HTML):
            for match in pattern.finditer(text):
                found.append(Found(text.count("\n", 0, match.start(1)) + 1, match.group(1)))
        return found

    def anchors(self) -> set[str]:
        """The anchors of this document's headings, named as GitHub and similar hosts name them."""
        seen: dict[str, int] = {}
        names = set()
        for line in self.lines:
            if line.kind != "heading" or not (match := HEADING.match(line.text)):
                continue
            name = slug(match.group(2))
            count = seen.get(name, 0)
            seen[name] = count + 1
            names.add(f"{name}-{count}" if count else name)
        return names

    def code_lines(self) -> list[Found]:
        """Lines of blocks that hold commands: indented ones, and fenced ones that name a shell or no language."""
        found = []
        for line in self.lines:
            if line.kind == "indented" or line.kind == "fenced" and line.language in ("", "sh", "shell", "bash"):
                found.append(Found(line.number, line.text.strip()))
        return found


def slug(heading: str) -> str:
    heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    heading = re.sub(r"[^\w\- ]", "", heading.strip().lower())
    return heading.replace(" ", "-")


def classify(text: str):
    fence = language = ""
    previous = "blank"
    for number, line in enumerate(text.splitlines(), 1):
        kind = "text"
        if fence:
            kind = "fence" if line.strip().startswith(fence) and not line.strip().strip(fence[0]) else "fenced"
        elif match := FENCE.match(line):
            kind, language = "fence", match.group(2)
        elif not line.strip():
            kind = "blank"
        elif line.startswith("    ") and previous in ("blank", "indented"):
            kind = "indented"
        elif line.lstrip().startswith("|"):
            kind = "table"
        elif HEADING.match(line):
            kind = "heading"
        yield Line(number, line, kind, language if kind == "fenced" else "")
        if kind == "fence":
            match = FENCE.match(line)
            fence = "" if fence or not match else match.group(1)
        # A blank line does not end an indented block.
        if kind != "blank" or previous != "indented":
            previous = kind
