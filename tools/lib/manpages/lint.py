"""Runs mandoc's checks on the pages, and checks that they refer to pages that exist."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

CROSS = re.compile(r"^\.(?:It )?Xr (\S+) (\d)", re.MULTILINE)
# Whether the pages of other packages are installed on this machine says nothing about ours.
ELSEWHERE = re.compile(r"referenced manual not found|outdated mandoc\.db lacks")


def lint(paths: list[Path]) -> list[str]:
    done = subprocess.run(["mandoc", "-T", "lint", *paths], capture_output=True, text=True, check=False)
    problems = [each for each in (done.stdout + done.stderr).splitlines() if not ELSEWHERE.search(each)]
    names = {path.name for path in paths}
    for path in paths:
        for name, section in CROSS.findall(path.read_text("utf-8")):
            plain = name.replace(r"\-", "-")
            if "latchkey" in plain and f"{plain}.{section}" not in names:
                problems.append(f"{path}: refers to {plain}({section}), which does not exist")
    return problems
