"""The extensions, in the real file managers."""

import os
import shutil
import unittest
from pathlib import Path

from support.accessible import Accessible
from support.keyboard import Keyboard
from support.scene import TOP, SceneTestCase
from support.screen import Screen
from support.waiting import until

EXTENSIONS = TOP / "Sources/latchkey-desktop/extensions"
COUNT = 300


def class_of(path: Path) -> str:
    return os.getxattr(path, "user.latchkey.class").decode()


class FileManagerTests(SceneTestCase):
    """One file manager after another; one that is not installed is skipped."""

    def prepare(self, program: str) -> Path:
        if shutil.which(program) is None or not Path(f"/usr/share/{program}-python").exists():
            self.skipTest(f"{program} and its Python extension are not installed")
        folder = self.scene.make_vault("work")
        for name, item in (("diary", "complete"), ("mail", "complete-unless-open"), ("song", "none")):
            (folder / name).write_text("x")
            self.scene.latchkey("class", "set", item, str(folder / name))
        place = self.scene.folder / f"data/{program}-python/extensions"
        place.mkdir(parents=True)
        (place / f"latchkey_{program}.py").symlink_to(EXTENSIONS / f"latchkey_{program}.py")
        icons = self.scene.folder / "data/icons"
        icons.symlink_to(TOP / "Sources/latchkey-desktop/data/icons")
        return folder

    def settings(self, *lines: str) -> None:
        """Settings of the file manager, in a file instead of dconf."""
        file = self.scene.folder / "config/glib-2.0/settings/keyfile"
        file.parent.mkdir(parents=True)
        file.write_text("\n".join(lines) + "\n")

    def set_all(self, screen: Screen, folder: Path, title: str) -> None:
        """Selects all files, and gives them a class by the menu."""
        for number in range(COUNT):
            (folder / f"many{number}").write_text("x")
        until(lambda: screen.look("table cell", f"many{COUNT - 1}"), "the files are listed")
        def lines() -> list[Accessible]:
            return [item for item in screen.all() if item.name == "A: complete" and item.role == "menu item"]

        keyboard = Keyboard(self.scene.environment, title)
        keyboard.press("ctrl+a")
        before = len(lines())
        keyboard.press("Menu")
        # The menu bar has the same lines; those of the context menu come behind them.

        def chosen() -> bool:
            found = lines()
            return len(found) > before and found[-1].act()

        until(chosen, "the context menu")
        until(lambda: class_of(folder / "song") == "complete", "the class of all files")
        until(lambda: all(class_of(folder / f"many{number}") == "complete" for number in range(COUNT)), "of each file")

    def test_caja(self) -> None:
        folder = self.prepare("caja")
        self.settings("[org/mate/caja/preferences]", "default-folder-viewer='list-view'",
                      "[org/mate/caja/list-view]", "default-visible-columns=['name', 'LatchkeyExtension::class']",
                      "default-column-order=['name', 'LatchkeyExtension::class']")
        self.scene.start("caja", "--no-desktop", "--browser", str(folder), GSETTINGS_BACKEND="keyfile",
                         NO_AT_BRIDGE="0", GTK_MODULES="gail:atk-bridge")
        screen = Screen("caja")
        screen.find("table cell", "A: complete")
        screen.find("table cell", "B: complete-unless-open")
        screen.find("table cell", "D: none")
        self.set_all(screen, folder, "^work")
        Keyboard(self.scene.environment, "^work").press("alt+Return")
        screen.find("page tab", "Latchkey")
        self.assertNotIn("Traceback", self.scene.log())

    def test_nemo(self) -> None:
        folder = self.prepare("nemo")
        self.settings("[org/nemo/preferences]", "default-folder-viewer='list-view'",
                      "[org/nemo/list-view]", "default-visible-columns=['name', 'LatchkeyExtension::class']",
                      "default-column-order=['name', 'LatchkeyExtension::class']")
        self.scene.start("nemo", str(folder), GSETTINGS_BACKEND="keyfile", NO_AT_BRIDGE="0",
                         GTK_MODULES="gail:atk-bridge")
        screen = Screen("nemo")
        screen.find("table cell", "A: complete")
        screen.find("table cell", "B: complete-unless-open")
        screen.find("table cell", "D: none")
        self.set_all(screen, folder, "^work")
        self.assertNotIn("Traceback", self.scene.log())

    def test_nautilus(self) -> None:
        folder = self.prepare("nautilus")
        self.settings("[org/gnome/nautilus/preferences]", "default-folder-viewer='list-view'",
                      "[org/gnome/nautilus/list-view]", "default-visible-columns=['name', 'LatchkeyExtension::class']",
                      "default-column-order=['name', 'LatchkeyExtension::class']")
        self.scene.start("nautilus", "--new-window", str(folder), GSETTINGS_BACKEND="keyfile")
        screen = Screen("Nautilus")
        screen.see("A: complete")
        screen.see("B: complete-unless-open")
        screen.see("D: none")
        keyboard = Keyboard(self.scene.environment, "^work")
        x, y, width, height = until(screen.find("label", "diary").extents, "the place of a file")
        keyboard.click_at(x + width // 2, y + height // 2)
        keyboard.press("ctrl+a")
        screen.see("3 items selected")
        keyboard.press("Menu")
        screen.click("A: complete")
        until(lambda: class_of(folder / "song") == "complete", "the class of all files")
        self.assertNotIn("Traceback", self.scene.log())


if __name__ == "__main__":
    unittest.main()
