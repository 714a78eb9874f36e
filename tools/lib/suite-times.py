#!/usr/bin/env python3
"""suite-times.py LOG: prints how long each suite took in a log of swift test, the slowest first.

One last line counts the suites below a second. The time of a suite is that from the start of its first test to the end
of its last one, and includes the suites inside it. Suites run in parallel, except the mount tests, which run one after
another.
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
            # Two modules may have suites of the same name: the longer time counts.
            times[name] = max(times.get(name, 0), float(found[2]))
    slow = sorted(((took, name) for name, took in times.items() if took >= 1), reverse=True)
    for took, name in slow:
        print(f"{took:7.1f} s  {name}")
    print(f"and {len(times) - len(slow)} suites below a second each")


if __name__ == "__main__":
    main()
