"""Lines of at most 120 columns: the checks, and the wrapping of paragraphs that have a wider line."""

from __future__ import annotations

import re
from pathlib import Path

from .markdown import ITEM, LINK, SPAN, Document

WIDTH = 120
# At the beginning of a line these would begin a list, a heading, a quotation, a table or a rule.
MARK = re.compile(r"([-+*>|=]|#+|\d+[.)]|\|.*|--+|~~~+.*)$")

COMMENT = re.compile(r"(\s*//[/:]? )(.*)$")
MARK_OF_COMMENT = re.compile(r"\s*(?://+|#+|\*)\s")
# Comment lines that wrapping keeps as they are: empty ones, code, tables, and marks such as MARK:.
VERBATIM = re.compile(r"$|\s{4}|```|\||MARK:|swift-format-ignore")


def check_markdown(document: Document) -> list[tuple[int, str]]:
    """Wide lines of a document. Tables and fenced code may be wider, and so may one unbreakable word, such as a URL."""
    problems = []
    for line in document.lines:
        if line.kind in ("table", "fence", "fenced") or len(line.text) <= WIDTH:
            continue
        words = ITEM.sub("", line.text, count=1).split()
        if len(words) > 1:
            wide = f"{len(line.text)} columns, of at most {WIDTH}; try: tools/check-docs --wrap"
            problems.append((line.number, wide))
    return problems


def check_swift(path: Path) -> list[tuple[int, str]]:
    """Wide comments of a Swift file. The formatter checks the width of the code."""
    problems = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if len(line) > WIDTH and "//" in line and len(line.split("//", 1)[1].split()) > 1:
            problems.append((number, f"{len(line)} columns, of at most {WIDTH}"))
    return problems


def check_source(path: Path) -> list[tuple[int, str]]:
    """Wide lines of a file that no formatter checks. One unbreakable word behind a comment mark may be wider."""
    problems = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if len(line) > WIDTH and len(MARK_OF_COMMENT.sub("", line).split()) > 1:
            problems.append((number, f"{len(line)} columns, of at most {WIDTH}"))
    return problems


def wrapped(document: Document) -> str:
    """The document with each paragraph refilled that has a wide line. The others stay as they are."""
    result: list[str] = []
    paragraph: list[str] = []

    def end_paragraph() -> None:
        wide = any(len(line) > WIDTH for line in paragraph)
        result.extend(filled(paragraph) if wide else paragraph)
        paragraph.clear()

    for line in document.lines:
        if line.kind != "text" or ITEM.match(line.text):
            end_paragraph()
        if line.kind == "text":
            paragraph.append(line.text)
        else:
            result.append(line.text)
    end_paragraph()
    return "\n".join(result) + "\n"


def filled(lines: list[str], width: int = WIDTH) -> list[str]:
    first = lines[0]
    if match := ITEM.match(first):
        lead, rest = match.group(), " " * len(match.group())
    else:
        lead = rest = first[: len(first) - len(first.lstrip())]
    result, current = [], lead
    for word in words([first[len(lead) :], *lines[1:]]):
        if len(current) > len(rest) and len(current) + 1 + len(word) > width and current != lead:
            result.append(current)
            current = rest + word
        else:
            current += word if current in (lead, rest) else " " + word
    return [*result, current]


def wrapped_swift(text: str) -> str:
    """The source with each paragraph refilled that has a wide line, in comments that have lines of their own."""
    result: list[str] = []
    lead, paragraph = "", []

    def end_paragraph() -> None:
        if any(len(lead + line) > WIDTH for line in paragraph):
            result.extend(lead + line for line in filled(paragraph, WIDTH - len(lead)))
        else:
            result.extend(lead + line for line in paragraph)
        paragraph.clear()

    for line in text.splitlines():
        match = COMMENT.match(line)
        if not match or match.group(1) != lead or VERBATIM.match(match.group(2)) or ITEM.match(match.group(2)):
            end_paragraph()
        if match and not VERBATIM.match(match.group(2)):
            lead = match.group(1)
            paragraph.append(match.group(2))
        else:
            result.append(line)
    end_paragraph()
    return "\n".join(result) + "\n"


def words(lines: list[str]) -> list[str]:
    """The pieces that wrapping keeps whole: words, short code spans and short links."""
    text = "\n".join(line.strip() for line in lines)

    def keep(match: re.Match[str]) -> str:
        joined = " ".join(match.group().split())
        return joined.replace(" ", "\0") if len(joined) <= 60 else joined

    text = SPAN.sub(keep, text)
    text = LINK.sub(lambda match: keep(match) if len(match.group()) <= 60 else match.group(), text)
    result: list[str] = []
    for word in text.split():
        word = word.replace("\0", " ")
        if result and MARK.match(word):
            result[-1] += " " + word
        else:
            result.append(word)
    return result
