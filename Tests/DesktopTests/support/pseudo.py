"""A language of the tests: each text of the program in marks, and written from right to left."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from .scene import TOP

PO = TOP / "Sources/latchkey-desktop/po/latchkey-desktop.pot"
OPEN, CLOSE = "\u2e28", "\u2e29"
NAME = "qps"
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')


def build(folder: Path) -> None:
    """Writes the language into a folder, as gettext reads it."""
    lines: list[str] = []
    for block in PO.read_text(encoding="utf-8").split("\n\n"):
        keys: dict[str, str] = {}
        current = ""
        for line in block.splitlines():
            word = line.split(" ")[0]
            if word in ("msgid", "msgid_plural", "msgstr", "msgstr[0]", "msgstr[1]"):
                current = word
                keys[current] = ""
            if (line.startswith('"') or word == current) and not line.startswith("#"):
                keys[current] += "".join(_STRING.findall(line))
        one, many = keys.get("msgid", ""), keys.get("msgid_plural")
        if not one:
            continue
        lines.append(f'msgid "{one}"')
        if many is None:
            lines.append('msgstr "direction:rtl"' if one == "direction:ltr" else f'msgstr "{OPEN}{one}{CLOSE}"')
        else:
            lines += [f'msgid_plural "{many}"', f'msgstr[0] "{OPEN}{one}{CLOSE}"', f'msgstr[1] "{OPEN}{many}{CLOSE}"']
        lines.append("")
    head = ('msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n'
            'Plural-Forms: nplurals=2; plural=(n != 1);\\n"\n\n')
    target = folder / NAME / "LC_MESSAGES"
    target.mkdir(parents=True)
    source = folder / "pseudo.po"
    source.write_text(head + "\n".join(lines), encoding="utf-8")
    subprocess.run(["msgfmt", "-o", str(target / "latchkey-desktop.mo"), str(source)], check=True, timeout=60)


def plain(text: str) -> str:
    """What is left of a text without what was translated."""
    depth, rest = 0, []
    for character in text:
        if character == OPEN:
            depth += 1
        elif character == CLOSE:
            depth -= 1
        elif depth == 0:
            rest.append(character)
    return "".join(rest)
