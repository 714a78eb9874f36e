"""The icon in the tray, on a real bus, with real daemons."""

import os
import unittest

from support.scene import SceneTestCase, mount_points
from support.screen import Screen
from support.tray import TrayHost
from support.waiting import until


class TrayTests(SceneTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.tray = TrayHost()
        self.addCleanup(lambda: self.tray.close())
        self.screen = Screen("io.latchkey.Desktop")

    def test_states_and_clicks(self) -> None:
        self.scene.make_vault("a_b", grace=600)
        self.scene.make_vault("other", opened=False, grace=600)
        program = self.scene.start_desktop("--tray")
        self.tray.wait_for_item()
        self.tray.see("a__b: Unlocked")
        self.tray.see("other: Not mounted")
        self.assertEqual(self.tray.get("IconName"), "latchkey-unlocked-symbolic")
        self.assertEqual(self.tray.get("Title"), "a_b: Unlocked")
        self.assertIn("other: Not mounted", self.tray.get("ToolTip")[3])
        folder = self.tray.get("IconThemePath")
        self.assertTrue(os.path.exists(f"{folder}/hicolor/symbolic/apps/latchkey-unlocked-symbolic.svg"))
        self.assertFalse(list(self.screen.all()), "a window has come by itself")

        self.scene.latchkey("lock", "a_b")
        self.tray.see("a__b: Locks in ")
        self.assertEqual(self.tray.get("IconName"), "latchkey-locking-symbolic")

        def seconds() -> int:
            found = [line[0].split()[3] for line in self.tray.labels() if line[0].startswith("a__b: Locks in ")]
            return int(found[0]) if found else 0

        first = until(seconds, "the seconds")
        until(lambda: 0 < seconds() < first, "fewer seconds")
        self.tray.click("a__b", "Lock now")
        self.tray.see("a__b: Locked")
        self.assertEqual(self.scene.status("a_b")["state"], "locked")
        self.assertEqual(self.tray.get("IconName"), "latchkey-locked-symbolic")
        self.assertIn("NewIcon", self.tray.signals)
        self.assertIn("LayoutUpdated", self.tray.signals)

        self.tray.click("a__b", "Unlock")
        self.tray.see("a__b: Unlocked")
        self.tray.click("other", "Open the vault")
        self.tray.see("other: Unlocked")
        self.tray.click("Lock all now")
        self.tray.see("a__b: Locked")
        self.tray.see("other: Locked")
        self.tray.click("other", "Unmount")
        self.tray.see("other: Not mounted")
        self.assertEqual(mount_points(self.scene.folder), [str(self.scene.home / "a_b")])
        self.tray.click("Quit")
        self.assertEqual(program.wait(20), 0)
        self.assertNoTraceback()

    def test_window_and_tray(self) -> None:
        self.scene.make_vault("work", opened=False)
        program = self.scene.start_desktop("--tray")
        self.tray.wait_for_item()
        self.tray.activate()
        self.screen.find("list item", "work: Not mounted")
        self.screen.click("Close")
        until(lambda: not list(self.screen.all()), "the window closes")
        # The icon is still there, and a second start shows the window of the first program.
        self.tray.see("work: Not mounted")
        second = self.scene.start_desktop()
        self.assertEqual(second.wait(20), 0)
        self.screen.find("list item", "work: Not mounted")
        self.tray.click("Quit")
        self.assertEqual(program.wait(20), 0)

    def test_without_a_tray(self) -> None:
        self.tray.close()
        program = self.scene.start_desktop()
        self.screen.see("There is no vault yet")
        self.screen.click("Close")
        self.assertEqual(program.wait(20), 0)
        self.tray = TrayHost()

    def test_a_tray_that_comes_later(self) -> None:
        self.tray.close()
        self.scene.start_desktop("--tray")
        self.scene.start_desktop()
        self.screen.see("There is no vault yet")
        self.tray = TrayHost()
        self.tray.wait_for_item()
        self.tray.see("There is no vault yet")


if __name__ == "__main__":
    unittest.main()
