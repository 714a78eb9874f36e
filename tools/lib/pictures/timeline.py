"""The picture of a mount around one lock: what each class can do in each phase, and which keys are in memory.

Sources: README.md's table of classes, docs/EVICTION.md, docs/THREAT-MODEL.md and Sources/Daemon/Lock/LockMachine.swift.
"""

from __future__ import annotations

from .svg import Canvas

LEFT, TOP = 196, 128
# Name, width, text below the name.
PHASES = [
    ("before the first unlock", 190, ""),
    ("unlocked", 112, ""),
    ("grace", 152, "ten seconds"),
    ("evicting", 140, "some milliseconds"),
    ("locked", 176, ""),
    ("unlocked", 112, ""),
]
ROW, GAP = 46, 8
FULL, NONE = ["read, write"], ["ENOKEY"]
# Class: pieces as (first phase, last phase, fill, words).
ROWS = [
    ("A", "complete", [
        (0, 0, "shut", NONE), (1, 2, "open", FULL), (3, 3, "part", ["write-back of", "mapped pages"]),
        (4, 4, "shut", NONE), (5, 5, "open", FULL)]),
    ("B", "complete-unless-open", [
        (0, 0, "part", ["create"]), (1, 2, "open", FULL),
        (3, 4, "part", ["create; what is open stays so", "until it is closed"]), (5, 5, "open", FULL)]),
    ("C", "complete-until-first-user-authentication", [(0, 0, "shut", NONE), (1, 5, "open", FULL)]),
    ("D", "none", [(0, 5, "open", FULL)]),
]
# Keys in the daemon's memory: name, first and last phase, fill.
KEYS = [
    ("A, and B's private key", (1, 3), "key"),
    ("file keys of B", (0, 5), "part"),
    ("C", (1, 5), "key"),
    ("D, names and sizes", (0, 5), "key"),
]


def draw() -> str:
    edges = [LEFT]
    for _, width, _ in PHASES:
        edges.append(edges[-1] + width)
    keys_top = TOP + 4 * (ROW + GAP) + 44
    bottom = keys_top + len(KEYS) * 26
    canvas = Canvas(
        edges[-1] + 24, bottom + 62, "The time line of a lock",
        "What programs can do with files of each class before the first unlock, while the vault is unlocked, in the "
        "ten seconds of grace after a lock, while keys and pages are taken out, and while it is locked.")
    heads(canvas, edges)
    events(canvas, edges, bottom)
    for index, (letter, name, pieces) in enumerate(ROWS):
        row(canvas, edges, TOP + index * (ROW + GAP), letter, name, pieces)
    canvas.text(24, keys_top - 14, "keys in memory", "quiet", 12, anchor="start")
    for index, (name, (first, last), fill) in enumerate(KEYS):
        y = keys_top + index * 26
        canvas.text(24, y + 14, name, size=11.5, anchor="start", within=LEFT - 24)
        canvas.box(edges[first] + 3, y + 2, edges[last + 1] - edges[first] - 6, 16, fill, round=4)
        if fill == "part":
            canvas.text((edges[2] + edges[4]) / 2, y + 14, "only of files that are open", size=11)
    legend(canvas, bottom + 34)
    return canvas.render()


def heads(canvas: Canvas, edges: list[int]) -> None:
    for index, (name, width, below) in enumerate(PHASES):
        middle = edges[index] + width / 2
        canvas.text(middle, TOP - 30 if below else TOP - 22, name, size=13, bold=True, within=width)
        if below:
            canvas.text(middle, TOP - 13, below, "quiet", 11.5, within=width)


def events(canvas: Canvas, edges: list[int], bottom: int) -> None:
    """Marks the events between two phases above the line between them."""
    names = [["mount"], ["unlock"], ["lock"], ["deadline"], ["keys are gone"], ["unlock"]]
    for index, rows in enumerate(names):
        x = edges[index]
        canvas.path(f"M{x} 66 V{bottom}", "edge", width=1)
        canvas.box(x - 4, 58, 8, 8, "event", "event", round=4)
        canvas.text(x, 48, rows[0], "event", 12.5, bold=True)
    # An unlock during the grace: the keys stay in memory.
    middle = (edges[2] + edges[3]) / 2
    back = f"M{middle} 66 C{middle - 4} 14 {edges[2] - 52} 14 {edges[2] - 56} 84"
    canvas.path(back, "event", arrow=True, dashed=True)
    canvas.text(middle - 30, 18, "an unlock in the grace cancels the lock", "event", 11.5, anchor="start")


def row(canvas: Canvas, edges: list[int], y: float, letter: str, name: str, pieces: list) -> None:
    canvas.text(24, y + 29, letter, size=17, bold=True, anchor="start")
    words, size = [name], 11.5
    if len(name) > 24:
        words = ["complete-until-first-", "user-authentication"]
    canvas.lines(46, y + ROW / 2, words, "quiet", size, anchor="start", leading=1.25,
                 within=LEFT - 46)
    for first, last, fill, text in pieces:
        x, width = edges[first] + 3, edges[last + 1] - edges[first] - 6
        canvas.box(x, y, width, ROW, fill)
        canvas.lines(x + width / 2, y + ROW / 2, text, size=12, within=width)


def legend(canvas: Canvas, y: float) -> None:
    x = 24.0
    for fill, words in [("open", "all calls"), ("part", "some calls"),
                        ("shut", "none: “Required key not available” (ENOKEY)"),
                        ("key", "key in memory")]:
        canvas.box(x, y - 11, 14, 14, fill, round=3)
        canvas.text(x + 20, y + 1, words, "quiet", 11.5, anchor="start")
        x += 20 + len(words) * 11.5 * 0.56 + 22
