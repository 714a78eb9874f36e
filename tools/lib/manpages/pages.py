"""The pages of section 1, from the grammar that the program prints."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from .mdoc import escaped, line, literal, paragraphs, prose, words

NAME = "latchkey"
# The program's own words: the page of the whole program shows the codes as a table.
CODES = re.compile(r"\n*Exit codes: (.*)\Z", re.DOTALL)
# Examples stand at the end of a discussion, behind a line of their own.
EXAMPLES = re.compile(r"\n*^EXAMPLES?:\s*\n(.*)\Z", re.DOTALL | re.IGNORECASE | re.MULTILINE)
# Flags that every command has; the page of the program tells of them once.
COMMON = ({"help"}, {"help", "h"}, {"version"})
OTHER_PAGES = [(NAME, "7"), (f"{NAME}-config", "5"), (f"{NAME}-policy", "5")]


@dataclass
class Page:
    name: str
    text: str


class Command:
    """A command of the program, with the words that lead to it."""

    def __init__(self, dump: dict, path: tuple[str, ...] = ()) -> None:
        self.dump = dump
        self.path = (*path, dump["commandName"])

    @property
    def title(self) -> str:
        return "-".join(self.path)

    @property
    def subcommands(self) -> list[Command]:
        shown = [Command(child, self.path) for child in self.dump.get("subcommands", []) if child["shouldDisplay"]]
        return [child for child in shown if child.path[-1] != "help"]

    def all(self) -> Iterator[Command]:
        yield self
        for child in self.subcommands:
            yield from child.all()

    @property
    def arguments(self) -> list[dict]:
        return [argument for argument in self.dump.get("arguments", []) if argument["shouldDisplay"]]

    @property
    def positionals(self) -> list[dict]:
        return [argument for argument in self.arguments if argument["kind"] == "positional"]

    @property
    def options(self) -> list[dict]:
        named = [argument for argument in self.arguments if argument["kind"] != "positional"]
        if len(self.path) == 1:
            return named
        return [argument for argument in named if {name["name"] for name in argument["names"]} not in COMMON]


def one_line(abstract: str) -> str:
    """The abstract as the end of a NAME line: no full stop, and no capital at its beginning."""
    text = abstract.strip().removesuffix(".")
    return text[:1].lower() + text[1:]


def spelled(name: dict) -> str:
    """A name of an option for Fl, which writes the first dash."""
    return rf"\-{escaped(name['name'])}" if name["kind"] == "long" else escaped(name["name"])


def value(argument: dict) -> str:
    return f" Ar {words(argument['valueName'])}" if argument["kind"] == "option" else ""


def synopsis(command: Command) -> list[str]:
    out = [".Nm " + " ".join(escaped(word) for word in command.path)]
    for argument in command.options:
        preferred = argument.get("preferredName") or argument["names"][0]
        out.append(f".Op Fl {spelled(preferred)}{value(argument)}")
    for argument in command.positionals:
        dots = " ..." if argument["isRepeating"] else ""
        macro = ".Op Ar" if argument["isOptional"] else ".Ar"
        out.append(f"{macro} {words(argument['valueName'])}{dots}")
    if command.subcommands:
        out += [".Ar command", ".Op Ar argument ..."]
    return out


def described(command: Command) -> list[str]:
    out: list[str] = []
    if command.positionals:
        out += [".Pp", "The arguments are as follows:", ".Bl -tag -width Ds"]
        for argument in command.positionals:
            out += [f".It Ar {words(argument['valueName'])}", *prose(explained(argument))]
        out.append(".El")
    if command.options:
        out += [".Pp", "The options are as follows:", ".Bl -tag -width Ds"]
        for argument in command.options:
            names = " , ".join(f"Fl {spelled(name)}" for name in argument["names"])
            out += [f".It {names}{value(argument)}", *prose(explained(argument))]
        out.append(".El")
    return out


def explained(argument: dict) -> str:
    text = argument.get("abstract", "").strip()
    discussion = argument.get("discussion", "").strip()
    out = " ".join(part for part in (text, discussion) if part)
    values = [each for each in argument.get("allValues", []) if each not in out]
    if values:
        out = f"{out} One of: {', '.join(argument['allValues'])}.".strip()
    default = argument.get("defaultValue")
    if default is not None and "(default:" not in out:
        out = f"{out} (default: {default})"
    return out or "(no text)"


def listed(commands: list[Command]) -> list[str]:
    out = [".Bl -tag -width Ds"]
    for command in commands:
        out += [f".It Xr {escaped(command.title)} 1", *prose(command.dump["abstract"])]
    return [*out, ".El"]


def exit_codes(text: str) -> list[str]:
    out = [".Bl -tag -width Ds"]
    for part in text.strip().removesuffix(".").split(", "):
        code, _, meaning = part.partition(" ")
        out += [f".It {code}", line(meaning)]
    return [*out, ".El"]


def see_also(command: Command, root: Command) -> list[str]:
    parent = next((each for each in root.all() if each.path == command.path[:-1]), None)
    near = [(each.title, "1") for each in ([parent] if parent else []) + (parent or command).subcommands]
    pages = {page for page in near + OTHER_PAGES if page[0] != command.title or page[1] != "1"}
    ordered = sorted(pages, key=lambda page: (page[1], page[0]))
    return [f".Xr {escaped(name)} {section}{' ,' if index + 1 < len(ordered) else ''}"
            for index, (name, section) in enumerate(ordered)]


ENVIRONMENT = [
    ("LATCHKEY_ASKPASS", "A program that asks for a passcode where there is no terminal and standard input is "
     "/dev/null. It gets the question as its argument, writes the answer to its standard output, and ends with 1 if "
     "the person cancels. Root runs it only if no other user can change it."),
    ("SSH_ASKPASS", "The same, if LATCHKEY_ASKPASS is not set and DISPLAY or WAYLAND_DISPLAY is. Without either of "
     "the programs, pinentry asks in a window, else systemd-ask-password."),
    ("SSH_ASKPASS_REQUIRE", "As for ssh: with prefer, the program asks also where there is a terminal; with force "
     "also where there is no display; with never, no program asks."),
]

FILES = [
    ("~/.config/latchkey/config.toml", "Names of this user's vaults."),
    ("~/.local/state/latchkey", "Device keys and counted guesses of this user's vaults, unless XDG_STATE_HOME says "
     "otherwise."),
    ("/etc/latchkey/policy.toml", "The administrator's policy."),
]


def page(command: Command, root: Command, codes: str, date: str) -> Page:
    discussion = command.dump.get("discussion", "")
    examples = EXAMPLES.search(discussion)
    if examples:
        discussion = discussion[: examples.start()]
    if found := CODES.search(discussion):
        discussion = discussion[: found.start()] if command.path == root.path else discussion
    out = [
        r".\" Written by tools/man from the program's own grammar.",
        f".Dd {date}", f".Dt {escaped(command.title.upper())} 1", ".Os",
        ".Sh NAME", f".Nm {escaped(command.title)}", f".Nd {escaped(one_line(command.dump['abstract']))}",
        ".Sh SYNOPSIS", *synopsis(command),
        ".Sh DESCRIPTION", *(paragraphs(discussion) or prose(command.dump["abstract"])), *described(command),
    ]
    if command.subcommands:
        out += [".Pp", "The commands are as follows:", *listed(command.subcommands)]
    if command.path == root.path:
        out += [".Sh ENVIRONMENT", ".Bl -tag -width Ds"]
        for name, text in ENVIRONMENT:
            out += [f".It Ev {escaped(name)}", *prose(text)]
        out.append(".El")
        out += [".Sh FILES", ".Bl -tag -width Ds"]
        for name, text in FILES:
            out += [f".It Pa {escaped(name)}", *prose(text)]
        out.append(".El")
    out += [".Sh EXIT STATUS", *exit_codes(codes)]
    if examples:
        out += [".Sh EXAMPLES", *shown(examples[1])]
    out += [".Sh SEE ALSO", *see_also(command, root)]
    return Page(f"{command.title}.1", "\n".join(out) + "\n")


def shown(text: str) -> list[str]:
    """Examples: paragraphs where they explain, and lines to type where they are indented."""
    out: list[str] = []
    typed: list[str] = []
    for each in [*text.strip("\n").split("\n"), ""]:
        if each.startswith(" "):
            typed.append(each.strip())
            continue
        if typed:
            out += literal(typed)
            typed = []
        if each.strip():
            out += ([".Pp"] if out else []) + prose(each)
    return out


def pages(dump: dict, date: str) -> list[Page]:
    root = Command(dump["command"])
    found = CODES.search(root.dump.get("discussion", ""))
    if root.path != (NAME,) or not found:
        raise ValueError("the program's help has no exit codes")
    return [page(command, root, found[1], date) for command in root.all()]
