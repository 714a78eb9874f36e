"""The tables of docs/STORES.md, from the results of tools/stores. Nothing in them is written by hand."""

from __future__ import annotations

import json
import sys
import textwrap
from pathlib import Path
from typing import Any, Optional

from scene import ERROR, FAIL, NONE, PASS, REFUSED
from steps import named

DOCUMENT = Path(__file__).resolve().parent.parent.parent / "docs" / "STORES.md"
README = DOCUMENT.parent.parent / "README.md"
ORDER = ("local", "glusterfs", "moosefs", "cephfs", "sshfs", "syncthing", "rclone", "s3fs", "samba", "smbnetfs",
         "davfs2")
TITLES = {"local": "ext4 (local)", "glusterfs": "GlusterFS", "moosefs": "MooseFS", "sshfs": "sshfs",
          "syncthing": "Syncthing", "rclone": "S3, by rclone mount", "s3fs": "S3, by s3fs", "cephfs": "CephFS",
          "samba": "Samba, by rclone mount", "smbnetfs": "Samba, by smbnetfs",
          "davfs2": "WebDAV, by davfs2"}
# The steps that together say that a vault can be used there, and what the calls of `main` are to a reader.
USE = ("main", "handover", "lock", "git", "sqlite", "fsx")
CALLS = {"link": "hard links", "symlink": "symbolic links", "xattr": "extended attributes", "attributes": "exact times",
         "names": "difference between A and a", "folder removed": "removal of a folder right after its files"}
# What follows if a step has passed, and if it has failed.
PROMISES = {
    "killed": ("fsynced data survives a killed daemon", "fsynced data does not survive a killed daemon"),
    "fsync": ("fsynced data survives killed server processes", "fsynced data does not survive killed server processes"),
    "gone": ("writes go on after 30 s without the server", "writes do not go on after 30 s without the server"),
    "gone-lock": ("a lock finishes without the server", "a lock waits while the server does not answer"),
    "replica": ("a lost replica loses nothing", "not everything holds when a replica is lost"),
    "second": ("a second machine is refused", "a second machine is not refused"),
    "ended": ("another machine has the vault {seconds:.0f} s after this one's end",
              "no other machine has everything after this one's end"),
}


def load(results: Path) -> list[dict[str, Any]]:
    records = [json.loads(path.read_text()) for path in results.glob("*.json")]
    rank = {name: place for place, name in enumerate(ORDER)}
    return sorted(records, key=lambda record: (rank.get(record["store"], 99), record["store"]))


def outcome(record: dict[str, Any], step: str) -> Optional[str]:
    found = record["steps"].get(step)
    return found["result"] if found else None


def cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def works(record: dict[str, Any]) -> str:
    if record["starts"]:
        return f"does not start here: {record['starts']}"
    main = record["steps"].get("main", {"result": NONE, "what": "not tried"})
    if main["what"].startswith(("init:", "mount:", "client")):
        return f"{'refused' if main['result'] == REFUSED else 'no'}: {main['what']}"
    without = [CALLS.get(call, call) for call in main.get("figures", {}).get("calls", {})]
    wrong = [step for step in USE if outcome(record, step) in (FAIL, ERROR) and (step != "main" or not without)]
    missing = [step for step in USE if outcome(record, step) is None]
    parts = [f"no {', '.join(without)}"] if without else []
    parts += [f"{', '.join(wrong)} fail" + ("s" if len(wrong) == 1 else "")] if wrong else []
    parts += ["not all steps were run"] if missing else []
    return f"in part: {'; '.join(parts)}" if parts else "yes"


def promised(record: dict[str, Any], result: str) -> str:
    place = 0 if result == PASS else 1
    words = [text[place].format(**record["steps"][step].get("figures", {}))
             for step, text in PROMISES.items() if outcome(record, step) == result]
    if result == FAIL and record["steps"].get("fsync", {}).get("figures", {}).get("serverSyncs") == 0:
        words.append("the server syncs nothing to its disk, so its power cut may lose what was fsynced")
    unknown = [step for step in PROMISES if outcome(record, step) == ERROR]
    if result == FAIL and unknown:
        words.append(f"not known, because the step did not get so far: {', '.join(unknown)}")
    return "; ".join(words)


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
    words = {PASS: "pass", FAIL: "**fail**", ERROR: "error", REFUSED: "refused", NONE: "–", None: ""}
    for step in named():
        if step == "speed":
            continue
        cells = [words[outcome(record, step)] for record in records]
        if step == "pjdfstest":
            cells = [f"{word} {failures(record)}".strip() for word, record in zip(cells, records)]
        lines.append(f"| `{step}` | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def failures(record: dict[str, Any]) -> str:
    """How many tests of pjdfstest fail in the mount, and in the store itself."""
    found = record["steps"].get("pjdfstest", {}).get("figures")
    return f"{len(found['mount'])} : {len(found['store'])}" if found else ""


def details(records: list[dict[str, Any]]) -> str:
    parts = []
    for record in records:
        parts.append(f"### {TITLES.get(record['store'], record['store'])}\n")
        about = f"{record['about'][0].upper()}{record['about'][1:]}. It is {record['version']}; the last run was on " \
            f"{record['date']}."
        if record["starts"]:
            about += f" It does not start here: {cell(record['starts'])}"
        parts.append(textwrap.fill(about, 120, break_long_words=False) + "\n")
        follows = record["steps"].get("main", {}).get("figures", {}).get("doctor", [])
        if follows:
            parts.append("What follows by `latchkey doctor`:\n")
            parts.append("\n".join(textwrap.fill(cell(line), 120, initial_indent="- ", subsequent_indent="  ",
                                                 break_long_words=False) for line in follows) + "\n")
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


def where(records: list[dict[str, Any]]) -> str:
    """The table of the first page, with one line for each answer."""
    answers: dict[str, list[str]] = {}
    for record in records:
        answers.setdefault(in_short(record), []).append(TITLES.get(record["store"], record["store"]))
    lines = ["| where | |", "|---|---|"]
    lines += [f"| {', '.join(names)} | {answer} |" for answer, names in answers.items()]
    return "\n".join(lines)


def in_short(record: dict[str, Any]) -> str:
    words = works(record)
    if words.startswith("does not start"):
        return "not tested: the store does not start here"
    if words.startswith("no:"):
        return "no: a vault cannot be made or mounted there"
    if words.startswith("refused:"):
        return "no: Latchkey refuses it, because a vault loses data there"
    answer = words.split(":")[0] if words.startswith("in part: main") else words
    if outcome(record, "second") == FAIL:
        answer += "; see to it yourself that only one machine mounts it"
    if outcome(record, "ended") == FAIL:
        answer += "; another machine may not have everything when one ends without a word"
    return answer


def write(results: Path) -> None:
    """Puts each table between its two markers."""
    for document, text in rendered(results).items():
        document.write_text(text)


def check(results: Path) -> None:
    """Ends the tool with status 1 if somebody has changed a table by hand, or a result without its table."""
    for document, text in rendered(results).items():
        if document.read_text() != text:
            sys.exit(f"stores: the tables of {document.name} are not those of the results; try: tools/stores --table")


def rendered(results: Path) -> dict[Path, str]:
    records = load(results)
    tables = {"stores": first_table(records), "steps": steps_table(), "results": all_steps(records),
              "details": details(records)}
    return {DOCUMENT: replaced(DOCUMENT, tables), README: replaced(README, {"where": where(records)})}


def replaced(document: Path, tables: dict[str, str]) -> str:
    text = document.read_text()
    for marker, table in tables.items():
        begin, end = f"<!-- {marker}: written by tools/stores -->", f"<!-- end of {marker} -->"
        if begin not in text or end not in text:
            sys.exit(f"stores: {document.name} has no place for the table of {marker}")
        before, rest = text.split(begin, 1)
        text = f"{before}{begin}\n\n{table}\n\n{end}{rest.split(end, 1)[1]}"
    return text
