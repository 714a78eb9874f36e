"""Checks that links and names of files lead to files of the tree, and lists the files to check."""

from __future__ import annotations

import os
import re
from functools import cached_property
from pathlib import Path

from .markdown import Document

# `Sources/…`, with or without a line number behind a colon.
IN_TREE = re.compile(r"(?:\./)?((?:Sources|Tests|docs|tools|\.ci)(?:/[\w.+*-]+)+)/?(?::\d+)?$")
BARE = re.compile(r"([\w+-]+(?:\.[\w+-]+)*\.(?:swift|md|varlink|svg|py))$")


class Tree:
    def __init__(self, top: Path) -> None:
        self.top = top
        self.anchors: dict[Path, set[str]] = {}

    @cached_property
    def names(self) -> set[str]:
        """The names of all files, without their folders."""
        names: set[str] = set()
        for _, folders, files in os.walk(self.top):
            folders[:] = [folder for folder in folders if not folder.startswith(".") or folder == ".ci"]
            names.update(files)
        return names

    def documents(self) -> list[Path]:
        return [self.top / "README.md", *sorted((self.top / "docs").rglob("*.md"))]

    def swift(self) -> list[Path]:
        found = [self.top / "Package.swift"]
        for folder in ("Sources", "Tests"):
            found += sorted((self.top / folder).rglob("*.swift"))
        return found

    def sources(self) -> list[Path]:
        """Text files whose width no formatter checks: tools, C, Python, Varlink, and strings in Package.swift.

        No JSON, which tools have written."""
        found = [self.top / "Package.swift"]
        for folder in ("tools", ".ci"):
            paths = (self.top / folder).rglob("*")
            found += sorted(path for path in paths
                            if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".json")
        for folder in ("Sources", "Tests"):
            paths = (self.top / folder).rglob("*")
            found += sorted(path for path in paths if path.suffix in (".c", ".h", ".py", ".varlink"))
        return found

    def anchors_of(self, path: Path) -> set[str]:
        if path not in self.anchors:
            self.anchors[path] = Document.read(path).anchors()
        return self.anchors[path]

    def has(self, pattern: str) -> bool:
        if "*" in pattern:
            return next(self.top.glob(pattern), None) is not None
        return (self.top / pattern).exists()


def check_links(document: Document, tree: Tree) -> list[tuple[int, str]]:
    problems = []
    for found in document.links():
        if re.match(r"[a-z][a-z0-9+.-]*:", found.text):
            continue
        name, _, anchor = found.text.partition("#")
        path = (document.path.parent / name).resolve() if name else document.path
        if not path.exists():
            problems.append((found.number, f"no such file: {found.text}"))
        elif not path.is_relative_to(tree.top.resolve()):
            problems.append((found.number, f"outside of the repository: {found.text}"))
        elif anchor and path.suffix == ".md" and anchor not in tree.anchors_of(path):
            problems.append((found.number, f"no such heading: {found.text}"))
    return problems


def check_files(document: Document, tree: Tree) -> list[tuple[int, str]]:
    problems = []
    words = [(found.number, found.text.split()[0]) for found in document.spans() if found.text.strip()]
    for found in document.code_lines():
        words += [(found.number, word) for word in found.text.split() if word.startswith("tools/")]
    for number, word in words:
        if match := IN_TREE.match(word):
            if not tree.has(match.group(1)):
                problems.append((number, f"no such file: {word}"))
        elif (match := BARE.match(word)) and match.group(1) not in tree.names:
            problems.append((number, f"no file of this name: {word}"))
    return problems
