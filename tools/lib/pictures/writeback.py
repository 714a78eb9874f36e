"""The picture of the write path: the parts of a file's state that decide what a sync, a checkpoint or a rename does.

Source: Sources/Writeback/State.
"""

from __future__ import annotations

from .svg import Canvas

LABEL_WIDTH, BOX_WIDTH, GAP, BOX_HEIGHT, LANE = 240, 152, 104, 54, 122
LEFT = 24
# What the lane is about, the type that holds it, its states with a gloss, the events between them, and the event that
# leads from the last state back, with the state that it leads to.
LANES = [
    ("the header in the backing file", "DurableState.flushed",
     [("none", "a new file"), ("flushed", "on disk, at least this"), ("assumed", "found at an open")],
     [("flush", "→"), ("flush", "←")], None),
    ("its records in the journal", "JournaledState.records",
     [("none", "only in place"), ("declared", "an intent alone"), ("complete", "a header is last"),
      ("headerless", "blocks are last")],
     [("intent", "→"), ("header", "→"), ("block", "⇄ header")], (2, 0, "header of a checkpoint")),
    ("what was written", "SyncState.confirmed",
     [("not all", "something is not durable"), ("contents", "durable in place"), ("all", "a header confirms it")],
     [("flush", "→"), ("header", "→")], (2, 0, "write, truncate")),
    ("a truncation", "DurableState.truncation",
     [("durable", "no crash undoes it"), ("unsynced", "a crash may undo it"), ("synced", "no growth over it")],
     [("truncate", "→"), ("sync", "→")], (2, 0, "flush")),
    ("the last name", "NameState.removal",
     [("named", "replay finds it"), ("removed", "a crash may undo it"), ("durable", "nothing is left of it")],
     [("unlink", "→"), ("flush of the folder", "→")], None),
]


def draw() -> str:
    width = LEFT + LABEL_WIDTH + 4 * BOX_WIDTH + 3 * GAP + 24
    canvas = Canvas(
        width, 30 + LANE * len(LANES), "The state of a file in the write path",
        "Five parts of a file's state, each with its states and the events that lead from one to the next: the header "
        "on disk, the records in the journal, what was written, a truncation, and the last name.")
    for index, lane in enumerate(LANES):
        draw_lane(canvas, 30 + index * LANE, *lane)
    return canvas.render()


def draw_lane(canvas: Canvas, top: float, title: str, field: str, states: list[tuple[str, str]],
              events: list[tuple[str, str]], back: tuple[int, int, str] | None) -> None:
    middle = top + BOX_HEIGHT / 2
    canvas.text(LEFT, middle - 4, title, size=12, anchor="start", bold=True, within=LABEL_WIDTH)
    canvas.text(LEFT, middle + 14, field, "quiet", 11, anchor="start", mono=True)
    left = [LEFT + LABEL_WIDTH + column * (BOX_WIDTH + GAP) for column in range(len(states))]
    for x, (name, gloss) in zip(left, states):
        canvas.box(x, top, BOX_WIDTH, BOX_HEIGHT, "panel")
        canvas.text(x + BOX_WIDTH / 2, middle - 4, name, size=13, bold=True, within=BOX_WIDTH)
        canvas.text(x + BOX_WIDTH / 2, middle + 14, gloss, "quiet", 10, within=BOX_WIDTH)
    for x, (event, direction) in zip(left, events):
        begin, end = x + BOX_WIDTH + 2, x + BOX_WIDTH + GAP - 2
        canvas.text((begin + end) / 2, middle - 12, event, "event", 10, within=GAP + 20)
        if direction.startswith("⇄"):
            canvas.path(f"M{begin} {middle - 6} H{end}", arrow=True)
            canvas.path(f"M{end} {middle + 6} H{begin}", arrow=True)
            canvas.text((begin + end) / 2, middle + 20, direction[2:], "event", 10, within=GAP)
        elif direction == "←":
            canvas.path(f"M{end} {middle} H{begin}", arrow=True)
        else:
            canvas.path(f"M{begin} {middle} H{end}", arrow=True)
    if back is not None:
        source, target, event = back
        begin, end = left[source] + BOX_WIDTH / 2, left[target] + BOX_WIDTH / 2
        low = top + BOX_HEIGHT + 22
        canvas.path(f"M{begin} {top + BOX_HEIGHT + 2} V{low} H{end} V{top + BOX_HEIGHT + 3}", arrow=True)
        canvas.text((begin + end) / 2, low + 14, event, "event", 10)
