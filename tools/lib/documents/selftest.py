"""Shows each check documents that it must refuse and documents that it must accept."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from .commands import Grammar, check_commands, commands
from .files import Tree, check_files, check_links
from .markdown import Document
from .width import WIDTH, check_markdown, check_source, check_swift, wrapped, wrapped_swift


def argument(kind: str, name: str, **more: object) -> dict:
    names = [] if kind == "positional" else [{"kind": "long", "name": name}]
    return {"kind": kind, "valueName": name, "names": names, "isOptional": True, "isRepeating": False, **more}


# The dump of swift-argument-parser for a program with `open [--wait] [--key FILE] VAULT` and `class set CLASS FILE...`.
GRAMMAR = Grammar({
    "command": {
        "commandName": "latchkey",
        "arguments": [argument("flag", "version")],
        "subcommands": [
            {
                "commandName": "open",
                "arguments": [
                    argument("flag", "wait"),
                    argument("option", "key"),
                    argument("positional", "vault", isOptional=False),
                ],
            },
            {
                "commandName": "class",
                "subcommands": [
                    {
                        "commandName": "set",
                        "arguments": [
                            argument("positional", "class", isOptional=False, allValues=["none", "complete"]),
                            argument("positional", "path", isOptional=False, isRepeating=True),
                        ],
                    }
                ],
            },
        ],
    }
})

# A check, a document, and a part of the expected problem; None if the check must accept the document.
CASES = [
    ("links", "[a](README.md), [b](#a-heading), [c](docs/other.md#twice-1), [d](https://example.org/x)", None),
    ("links", "[a](absent.md)", "no such file: absent.md"),
    ("links", "![a](docs/absent.svg)", "no such file: docs/absent.svg"),
    ("links", '<img src="docs/absent.svg">', "no such file: docs/absent.svg"),
    ("links", "[a](docs/other.md#none)", "no such heading: docs/other.md#none"),
    ("links", "[a](#none)", "no such heading: #none"),
    ("links", "`[a](absent.md)`", None),
    ("files", "`tools/run --fast`, `Sources/A/*.swift`, `One.swift:12`, `notes.txt`", None),
    ("files", "`tools/absent --fast`", "no such file: tools/absent"),
    ("files", "`Sources/A/Two.swift`", "no such file: Sources/A/Two.swift"),
    ("files", "`Two.swift`", "no file of this name: Two.swift"),
    ("files", "    tools/absent", "no such file: tools/absent"),
    ("commands", "`latchkey open` and `latchkey class\nset complete`", None),
    ("commands", "    $ sudo latchkey open --key FILE VAULT | less    # a remark", None),
    ("commands", "    latchkey open [--wait] VAULT", None),
    ("commands", "`latchkey shut VAULT`", "has no command 'shut'"),
    ("commands", "`latchkey open --hurry VAULT`", "has no option --hurry"),
    ("commands", "`latchkey open --wait=yes VAULT`", "takes no value"),
    ("commands", "`latchkey open --key --wait VAULT`", "--key lacks its value"),
    ("commands", "    latchkey open VAULT --key", "--key lacks its value"),
    ("commands", "`latchkey open VAULT DIR`", "takes no 'DIR'"),
    ("commands", "    latchkey open", "lacks VAULT"),
    ("commands", "    latchkey class", "lacks its command"),
    ("commands", "```sh\nlatchkey class set comlete FILE\n```", "is not 'comlete'"),
    ("commands", "    true && latchkey shut", "has no command 'shut'"),
    ("commands", "`class set none` and `open --wait`, but not `mount --bind` or `open`", None),
    ("commands", "`open --hurry`", "has no option --hurry"),
    ("commands", "| `latchkey shut` | a table |", "has no command 'shut'"),
    ("width", "word " * 24 + "\n" + "| cell " * 40 + "|\n\n```\n" + "code " * 40 + "\n```\nhttps://" + "x" * 130, None),
    ("width", "word " * 24 + "words", "125 columns"),
    ("width", "- " + "word " * 24, "122 columns"),
]


def run() -> None:
    failures = [failure for case in CASES if (failure := fails(*case))] + wrapping() + swift() + sources()
    for failure in failures:
        print(failure)
    if failures:
        sys.exit(f"check-docs --self-test: {len(failures)} failed")
    print(f"{len(CASES)} documents were accepted or refused as they should be")


def fails(check: str, text: str, expected: str | None) -> str | None:
    with tempfile.TemporaryDirectory() as folder:
        tree = Tree(Path(folder))
        for name in ("tools/run", "Sources/A/One.swift", "docs/other.md"):
            (tree.top / name).parent.mkdir(parents=True, exist_ok=True)
            (tree.top / name).write_text("# Twice\n\n# Twice\n")
        document = Document(tree.top / "README.md", f"# A heading\n\n{text}\n")
        document.path.write_text(f"# A heading\n\n{text}\n")
        found = {
            "links": lambda: check_links(document, tree),
            "files": lambda: check_files(document, tree),
            "commands": lambda: check_commands(document, GRAMMAR),
            "width": lambda: check_markdown(document),
        }[check]()
    said = "; ".join(problem for _, problem in found)
    if expected is None:
        return f"{check}: {text!r} must be accepted, but was refused: {said}" if said else None
    if len(found) == 1 and expected in said:
        return None
    return f"{check}: {text!r} must be refused with {expected!r}, but the check said {said!r}"


def wrapping() -> list[str]:
    """Checks that wrapped text is narrow, has the same words, and begins no new line with a mark."""
    text = "- " + "some words - and `code that stays` " * 12 + "\n\n| a | " + "b" * 130 + " |\n"
    after = wrapped(Document(Path("x.md"), text))
    failures = []
    lines = after.splitlines()
    if after.split() != text.split() or any(len(line) > WIDTH for line in lines if not line.startswith("|")):
        failures.append(f"wrapping changed words or left a wide line: {after!r}")
    if any(line.lstrip().startswith("- ") for line in lines[1:]) or any(line.count("`") % 2 for line in lines):
        failures.append(f"wrapping made a list or broke code: {after!r}")
    if wrapped(Document(Path("x.md"), after)) != after or commands("x latchkey open"):
        failures.append("a second wrapping changed the text")
    return failures


def swift() -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "A.swift"
        text = "    /// " + "word " * 30 + "\n    /// - Returns: a\n    let a = 1\n// https://" + "x" * 120 + "\n"
        path.write_text(text)
        seen = [number for number, _ in check_swift(path)] == [1]
        path.write_text(wrapped_swift(text))
        lines = path.read_text().splitlines()
        filled = not check_swift(path) and len(lines) == 5 and lines[2:] == text.splitlines()[1:]
        return [] if seen and filled else ["a wide Swift comment was not found, or not refilled"]


def sources() -> list[str]:
    """Checks that wide lines are found in each kind of source, and in no other file."""
    kinds = ["tools/run", "tools/lib/part.py", ".ci/run", "Sources/A/a.c", "Tests/A/a.h", "Sources/A/a.varlink",
             "Package.swift"]
    others = ["tools/lib/__pycache__/part.pyc", "tools/found.json", "Sources/A/One.swift", "docs/other.md"]
    wide = "word " * 30
    url = "https://" + "x" * 120
    text = f"# {url}\n    // {url}\n{'x' * WIDTH}\n{wide}\n# {wide}\n"
    with tempfile.TemporaryDirectory() as folder:
        tree = Tree(Path(folder))
        for name in kinds + others:
            (tree.top / name).parent.mkdir(parents=True, exist_ok=True)
            (tree.top / name).write_text(text)
        found = {str(path.relative_to(tree.top)): [number for number, _ in check_source(path)]
                 for path in tree.sources()}
    expected = {name: [4, 5] for name in kinds}
    return [] if found == expected else [f"wide lines of sources: {found} instead of {expected}"]
