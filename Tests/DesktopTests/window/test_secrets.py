"""A passcode is typed into pinentry, and never is in the memory of the window."""

import shutil
import unittest

from support.keyboard import Keyboard
from support.scene import PASSCODE, SceneTestCase
from support.screen import Screen

_CHUNK = 1 << 20


def memory_has(pid: int, needle: bytes) -> bool:
    """Whether the writable memory of a process has some bytes."""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps, open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for line in maps:
            place, mode = line.split()[:2]
            if not mode.startswith("rw"):
                continue
            start, end = (int(part, 16) for part in place.split("-"))
            rest = b""
            while start < end:
                try:
                    memory.seek(start)
                    part = memory.read(min(_CHUNK, end - start))
                except (OSError, ValueError):
                    break
                if not part:
                    break
                if needle in rest + part:
                    return True
                rest = part[-len(needle):]
                start += len(part)
    return False


class SecretTests(SceneTestCase):
    def test_pinentry(self) -> None:
        if shutil.which("pinentry-gtk-2") is None:
            self.skipTest("pinentry-gtk-2 is not installed")
        # As the alternatives of Debian choose it on a desktop.
        (self.scene.folder / "bin/pinentry").symlink_to(str(shutil.which("pinentry-gtk-2")))
        del self.scene.environment["LATCHKEY_ASKPASS"]
        self.scene.make_vault("work")
        self.scene.latchkey("lock", "--now", "work")
        program = self.scene.start_desktop()
        screen = Screen("io.latchkey.Desktop")
        screen.find("list item", "work: Locked")
        screen.click("Unlock")
        screen.find("alert", "Running: latchkey unlock work")

        keyboard = Keyboard(self.scene.environment, "pinentry", by="--class")
        # A second command has to wait for the first one, and says so.
        screen.click("Unlock with the recovery key")
        screen.find("alert", lambda name: name.startswith("Another command still runs."))
        keyboard.type(PASSCODE)
        keyboard.press("Return")
        screen.find("list item", "work: Unlocked")
        self.assertFalse(memory_has(program.pid, PASSCODE.encode()), "the passcode was in the window's memory")
        # The search finds what is there.
        self.assertTrue(memory_has(program.pid, b"latchkey unlock work"))
        self.assertNoTraceback()

    def test_cancel(self) -> None:
        """A command that waits for an answer ends when the person presses Cancel."""
        (self.scene.folder / "ask").write_text("#!/bin/sh\nexec sleep 300\n")
        self.scene.make_vault("work")
        self.scene.latchkey("lock", "--now", "work")
        self.scene.start_desktop()
        screen = Screen("io.latchkey.Desktop")
        screen.find("list item", "work: Locked")
        screen.click("Unlock")
        screen.find("alert", "Running: latchkey unlock work")
        screen.click("Cancel")
        screen.find("alert", lambda name: not name.startswith("Running") and bool(name))
        self.assertEqual(self.scene.status("work")["state"], "locked")
        screen.click("Lock class C too")
        screen.find("list item", "work: Locked, class C too")


if __name__ == "__main__":
    unittest.main()
