"""The picture of how keys depend on each other: from the secrets that open a vault, through the keybag, to the disk.

Sources: docs/KEYS.md and docs/FORMAT.md: the keybag's records, the bundle, wrap algorithms, volume subkeys.
"""

from __future__ import annotations

from .svg import Canvas

# Columns: the user's secret, the slot that it opens, the keys in the slot, the key of a file, the data on disk.
HAVE, SLOT, BUNDLE, FILE, DISK = 36, 222, 464, 684, 868
HAVE_WIDTH, SLOT_WIDTH, KEY_WIDTH, FILE_WIDTH, DISK_WIDTH = 130, 166, 146, 132, 192
# Secret, kind of its slot, derivation of the wrapping key. The first three also need the device key.
WAYS = [
    ("passcode", "passcode", "Argon2id, then HKDF"),
    ("key file", "key-file", "HKDF"),
    ("security key", "fido2", "hmac-secret, HKDF"),
    ("recovery key", "recovery-key", "HKDF"),
    ("escrow key", "escrow-key", "X25519, then HKDF"),
]
WITH_DEVICE_KEY = 3
BUNDLED = ["class key A", "B’s private key", "class key C", "class key D", "volume key", "unlock MAC key"]
RAIL, DASHED = SLOT + SLOT_WIDTH + 28, SLOT + SLOT_WIDTH + 48


def way(index: int) -> float:
    """The vertical middle of a row on the left."""
    return 130 + index * 54 + (42 if index >= WITH_DEVICE_KEY else 0)


def key(index: int) -> float:
    """The vertical middle of a key in the bundle. A gap separates the class keys from the others."""
    return 112 + index * 50 + (22 if index >= 4 else 0)


def draw() -> str:
    canvas = Canvas(
        DISK + DISK_WIDTH + 24, 528, "How keys hang together",
        "Each way into a vault yields a key that opens its slot in the keybag. Every slot holds the same six keys. "
        "Class keys wrap the key of each file, which encrypts its blocks; the volume key gives the keys for names, "
        "attributes and headers. The device key alone opens the device slot, with the volume key and class key D.")
    for x, words in [(HAVE, "what opens a vault"), (SLOT, "its slot in lk.keybag"), (BUNDLE, "every slot holds"),
                     (FILE, "these yield"), (DISK, "protects in the vault")]:
        canvas.text(x, 34, words, "quiet", 12.5, anchor="start")
    ways(canvas)
    bundle(canvas)
    device_slot(canvas)
    contents(canvas)
    everything_else(canvas)
    return canvas.render()


def ways(canvas: Canvas) -> None:
    canvas.box(HAVE - 12, 52, SLOT + SLOT_WIDTH - HAVE + 24, way(2) + 34 - 52, "panel", dashed=True)
    canvas.text(HAVE, 74, "together with the device key of this machine,", size=12, anchor="start", bold=True)
    canvas.text(HAVE, 91, "which is a file outside the vault, or sealed by the TPM", "quiet", 11, anchor="start")
    canvas.text(HAVE, way(3) - 32, "on any machine, by itself", size=12, anchor="start", bold=True)
    for index, (name, kind, how) in enumerate(WAYS):
        pair(canvas, way(index), name, kind, how)
        canvas.path(f"M{SLOT + SLOT_WIDTH} {way(index)} H{RAIL}")
    canvas.path(f"M{RAIL} {way(0)} V{way(4)}")
    middle = (key(0) + key(3)) / 2
    canvas.path(f"M{RAIL} {middle} H{BUNDLE - 14}", arrow=True)


def pair(canvas: Canvas, y: float, name: str, slot: str, how: str) -> None:
    canvas.box(HAVE, y - 20, HAVE_WIDTH, 40, "secret")
    canvas.text(HAVE + HAVE_WIDTH / 2, y + 4.5, name, within=HAVE_WIDTH)
    canvas.path(f"M{HAVE + HAVE_WIDTH} {y} H{SLOT - 2}", arrow=True)
    canvas.box(SLOT, y - 20, SLOT_WIDTH, 40, "key")
    canvas.text(SLOT + SLOT_WIDTH / 2, y - 3, slot, size=12.5, bold=True, within=SLOT_WIDTH)
    canvas.text(SLOT + SLOT_WIDTH / 2, y + 13, how, "quiet", 11, within=SLOT_WIDTH)


def device_slot(canvas: Canvas) -> None:
    """The device key alone opens only what a mount needs before the first unlock."""
    y = way(4) + 96
    canvas.text(HAVE, y - 32, "at the mount, before the first unlock", size=12, anchor="start", bold=True)
    pair(canvas, y, "device key alone", "device slot", "HKDF")
    canvas.path(f"M{SLOT + SLOT_WIDTH} {y} H{DASHED} V{key(3)} H{BUNDLE - 2}", "event", arrow=True, dashed=True)
    canvas.path(f"M{DASHED} {key(4)} H{BUNDLE - 2}", "event", arrow=True, dashed=True)
    canvas.text(DASHED + 14, y - 3, "class key D and the volume key, and no other: a thief who has", "event", 11.5,
                anchor="start")
    canvas.text(DASHED + 14, y + 13, "the device key, and no passcode, reads names and class D", "event", 11.5,
                anchor="start")


def bundle(canvas: Canvas) -> None:
    canvas.box(BUNDLE - 12, 52, KEY_WIDTH + 24, key(5) + 34 - 52, "panel")
    canvas.text(BUNDLE + KEY_WIDTH / 2, 76, "six keys", size=12, bold=True)
    for index, name in enumerate(BUNDLED):
        canvas.box(BUNDLE, key(index) - 18, KEY_WIDTH, 36, "open" if index < 4 else "key")
        canvas.text(BUNDLE + KEY_WIDTH / 2, key(index) + 4.5, name, size=12.5, within=KEY_WIDTH)


def contents(canvas: Canvas) -> None:
    """The class of a file determines which of the four class keys wraps its file key."""
    middle = (key(0) + key(3)) / 2
    x = BUNDLE + KEY_WIDTH + 18
    canvas.path(f"M{x} {key(0) - 16} q8 0 8 8 V{middle - 8} q0 8 8 8 q-8 0 -8 8 V{key(3) + 8} q0 8 -8 8")
    canvas.path(f"M{x + 16} {middle} H{FILE - 2}", arrow=True)
    canvas.box(FILE, middle - 36, FILE_WIDTH, 72, "open")
    canvas.text(FILE + FILE_WIDTH / 2, middle - 14, "file key", size=12.5, bold=True)
    canvas.lines(FILE + FILE_WIDTH / 2, middle + 12, ["one a file, wrapped", "by its class’s key"], "quiet", 11,
                 within=FILE_WIDTH)
    canvas.path(f"M{FILE + FILE_WIDTH} {middle} H{DISK - 2}", arrow=True)
    on_disk(canvas, middle, "contents", ["in blocks of 4 KiB:", "AES-256-GCM"])


def everything_else(canvas: Canvas) -> None:
    y = key(4)
    canvas.path(f"M{BUNDLE + KEY_WIDTH} {y} H{FILE - 2}", arrow=True)
    canvas.box(FILE, y - 24, FILE_WIDTH, 48, "key")
    canvas.text(FILE + FILE_WIDTH / 2, y - 4, "subkeys", size=12.5, bold=True)
    canvas.text(FILE + FILE_WIDTH / 2, y + 13, "one a purpose", "quiet", 11)
    fork = FILE + FILE_WIDTH + 26
    canvas.path(f"M{FILE + FILE_WIDTH} {y} H{fork}")
    for middle, name, how in [
            (y - 50, "names", ["links, attributes:", "AES-SIV, encrypted"]),
            (y + 32, "sizes, times, classes", ["in headers and the journal:", "HMAC, not encrypted"])]:
        canvas.path(f"M{fork} {y} V{middle} H{DISK - 2}", arrow=True)
        on_disk(canvas, middle, name, how)
    y = key(5)
    canvas.path(f"M{BUNDLE + KEY_WIDTH} {y} H{BUNDLE + KEY_WIDTH + 40} V{y + 64} H{DISK - 2}", arrow=True)
    on_disk(canvas, y + 64, "the keybag", ["that none of it was changed:", "HMAC"])


def on_disk(canvas: Canvas, y: float, name: str, how: list[str]) -> None:
    canvas.box(DISK, y - 36, DISK_WIDTH, 72, "part")
    canvas.text(DISK + DISK_WIDTH / 2, y - 14, name, size=12.5, bold=True, within=DISK_WIDTH)
    canvas.lines(DISK + DISK_WIDTH / 2, y + 12, how, "quiet", 11, within=DISK_WIDTH)
