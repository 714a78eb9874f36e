"""Daemons and names that lie: the window stays, and shows nothing that misleads."""

import time
import unittest

from support.impostor import Impostor, reply
from support.scene import SceneTestCase
from support.screen import Screen
from support.tray import TrayHost

STATUS = {"state": "locking", "mountPoint": "/m/x", "vault": "/v/x", "classKeys": [], "openFiles": {}, "pid": 1,
          "deadline": 4e9, "sequence": 1, "instance": "i"}


class HostileTests(SceneTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.screen = Screen("io.latchkey.Desktop")

    def test_nonsense(self) -> None:
        """Each kind of nonsense for itself, beside a real vault, which can still be locked."""
        self.scene.make_vault("work")
        kinds = (b"x\0", b"\0" * 100, b"[" * 500_000 + b"\0", b"{" * (3 << 20), b'{"parameters": 7}\0' * 50,
                 b'{"error": {"a": 1}}\0', b'{"continues": true}\0', reply({"state": [], "mountPoint": {}}))
        impostors = [Impostor(lambda _method, kind=kind: kind, f"{number:032x}.socket")
                     for number, kind in enumerate(kinds)]
        try:
            self.scene.start_desktop()
            self.screen.find("list item", "work: Unlocked")
            # Longer than the pause before a watch is tried again.
            time.sleep(4)
            self.screen.click("Lock now")
            self.screen.find("list item", "work: Locked")
        finally:
            for impostor in impostors:
                impostor.close()
        self.assertNoTraceback()

    def test_texts(self) -> None:
        """Marks of Pango, line ends, marks of direction, and texts without end, in the window and the tray."""
        tray = TrayHost()
        self.addCleanup(tray.close)
        hold = {"pid": 7, "command": "<b>\u202evil\n</b>&" + "x" * 5000, "because": "\x1b[2J_a", "seconds": 4e9}
        status = STATUS | {"holds": [hold] * 100, "mountPoint": "/m/<i>\u202ex\n"}
        impostor = Impostor(lambda _method: reply(status))
        self.addCleanup(impostor.close)
        self.scene.start_desktop()
        self.screen.see("Locking, held by <b>\\u202evil\\n</b>&xxx")
        self.screen.see("at most: \\x1b[2J_a")
        for name in self.screen.labels():
            self.assertNotIn("\u202e", name)
            self.assertNotIn("\x1b", name)
            self.assertLess(len(name), 3000)
        tray.wait_for_item()
        tray.see("<i>\\u202ex\\n: Locking, held by")
        self.assertNotIn("<i>", tray.get("ToolTip")[3])
        self.assertNoTraceback()


if __name__ == "__main__":
    unittest.main()
