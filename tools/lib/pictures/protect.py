"""The picture of what happens to a file that is protected, and of what a crash leaves at each step.

Source: docs/PROTECT.md, Sources/Migration/Moving/Move.swift.
"""

from __future__ import annotations

from .svg import Canvas

LEFT, WIDTH, GAP = 24, 228, 28
# Step, what lies in the folder, what lies in the vault, what the next run does after a crash.
STEPS = [
    ("1  a copy is made", "original", "open", "copy without a name", "part", ["begins with", "the original again"]),
    ("2  durable, read back, equal", "original", "open", "copy without a name", "part",
     ["begins with", "the original again"]),
    ("3  the copy has its name", "original", "open", "copy", "open", ["compares the two,", "goes on with step 4"]),
    ("4  the original goes", "", "shut", "copy", "open", ["is done with this file"]),
]


def draw() -> str:
    width = 2 * LEFT + len(STEPS) * WIDTH + (len(STEPS) - 1) * GAP
    canvas = Canvas(
        width, 348, "What happens to each file",
        "A copy is made in the vault under no name; it is made durable, read back and compared; it gets its name; "
        "then the original is taken away. Until step 3 a crash leaves the original alone under the name, at step 3 "
        "both, and after step 4 the copy.")
    for index, (step, original, shade, copy, fill, after) in enumerate(STEPS):
        x = LEFT + index * (WIDTH + GAP)
        middle = x + WIDTH / 2
        canvas.box(x, 24, WIDTH, 40, "key")
        canvas.text(middle, 49, step, size=12.5, bold=True, within=WIDTH)
        for y, place, words, colour in [(84, "in the folder", original, shade), (164, "in the vault", copy, fill)]:
            canvas.text(x, y + 10, place, "quiet", 11, anchor="start")
            canvas.box(x, y + 18, WIDTH, 44, colour if words else "panel", dashed=not words or "without" in words)
            canvas.text(middle, y + 45, words or "nothing", "ink" if words else "quiet", 12.5, within=WIDTH)
        canvas.text(x, 254, "after a crash, the next run", "quiet", 11, anchor="start")
        canvas.box(x, 262, WIDTH, 56, "panel")
        canvas.lines(middle, 290, after, size=12.5, within=WIDTH)
        if index + 1 < len(STEPS):
            canvas.path(f"M{x + WIDTH + 2} 44 H{x + WIDTH + GAP - 3}", arrow=True)
    return canvas.render()
