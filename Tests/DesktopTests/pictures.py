"""Makes the screenshots of the documents: FOLDER is where they go."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from support.keyboard import Keyboard
from support.scene import TOP, Scene
from support.screen import Screen
from support.waiting import until

MOST_BYTES = 60_000
_CLASSES = (("diary.odt", "complete"), ("bank.pdf", "complete"), ("mail.mbox", "complete-unless-open"),
            ("photos.zip", "complete-until-first-user-authentication"), ("wallpaper.png", "none"))


def home() -> Path:
    """A home whose path is short and says nothing of this machine, in this tool's own namespace."""
    base = Path("/srv" if TOP.is_relative_to("/home") else "/home")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256m", "latchkey", str(base)], check=True, timeout=30)
    found = base / "ada"
    found.mkdir()
    return found


class Pictures:
    """Vaults as a person has them, and their pictures."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.scene = Scene(home())
        self.screen = Screen("io.latchkey.Desktop")

    def take(self, name: str, title: str = "^Latchkey") -> None:
        """Takes a picture of a window."""
        keyboard = Keyboard(self.scene.environment, title)
        raw = Path(tempfile.mkdtemp()) / "picture.png"
        target = self.folder / f"desktop-{name}.png"
        # What was asked for last is drawn in the next frames.
        for _ in range(2):
            subprocess.run(["import", "-window", keyboard.window, str(raw)], check=True, timeout=30,
                           env=self.scene.environment)
        subprocess.run(["convert", str(raw), "-strip", "+dither", "-colors", "64", "-define", "png:compression-level=9",
                        str(target)], check=True, timeout=30)
        size = target.stat().st_size
        print(f"took {target.name}, {size} bytes")
        if size > MOST_BYTES:
            sys.exit(f"desktop-pictures: {target.name} is larger than {MOST_BYTES} bytes")

    def run(self) -> None:
        scene, screen = self.scene, self.screen
        point = scene.make_vault("work")
        scene.make_vault("letters")
        scene.make_vault("photos", opened=False)
        for name, item in _CLASSES:
            (point / name).write_text(name)
            scene.latchkey("class", "set", item, str(point / name))
        scene.latchkey("lock", "--now", "letters")
        with open(point / "bank.pdf", "rb") as held:
            holding = subprocess.Popen(["sleep", "300"], stdin=held)
        program = scene.start_desktop()
        screen.find("list item", "letters: Locked")
        screen.see("1 open file")
        self.take("unlocked")
        screen.click("Lock after the grace period")
        screen.see("Locks in ")
        self.take("locking")
        screen.click("Lock now")
        screen.find("list item", "work: Locked")
        screen.see("locked")
        self.take("locked")
        screen.click("Ways in")
        screen.see("Slot 2")
        self.take("ways-in")
        scene.end(program)
        holding.kill()
        holding.wait()
        scene.open_vault("work")
        dark = scene.start_desktop(GTK_THEME="Adwaita:dark", LANGUAGE="de", LATCHKEY_DESKTOP_LOCALE=str(self.german()))
        screen.find("list item", "work: Entsperrt")
        self.take("dark")
        scene.end(dark)
        self.assistant()
        self.file_manager(point)
        scene.close()

    def assistant(self) -> None:
        """A new user's way to protected documents."""
        scene, screen = self.scene, self.screen
        for folder, count in (("Documents", 1400), ("Pictures", 3)):
            (scene.home / folder).mkdir()
            for number in range(count):
                (scene.home / folder / f"{number}").write_bytes(os.urandom(30_000))
        (scene.folder / "config/user-dirs.dirs").write_text(
            'XDG_DOCUMENTS_DIR="$HOME/Documents"\nXDG_PICTURES_DIR="$HOME/Pictures"\nXDG_DESKTOP_DIR="$HOME"\n')
        program = scene.start_desktop()
        screen.click("Protect a folder…")
        screen.see("1400 files, ")
        self.take("protect", "^Protect a folder")
        screen.click("Protect")
        screen.see(" left")
        self.take("protecting", "^Protect a folder")
        screen.see("Documents is protected.", 60)
        self.take("protected", "^Protect a folder")
        scene.end(program)

    def german(self) -> Path:
        """The translations, as they are installed."""
        folder = self.scene.folder / "locale"
        subprocess.run([str(TOP / "tools/desktop-strings"), "--build", str(folder)], check=True, timeout=60)
        return folder

    def file_manager(self, point: Path) -> None:
        """Emblems and the column, in Caja."""
        scene = self.scene
        place = scene.folder / "data/caja-python/extensions"
        place.mkdir(parents=True)
        (place / "latchkey_caja.py").symlink_to(TOP / "Sources/latchkey-desktop/extensions/latchkey_caja.py")
        (scene.folder / "data/icons").symlink_to(TOP / "Sources/latchkey-desktop/data/icons")
        settings = scene.folder / "config/glib-2.0/settings/keyfile"
        settings.parent.mkdir(parents=True)
        columns = "['name', 'size', 'LatchkeyExtension::class']"
        settings.write_text("[org/mate/caja/preferences]\ndefault-folder-viewer='list-view'\n"
                            f"[org/mate/caja/list-view]\ndefault-visible-columns={columns}\n"
                            f"default-column-order={columns}\n")
        scene.start("caja", "--no-desktop", "--browser", "--geometry=900x420", str(point), GSETTINGS_BACKEND="keyfile",
                    NO_AT_BRIDGE="0", GTK_MODULES="gail:atk-bridge")
        caja = Screen("caja")
        for name in ("A: complete", "D: none"):
            caja.find("table cell", name)
        until(lambda: caja.look("table cell", "C: complete-until-first-user-authentication"), "the last class")
        self.take("files", "^work")


if __name__ == "__main__":
    Pictures(Path(sys.argv[1])).run()
