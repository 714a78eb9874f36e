"""Checks the commands in the documents against the grammar that the built program prints."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from pathlib import Path

from .markdown import Document, Found

NAME = "latchkey"
# Commands of other programs that begin like ours.
FOREIGN = ("mount --bind",)
# The operators that end a command in a shell.
ENDS = re.compile(r"[|&;<>()]+$")
# VALUE, <value>, …: placeholders that the reader replaces.
PLACEHOLDER = re.compile(r"[A-Z][A-Z0-9_.-]*$|<.*>$|…$|\.\.\.$")


class Grammar:
    """Commands, options and values, from swift-argument-parser's dump of them."""

    def __init__(self, dump: dict) -> None:
        self.root = dump["command"]

    @classmethod
    def of(cls, program: Path) -> Grammar:
        done = subprocess.run([program, "--experimental-dump-help"], capture_output=True, text=True, check=True)
        return cls(json.loads(done.stdout))

    def is_short_form(self, text: str) -> bool:
        """Whether a text is a command of the program without the program's name: `slot add`, `init --weak`."""
        words = text.split()
        command = next((child for child in self.root["subcommands"] if words[:1] == [child["commandName"]]), None)
        if command is None or len(words) < 2 or text.startswith(FOREIGN):
            return False
        return words[1].startswith("--") or any(
            child["commandName"] == words[1] for child in command.get("subcommands", []))

    def problem(self, words: list[str], whole: bool) -> str | None:
        """Why the program refuses the words behind its name, or None. Unless `whole`, objects may be missing."""
        command, path = self.root, NAME
        words = list(words)
        while words and (children := command.get("subcommands")):
            child = next((child for child in children if child["commandName"] == words[0]), None)
            if child is None:
                if words[0].startswith("-"):
                    break
                return f"{path} has no command {words[0]!r}"
            command, path = child, f"{path} {words.pop(0)}"
        return Arguments(command, path).problem(words, whole)


class Arguments:
    """The arguments of one command."""

    def __init__(self, command: dict, path: str) -> None:
        arguments = command.get("arguments", [])
        self.path = path
        self.is_group = bool(command.get("subcommands"))
        self.positionals = [argument for argument in arguments if argument["kind"] == "positional"]
        self.named = {
            ("--" if name["kind"] == "long" else "-") + name["name"]: argument
            for argument in arguments
            for name in argument.get("names", [])
        }

    def problem(self, words: list[str], whole: bool) -> str | None:
        given: list[str] = []
        seen: set[str] = set()
        only_objects = False
        words = list(words)
        while words:
            word = words.pop(0)
            if only_objects or not word.startswith("-") or word == "-":
                given.append(word)
                continue
            if word == "--":
                only_objects = True
                continue
            name, equals, value = word.partition("=")
            argument = self.named.get(name)
            if argument is None:
                return f"{self.path} has no option {name}"
            seen.add(argument["valueName"])
            if argument["kind"] == "flag":
                if equals:
                    return f"{self.path} {name} takes no value"
                continue
            if not equals:
                if words and not words[0].startswith("-"):
                    value = words.pop(0)
                elif whole or words:
                    return f"{self.path} {name} lacks its value"
                else:
                    continue
            if problem := self.unknown_value(argument, value, name):
                return problem
        if whole and not seen & {"help", "version"} and self.is_group:
            return f"{self.path} lacks its command"
        return self.problem_of_objects(given, whole and not seen & {"help", "version"})

    def problem_of_objects(self, given: list[str], whole: bool) -> str | None:
        repeating = any(argument["isRepeating"] for argument in self.positionals)
        if len(given) > len(self.positionals) and not repeating:
            return f"{self.path} takes no {given[len(self.positionals)]!r}"
        needed = [argument for argument in self.positionals if not argument["isOptional"]]
        if whole and len(given) < len(needed):
            return f"{self.path} lacks {needed[len(given)]['valueName'].upper()}"
        for argument, value in zip(self.positionals, given):
            if problem := self.unknown_value(argument, value, argument["valueName"].upper()):
                return problem
        return None

    def unknown_value(self, argument: dict, value: str, name: str) -> str | None:
        values = argument.get("allValues")
        if not values or value in values or PLACEHOLDER.match(value):
            return None
        return f"{self.path}: {name} is not {value!r}, but one of {', '.join(values)}"


def commands(line: str) -> list[list[str]]:
    """The words behind each `latchkey` in a line, as a shell splits them. Brackets around [--option] are ignored."""
    line = re.sub(r"\[([^\[\]]*)\]", r" \1 ", line)
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.wordchars += "…:@%+,{}"
    lexer.whitespace_split = True
    found: list[list[str]] = []
    inside, first = False, True
    for word in lexer:
        if ENDS.match(word):
            inside, first = False, True
        elif inside:
            found[-1].append(word)
        elif first and word in ("sudo", "$", "if", "!", "then") or first and re.match(r"\w+=", word):
            continue
        else:
            inside = first and word.split("/")[-1] == NAME
            first = False
            if inside:
                found.append([])
    return found


def check_commands(document: Document, grammar: Grammar) -> list[tuple[int, str]]:
    problems = []
    named = [(found, False) for found in document.spans() if re.match(rf"{NAME}\s", found.text)]
    named += [(Found(found.number, f"{NAME} {found.text}"), False)
              for found in document.spans() if grammar.is_short_form(found.text)]
    blocks = [(found, True) for found in document.code_lines() if re.search(rf"\b{NAME}\s", found.text)]
    for found, whole in named + blocks:
        try:
            parsed = commands(found.text)
        except ValueError as error:
            problems.append((found.number, f"no shell could read this: {found.text} ({error})"))
            continue
        for words in parsed:
            if problem := grammar.problem(words, whole):
                problems.append((found.number, f"{problem}: {found.text}"))
    return problems
