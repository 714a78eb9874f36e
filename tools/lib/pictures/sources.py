"""The picture of what locks when: the events that the agent hears, what it does, and which classes stay open then.

Sources: docs/DESKTOP.md and docs/CONTROL.md.
"""

from __future__ import annotations

from .svg import Canvas

# Columns: what happens, what the agent does, what is open then.
EVENTS, ACTION, STATE = 24, 376, 700
EVENTS_WIDTH, ACTION_WIDTH, STATE_WIDTH = 300, 272, 276
# Each event and who tells of it.
GRACE = [
    ("the session or the screen locks", "logind, screen saver"),
    ("another user is switched to", "logind"),
    ("the user’s last session ends", "logind"),
    ("the lid closes", "UPower"),
    ("the user is idle", "logind, GNOME"),
    ("a security key is pulled out", "kernel"),
    ("a named USB device is pulled out", "kernel"),
]
AT_ONCE = [("the machine sleeps", "logind"), ("the machine shuts down", "logind")]
ROW = 30


def draw() -> str:
    canvas = Canvas(
        STATE + STATE_WIDTH + 24, 624, "What locks when",
        "Seven kinds of events begin the grace period, after which classes A and B are locked; if the screen is "
        "unlocked before, the lock is taken back. Sleep and shutdown lock at once, and wait for it. With deep-at-sleep "
        "or forget-after, class C is locked as well. An unlock opens all classes.")
    for x, words in [(EVENTS, "what happens, and who tells the agent"), (ACTION, "what the agent does"),
                     (STATE, "which classes are open then")]:
        canvas.text(x, 34, words, "quiet", 12.5, anchor="start")
    y = lane(canvas, 52, GRACE, ["begins the grace period, 10 s:", "all goes on meanwhile"], "part", "AB")
    canvas.text(ACTION + ACTION_WIDTH / 2, y - 62, "taken back if the screen is unlocked,", "event", 11.5)
    canvas.text(ACTION + ACTION_WIDTH / 2, y - 46, "the lid opened, or the user is back", "event", 11.5)
    y = lane(canvas, y + 18, AT_ONCE, ["locks at once; the machine waits,", "for 3.5 seconds at most"], "shut",
             "AB")
    deep = [("the machine sleeps", "deep-at-sleep in config.toml"), ("locked for N hours", "forget-after")]
    y = lane(canvas, y + 18, deep, ["class C’s key goes as well"], "shut", "ABC")
    lane(canvas, y + 18, [("latchkey unlock", "a person"), ("a login, the screen is unlocked", "pam_latchkey")],
         ["nothing: only the passcode", "brings the keys back"], "key", "")
    return canvas.render()


def lane(canvas: Canvas, top: float, events: list[tuple[str, str]], action: list[str], fill: str,
         shut: str) -> float:
    """One row of the picture, and the y of its end."""
    height = len(events) * ROW + 24
    middle = top + height / 2
    canvas.box(EVENTS, top, EVENTS_WIDTH, height, "panel")
    for index, (event, sender) in enumerate(events):
        y = top + 12 + index * ROW + ROW / 2
        canvas.text(EVENTS + 14, y - 1, event, size=12.5, anchor="start", within=EVENTS_WIDTH - 14)
        canvas.text(EVENTS + 14, y + 12, sender, "quiet", 10.5, anchor="start")
    canvas.path(f"M{EVENTS + EVENTS_WIDTH} {middle} H{ACTION - 2}", arrow=True)
    canvas.box(ACTION, middle - 28, ACTION_WIDTH, 56, fill)
    canvas.lines(ACTION + ACTION_WIDTH / 2, middle, action, size=12.5, within=ACTION_WIDTH)
    canvas.path(f"M{ACTION + ACTION_WIDTH} {middle} H{STATE - 2}", arrow=True)
    width = (STATE_WIDTH - 3 * 8) / 4
    for index, name in enumerate("ABCD"):
        x = STATE + index * (width + 8)
        is_shut = name in shut
        colour = "part" if is_shut and name == "B" else "shut" if is_shut else "open"
        canvas.box(x, middle - 28, width, 56, colour)
        words = ["open"] if not is_shut else ["open", "files only"] if name == "B" else ["locked"]
        canvas.text(x + width / 2, middle - 8, name, size=14, bold=True)
        canvas.lines(x + width / 2, middle + 11, words, "quiet", 10.5, leading=1.15, within=width)
    return top + height
