"""Languages, directions, large type, and the keyboard."""

import re
import subprocess
import unittest

from support.accessible import FOCUSED
from support.keyboard import Keyboard
from support.pseudo import NAME, OPEN, build, plain
from support.scene import TOP, SceneTestCase
from support.screen import BUTTONS, Screen
from support.tray import TrayHost
from support.waiting import until

PAGES = ("State", "Open files", "Lock sources", "Ways in", "Backup of the keys", "Warnings")
# What is no text of this program: command lines, names of classes and vaults, letters, parts of GTK.
OTHERS = re.compile(r"(latchkey |xdg-open |systemctl ).*|complete.*|none|work|[A-D]|Gtk.*|Minimize|Maximize|Close|")


class LanguageTests(SceneTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.screen = Screen("io.latchkey.Desktop")
        self.locale = self.scene.folder / "locale"

    def test_no_text_is_left_in_the_code(self) -> None:
        """In a language where every text is marked, everything that is shown has the marks."""
        build(self.locale)
        tray = TrayHost()
        self.addCleanup(tray.close)
        self.scene.make_vault("work")
        self.scene.start_desktop(LANGUAGE=NAME, LATCHKEY_DESKTOP_LOCALE=str(self.locale))
        self.screen.see(OPEN)
        seen = 0
        for page in PAGES:
            tab = f"{OPEN}{page}\u2e29"
            self.screen.turn_to(tab)
            if page == "Ways in":
                self.screen.see("Slot")
            for item in self.screen.all():
                name = item.name.replace("\u2068", "").replace("\u2069", "")
                if OTHERS.fullmatch(name) is None:
                    self.assertIn(OPEN, name, (page, item.role, item.name))
                    self.assertIsNone(re.search(r"[A-Za-z]", plain(name)), name)
                    seen += 1
        self.assertGreater(seen, 60)
        tray.wait_for_item()
        for label in tray.labels():
            if label[-1]:
                self.assertIn(OPEN, label[-1])
        self.assertNoTraceback()

    def test_right_to_left(self) -> None:
        """The list of vaults is at the right then, and a command line still runs from left to right."""
        self.scene.make_vault("work", opened=False)
        left = self.place_of_list()
        build(self.locale)
        right = self.place_of_list(LANGUAGE=NAME, LATCHKEY_DESKTOP_LOCALE=str(self.locale))
        self.assertLess(left, 300)
        self.assertGreater(right, 500)

    def place_of_list(self, **environment: str) -> int:
        """How far the middle of the row of the vault is from the left edge."""
        program = self.scene.start_desktop(**environment)
        row = self.screen.find("list item", lambda name: "work" in name)
        x, _y, width, _height = until(row.extents, "the row's place")
        self.scene.end(program)
        until(lambda: not list(self.screen.all()), "the window is gone")
        return x + width // 2

    def test_german(self) -> None:
        subprocess.run([str(TOP / "tools/desktop-strings"), "--build", str(self.locale)], check=True, timeout=60)
        self.scene.make_vault("work")
        self.scene.start_desktop(LANGUAGE="de", LATCHKEY_DESKTOP_LOCALE=str(self.locale))
        self.screen.find("list item", "work: Entsperrt")
        self.screen.click("Jetzt sperren")
        self.screen.find("list item", "work: Gesperrt")
        self.screen.see("latchkey lock --now work")

    def test_strings_are_up_to_date(self) -> None:
        done = subprocess.run([str(TOP / "tools/desktop-strings"), "--check"], capture_output=True, text=True,
                              timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)


class KeyboardTests(SceneTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.screen = Screen("io.latchkey.Desktop")

    def test_all_by_keys(self) -> None:
        """Without a pointer: to a page, to a button, and press it."""
        self.scene.make_vault("work")
        self.scene.start_desktop()
        self.screen.find("list item", "work: Unlocked")
        keyboard = Keyboard(self.scene.environment)
        for number, part in ((2, "latchkey status --holders work"), (5, "latchkey keybag backup FILE work"),
                             (1, "latchkey lock --now work")):
            keyboard.press(f"alt+{number}")
            self.screen.see(part)
        button = self.screen.find("push button", "Lock now")
        keyboard.tab_to(lambda: button.has(FOCUSED))
        keyboard.press("space")
        self.screen.find("list item", "work: Locked")
        button = self.screen.find("push button", "Unlock")
        keyboard.tab_to(lambda: button.has(FOCUSED))
        keyboard.press("Return")
        self.screen.find("list item", "work: Unlocked")
        keyboard.press("ctrl+l")
        self.screen.find("list item", "work: Locked")

    def test_everything_has_a_name(self) -> None:
        """Each button, entry, list and row has a name that a screen reader speaks, and is reached by Tab."""
        self.scene.make_vault("work")
        self.scene.start_desktop()
        self.screen.find("list item", "work: Unlocked")
        for page in PAGES:
            self.screen.turn_to(page)
            for item in self.screen.all():
                if item.role in (*BUTTONS, "text", "list", "list item"):
                    self.assertTrue(item.name and not item.name.startswith("Gtk"), (page, item.role, item.path))

    def test_large_type(self) -> None:
        """With type of twice the size nothing is lost: what does not fit can be scrolled to."""
        self.scene.make_vault("work")
        settings = self.scene.folder / "config/gtk-4.0"
        settings.mkdir(parents=True)
        (settings / "settings.ini").write_text("[Settings]\ngtk-xft-dpi=196608\n")
        self.scene.start_desktop()
        self.screen.find("list item", "work: Unlocked")
        for page in PAGES:
            self.screen.turn_to(page)
        self.screen.turn_to("State")
        keyboard = Keyboard(self.scene.environment)
        size = keyboard.size()
        # The screen of the tests has 1280 by 1024 points.
        self.assertLessEqual(size[0], 1280)
        self.assertLessEqual(size[1], 1024)
        button = self.screen.find("push button", "Unmount")
        keyboard.tab_to(lambda: button.has(FOCUSED))
        keyboard.press("space")
        self.screen.find("list item", "work: Not mounted")


if __name__ == "__main__":
    unittest.main()
