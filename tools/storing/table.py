"""The tables of docs/STORES.md, from the results of tools/stores. Nothing in them is written by hand."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any, Optional

from steps import FAIL, NONE, PASS, named

DOCUMENT = Path(__file__).resolve().parent.parent.parent / "docs" / "STORES.md"
ORDER = ("local", "glusterfs", "moosefs", "sshfs", "syncthing", "rclone", "s3fs", "samba", "smbnetfs", "davfs2", "cephfs")
TITLES = {"local": "ext4 (local)", "glusterfs": "GlusterFS", "moosefs": "MooseFS", "sshfs": "sshfs",
          "syncthing": "Syncthing", "rclone": "rclone mount", "s3fs": "s3fs", "samba": "Samba, by rclone", "smbnetfs": "Samba, by smbnetfs", "cephfs": "CephFS",
          "davfs2": "WebDAV, by davfs2"}
# The steps that together say that a vault can be used there, and those that are promises beyond that.
USE = ("main", "handover", "lock", "git", "sqlite", "fsx")
PROMISES = {
    "killed": ("fsynced data survives a killed daemon", "fsynced data does not survive a killed daemon"),
    "fsync": ("and a killed server", "not a killed server"),
    "gone": ("writes go on after 30 s without the server", "no writes after 30 s without the server"),
    "gone-lock": ("a lock finishes without the server", "a lock waits for the server"),
    "replica": ("a lost replica loses nothing", "a lost replica loses data"),
    "second": ("a second machine is refused", "a second machine mounts the vault too"),
    "ended": ("another machine takes the vault over", "no other machine takes the vault over"),
}


def load(results: Path) -> list[dict[str, Any]]:
    records = [json.loads(path.read_text()) for path in results.glob("*.json")]
    rank = {name: place for place, name in enumerate(ORDER)}
    return sorted(records, key=lambda record: (rank.get(record["store"], 99), record["store"]))


def outcome(record: dict[str, Any], step: str) -> Optional[str]:
    found = record["steps"].get(step)
    return found["result"] if found else None


def cell(text: str) -> str:
    """A cell of a table: folders of this run say nothing to a reader."""
    text = re.sub(r"/\S*/m(\d)/(store|vault)/?\S*", r"(machine \1's \2)", text)
    text = re.sub(r"/tmp/latchkey-stores\.\w+\S*", "(the store)", text)
    return text.replace("|", "\\|").replace("<", "&lt;")


def works(record: dict[str, Any]) -> str:
    if record["starts"]:
        return f"does not start here: {record['starts']}"
    main = record["steps"].get("main", {"result": NONE, "what": "not tried"})
    if main["what"].startswith(("init:", "mount:")):
        return f"no: {main['what']}"
    wrong = [step for step in USE if outcome(record, step) == FAIL]
    return "yes" if not wrong else f"in part: {', '.join(wrong)} fail" + ("s" if len(wrong) == 1 else "")


def promised(record: dict[str, Any], result: str) -> str:
    place = 0 if result == PASS else 1
    return "; ".join(words[place] for step, words in PROMISES.items() if outcome(record, step) == result)


def fast(record: dict[str, Any]) -> str:
    figures = record["steps"].get("speed", {}).get("figures")
    if not figures:
        return ""
    pair = ("vault", "localVault") if "vault" in figures else ("store", "local")
    one, other = figures[pair[0]], figures[pair[1]]
    rates = ", ".join(f"{name} {share(one[name] / other[name])}" for name in other if other[name])
    return rates + ("" if pair[0] == "vault" else " (the store itself)")


def share(ratio: float) -> str:
    return f"{ratio:.2f}" if ratio < 0.995 else f"{ratio:.1f}"


def first_table(records: list[dict[str, Any]]) -> str:
    lines = ["| store | works | what is promised | what is not | how fast, ext4 = 1 |", "|---|---|---|---|---|"]
    for record in records:
        row = [TITLES.get(record["store"], record["store"]), works(record), promised(record, PASS),
               promised(record, FAIL), fast(record)]
        lines.append("| " + " | ".join(cell(text) for text in row) + " |")
    return "\n".join(lines)


def all_steps(records: list[dict[str, Any]]) -> str:
    lines = ["| step | " + " | ".join(TITLES.get(record["store"], record["store"]) for record in records) + " |",
             "|---|" + "---|" * len(records)]
    words = {PASS: "pass", FAIL: "**fail**", NONE: "–", None: ""}
    for step in named():
        if step != "speed":
            lines.append(f"| `{step}` | " + " | ".join(words[outcome(record, step)] for record in records) + " |")
    return "\n".join(lines)


def details(records: list[dict[str, Any]]) -> str:
    parts = []
    for record in records:
        parts.append(f"### {TITLES.get(record['store'], record['store'])}\n")
        parts.append(f"{record['about']}. {record['version']}; the last run was on {record['date']}.\n")
        if record["starts"]:
            parts.append(f"It does not start here: {cell(record['starts'])}\n")
        lines = ["| step | result | what |", "|---|---|---|"]
        for step in named():
            found = record["steps"].get(step)
            if found and found["result"] != NONE:
                lines.append(f"| `{step}` | {found['result']} | {cell(found['what'])} |")
        if len(lines) > 2:
            parts.append("\n".join(lines) + "\n")
    return "\n".join(parts).rstrip("\n")


def steps_table() -> str:
    lines = ["| step | what it does |", "|---|---|"]
    lines += [f"| `{name}` | {(step.__doc__ or '').strip()} |" for name, step in named().items()]
    return "\n".join(lines)


def write(results: Path) -> None:
    """Puts each table between its two markers."""
    records = load(results)
    text = DOCUMENT.read_text()
    for marker, table in (("stores", first_table(records)), ("steps", steps_table()), ("results", all_steps(records)),
                          ("details", details(records))):
        begin, end = f"<!-- {marker}: written by tools/stores -->", f"<!-- end of {marker} -->"
        if begin not in text or end not in text:
            sys.exit(f"stores: docs/STORES.md has no place for its table of {marker}")
        before, rest = text.split(begin, 1)
        text = f"{before}{begin}\n\n{table}\n\n{end}{rest.split(end, 1)[1]}"
    DOCUMENT.write_text(text)
