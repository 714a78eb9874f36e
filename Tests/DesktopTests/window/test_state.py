"""The first page, with real daemons: each button is pressed, and the vault itself says what came of it."""

import errno
import unittest

from support.scene import SceneTestCase, mount_points
from support.screen import Screen
from support.waiting import until


class StatePageTests(SceneTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.screen = Screen("io.latchkey.Desktop")

    def state(self, name: str = "work") -> str:
        return str(self.scene.status(name)["state"])

    def row(self, title: str) -> None:
        self.screen.find("list item", lambda name: name.startswith(title))

    def test_lock_and_unlock(self) -> None:
        # A lock with this grace period would come too late for the test.
        folder = self.scene.make_vault("work", grace=600)
        (folder / "note").write_text("secret")
        self.scene.latchkey("class", "set", "complete", str(folder / "note"))
        self.scene.start_desktop()
        self.row("work: Unlocked")
        self.row("Class A, complete: readable now. ")
        self.screen.click("Lock now")
        self.row("work: Locked")
        self.row("Class A, complete: locked. 0 open files.")
        self.row("Class B, complete-unless-open: new files only.")
        self.row("Class C, complete-until-first-user-authentication: readable now.")
        self.assertEqual(self.state(), "locked")
        with self.assertRaises(OSError) as refused:
            (folder / "note").read_text()
        self.assertEqual(refused.exception.errno, errno.ENOKEY)
        self.assertFalse(self.screen.can_click("Lock now"))

        self.scene.answer_with("wrong")
        self.screen.click("Unlock")
        self.screen.find("alert", lambda name: "passcode is wrong" in name)
        self.assertEqual(self.state(), "locked")
        self.assertIn("Passcode of", self.scene.asked())

        self.scene.answer_with("correct horse 77 battery")
        self.screen.click("Unlock")
        self.row("work: Unlocked")
        self.assertEqual((folder / "note").read_text(), "secret")

        self.screen.click("Lock class C too")
        self.row("work: Locks in ")
        self.screen.click("Lock now")
        self.row("work: Locked, class C too")
        self.row("Class C, complete-until-first-user-authentication: locked.")

        self.scene.answer_with((self.scene.folder / "work.recovery").read_text().strip())
        self.screen.click("Unlock with the recovery key")
        self.row("work: Unlocked")
        self.assertNoTraceback()

    def test_the_seconds_run_down(self) -> None:
        self.scene.make_vault("work")
        self.scene.start_desktop()
        self.row("work: Unlocked")
        self.screen.click("Lock after the grace period")

        def left() -> int:
            item = self.screen.look("list item", lambda name: name.startswith("work: Locks in "))
            return int(item.name.split()[3]) if item else 0

        first = until(left, "the seconds")
        self.assertLessEqual(first, 10)
        until(lambda: 0 < left() < first, "fewer seconds")
        self.assertEqual(self.state(), "locking")
        self.screen.click("Unlock")
        self.row("work: Unlocked")
        self.assertEqual(self.state(), "unlocked")

    def test_open_browse_and_unmount(self) -> None:
        folder = self.scene.make_vault("work", opened=False)
        # The desktop's program for folders, as the desktop would choose it.
        applications = self.scene.folder / "data/applications"
        applications.mkdir(parents=True)
        (applications / "shows.desktop").write_text(
            "[Desktop Entry]\nType=Application\nName=Shows\nMimeType=inode/directory;\n"
            "Exec=shows %f\n")
        program = self.scene.folder / "bin/shows"
        program.write_text(f'#!/bin/sh\nprintf %s "$1" >{self.scene.folder}/shown\n')
        program.chmod(0o700)
        (applications / "mimeapps.list").write_text("[Default Applications]\ninode/directory=shows.desktop\n")
        self.scene.start_desktop()
        self.row("work: Not mounted")
        self.assertFalse(self.screen.can_click("Unlock"))
        self.screen.click("Open the vault")
        self.row("work: Unlocked")
        self.assertEqual(mount_points(self.scene.folder), [str(folder)])
        self.screen.click("Show the files")
        shown = self.scene.folder / "shown"
        until(lambda: shown.exists() and shown.read_text() == str(folder), "the file manager")

        with open(folder / "note", "w", encoding="ascii"):
            self.screen.click("Unmount")
            self.screen.find("alert", lambda name: "is in use" in name and "python3" in name and "--lazy" in name)
            self.row("work: Unlocked")
        self.screen.click("Unmount")
        self.row("work: Not mounted")
        self.assertEqual(mount_points(self.scene.folder), [])
        self.assertNoTraceback()

    def test_all_at_once(self) -> None:
        for name in ("one", "two", "three"):
            self.scene.make_vault(name, grace=600)
        self.scene.start_desktop()
        for name in ("one", "two", "three"):
            self.row(f"{name}: Unlocked")
        self.screen.click("Lock all now")
        for name in ("one", "two", "three"):
            self.row(f"{name}: Locked")
            self.assertEqual(self.state(name), "locked")

    def test_a_hold(self) -> None:
        """A program holds the lock back: the window says which, why and how long, and can lock all the same."""
        self.scene.make_vault("work", grace=2)
        self.scene.start_desktop()
        self.row("work: Unlocked")
        self.scene.start("latchkey", "hold", "--for", "90s", "--because", "the backup runs", "--vault", "work",
                         "sleep", "300")
        self.screen.see("holds a lock back, for 90 seconds at most: the backup runs")
        self.screen.click("Lock after the grace period")
        self.row("work: Locking, held by sleep")
        self.screen.see("seconds at the latest. To lock now does not wait.")
        self.row("Class A, complete: readable now.")
        self.assertEqual(self.state(), "locking")
        self.screen.click("Lock now")
        self.row("work: Locked")
        self.assertEqual(self.state(), "locked")
        self.assertNoTraceback()

    def test_vaults_come_and_go(self) -> None:
        self.scene.start_desktop()
        self.screen.see("There is no vault yet")
        self.scene.make_vault("first")
        self.row("first: Unlocked")
        self.scene.make_vault("second", opened=False)
        self.row("second: Not mounted")
        vault = self.scene.folder / "nameless"
        point = self.scene.home / "here"
        point.mkdir()
        self.scene.latchkey("init", str(vault), "--no-passcode", "--recovery-key-file", str(self.scene.folder / "r"))
        self.scene.latchkey("mount", str(vault), str(point))
        self.row("here: Unlocked")
        self.scene.latchkey("unmount", str(point))
        until(lambda: not self.screen.look("list item", lambda name: name.startswith("here")), "it is gone")
        config = self.scene.folder / "config/latchkey/config.toml"
        good = config.read_text()
        config.write_text(good + "nonsense\n")
        self.screen.see("The named vaults are not known")
        config.write_text(good)
        self.row("second: Not mounted")
        until(lambda: "The named vaults are not known" not in self.screen.texts(), "the message goes")
        self.assertNoTraceback()


if __name__ == "__main__":
    unittest.main()
