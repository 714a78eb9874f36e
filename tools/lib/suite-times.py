#!/usr/bin/env python3
"""Reads what swift test has said, and says how long each suite took: the slowest first, those below a second in one line.

A suite's time is that from its first test to the end of its last one. Suites run beside each other but for the mount tests,
which run one after another, and a suite that holds others has their time in its own.
"""

from __future__ import annotations

import re
import sys


def main() -> None:
    times: dict[str, float] = {}
    for line in open(sys.argv[1], errors="replace"):
        found = re.search(r"[✔✘] Suite (.+) (?:passed|failed) after ([0-9.]+) seconds", line)
        if found:
            name = found[1].strip('"')
            # Two modules may have a suite of one name.
            times[name] = max(times.get(name, 0), float(found[2]))
    slow = sorted(((took, name) for name, took in times.items() if took >= 1), reverse=True)
    for took, name in slow:
        print(f"{took:7.1f} s  {name}")
    print(f"and {len(times) - len(slow)} suites below a second each")


if __name__ == "__main__":
    main()
