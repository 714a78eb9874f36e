"""The assistant, with the real command: a folder is protected, turned back, interrupted."""

import os
import re
import signal
import subprocess
import unittest
from pathlib import Path

from support.accessible import FOCUSED
from support.keyboard import Keyboard
from support.pseudo import CLOSE, NAME, OPEN, build, plain
from support.scene import PASSCODE, SceneTestCase
from support.screen import BUTTONS, Screen
from support.waiting import until


class ProtectTests(SceneTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.screen = Screen("io.latchkey.Desktop")
        self.documents = self.scene.home / "Papers"
        self.documents.mkdir()
        (self.documents / "letter").write_text("dear ada\n")
        (self.documents / "taxes").mkdir()
        (self.documents / "taxes/2026").write_text("1\n")
        configuration = self.scene.folder / "config"
        configuration.mkdir(exist_ok=True)
        (configuration / "user-dirs.dirs").write_text('XDG_DOCUMENTS_DIR="$HOME/Papers"\nXDG_DESKTOP_DIR="$HOME"\n')
        self.key = self.scene.home / "papers-recovery-key.txt"

    def protect(self) -> None:
        """Four clicks and the passcode: the window, the assistant, the folder, which is chosen already, Protect."""
        self.scene.start_desktop()
        self.screen.click("Protect a folder…")
        self.screen.see("2 files, ")
        self.screen.click("Protect")
        self.screen.see("Papers is protected.", limit=60)

    def type_folder(self, path: str) -> Keyboard:
        """Chooses another folder, and types its path as a person does."""
        self.screen.click("Another folder")
        keyboard = Keyboard(self.scene.environment, "^Protect a folder")
        field = self.screen.find("text", "Folder")
        keyboard.tab_to(lambda: field.has(FOCUSED))
        keyboard.type(path)
        return keyboard

    def test_four_clicks(self) -> None:
        self.protect()
        self.assertTrue(os.path.ismount(self.documents))
        self.assertEqual((self.documents / "letter").read_text(), "dear ada\n")
        self.assertEqual((self.documents / "taxes/2026").read_text(), "1\n")
        self.assertEqual(self.key.stat().st_mode & 0o777, 0o600)
        self.screen.see(f"The recovery key is in {self.key}.")
        self.screen.see("The files were moved in ")
        digests = next(text for text in self.screen.labels() if text.startswith("Digest of all files before: "))
        before, after = [line.split(": ")[1] for line in digests.splitlines()]
        self.assertEqual((before, len(before)), (after, 64))
        # Twice the new passcode, and no other question.
        self.assertNotIn("recovery", self.scene.asked())
        self.screen.find("list item", "papers: Unlocked")
        vault = self.scene.status("papers")["vault"]
        self.assertFalse([name for name in os.listdir(str(vault)) if name in ("letter", "taxes")])
        self.screen.click("Back")
        self.screen.see("This folder is protected.")
        self.screen.click("Make it an ordinary folder")
        self.screen.see("Make Papers an ordinary folder?")
        self.screen.click("Make it ordinary")
        self.screen.see("Papers is an ordinary folder.", limit=60)
        self.assertFalse(os.path.ismount(self.documents))
        self.assertEqual((self.documents / "letter").read_text(), "dear ada\n")
        self.assertNoTraceback()

    def test_options_and_another_folder(self) -> None:
        other = self.scene.home / "odd 'name"
        other.mkdir()
        (other / "file").write_text("x")
        self.scene.start_desktop()
        self.screen.click("Protect a folder…")
        self.type_folder(str(other))
        self.screen.see("1 file, ")
        self.screen.click("Keep the originals, which needs twice the space")
        self.screen.see("The originals stay beside it")
        self.screen.click("Lock its files when the screen locks")
        command = f"latchkey protect --yes --recovery-key-file '{self.scene.home}/odd-'\\''name-recovery-key.txt' " \
            f"--no-lock-with-screen --keep '{self.scene.home}/odd '\\''name'"
        self.screen.see(command)
        self.screen.click("Protect")
        self.screen.see("odd 'name is protected.", limit=60)
        self.assertTrue(os.path.ismount(other))
        self.assertEqual((self.scene.home / "odd 'name.unprotected/file").read_text(), "x")
        self.assertNoTraceback()

    def test_interrupted(self) -> None:
        """A killed run is found again: go on, and of the next one, go back."""
        for index in range(3000):
            (self.documents / f"{index}").write_bytes(os.urandom(2000))
        self.scene.start_desktop()
        for button, ending in (("Go back", "Papers is an ordinary folder."), ("Go on", "Papers is protected.")):
            self.screen.click("Protect a folder…")
            self.screen.see("3002 files, ")
            self.screen.click("Protect")
            self.kill_while_it_moves()
            self.screen.see("Papers: not finished", limit=60)
            self.screen.click("Back")
            self.screen.see("Protecting this folder was interrupted.")
            self.screen.click(button)
            self.screen.see(ending, limit=120)
            self.assertEqual((self.documents / "letter").read_text(), "dear ada\n")
            self.assertEqual(len(os.listdir(self.documents)), 3002)
            self.assertEqual(os.path.ismount(self.documents), button == "Go on")
            # The next one goes into another file.
            key = self.key if button == "Go back" else self.key.with_stem(f"{self.key.stem}-2")
            self.screen.see(f"The recovery key in {key} opens nothing any more" if button == "Go back"
                            else f"The recovery key is in {key}.")
            self.screen.click("Back")
        self.assertNoTraceback()

    def kill_while_it_moves(self) -> None:
        """Kills the command as soon as a file is moved."""
        vault = self.documents.with_name(".Papers.latchkey") / "record"
        until(vault.exists, "the first record of the run", 60)
        for entry in Path("/proc").iterdir():
            if entry.name.isdecimal() and b"\0protect\0--json" in (entry / "cmdline").read_bytes():
                os.kill(int(entry.name), signal.SIGKILL)

    def test_stop(self) -> None:
        for index in range(3000):
            (self.documents / f"{index}").write_bytes(os.urandom(2000))
        self.scene.start_desktop()
        self.screen.click("Protect a folder…")
        self.screen.see("3002 files, ")
        self.screen.click("Protect")
        until((self.documents.with_name(".Papers.latchkey") / "record").exists, "the first record of the run", 60)
        self.screen.click("Stop")
        self.screen.see("Papers: not finished", limit=60)
        self.screen.see("It was stopped. Nothing is lost")
        self.screen.click("Back")
        self.screen.click("Go on")
        self.screen.see("Papers is protected.", limit=120)
        self.assertEqual(len(os.listdir(self.documents)), 3002)

    def test_what_stands_in_the_way(self) -> None:
        with open(self.documents / "letter", "a", encoding="utf-8") as letter:
            writing = subprocess.Popen(["sleep", "300"], stdout=letter)
        self.addCleanup(writing.wait)
        self.addCleanup(writing.kill)
        self.scene.start_desktop()
        self.screen.click("Protect a folder…")
        self.screen.see("Programs have files of it open for writing, and have to close them first: sleep")
        self.screen.click("Protect")
        self.screen.see("Papers: nothing was done", limit=60)
        self.screen.see("open for writing; nothing was done")
        self.assertFalse(self.key.exists())
        writing.kill()
        self.screen.click("Back")
        self.type_folder(str(self.scene.home))
        self.screen.see("holds all of the home")
        self.assertFalse(self.screen.can_click("Protect"))
        self.assertNoTraceback()

    def test_the_window_ends_meanwhile(self) -> None:
        """Also with nobody left to hear of it, the folder is protected in the end."""
        for index in range(2000):
            (self.documents / f"{index}").write_bytes(os.urandom(2000))
        window = self.scene.start_desktop()
        self.screen.click("Protect a folder…")
        self.screen.see("2002 files, ")
        self.screen.click("Protect")
        until((self.documents.with_name(".Papers.latchkey") / "record").exists, "the first record of the run", 60)
        window.kill()
        window.wait()
        until(lambda: os.path.ismount(self.documents), "the folder is protected", 120)
        until(lambda: len(os.listdir(self.documents)) == 2002, "its files")

    def test_no_passcode_for_the_way_back(self) -> None:
        """Nothing is unmounted before the passcode has been tried."""
        self.protect()
        self.screen.click("Back")
        for answer in ("", "wrong wrong wrong"):
            self.scene.answer_with(answer)
            self.screen.click("Make it an ordinary folder")
            self.screen.click("Make it ordinary")
            self.screen.see("Papers: nothing was done", limit=60)
            self.assertTrue(os.path.ismount(self.documents))
            self.assertEqual((self.documents / "letter").read_text(), "dear ada\n")
            self.assertFalse(self.documents.with_name(".Papers.latchkey").exists())
            self.screen.click("Back")
            self.screen.see("This folder is protected.")

    def test_odd_folders(self) -> None:
        """In letters of other languages, and behind a symbolic link."""
        (self.scene.home / "מסמכים").mkdir()
        (self.scene.home / "מסמכים/file").write_text("x")
        (self.scene.home / "Pictures").symlink_to("מסמכים")
        with open(self.scene.folder / "config/user-dirs.dirs", "a", encoding="utf-8") as file:
            file.write('XDG_PICTURES_DIR="$HOME/Pictures"\n')
        self.scene.start_desktop()
        self.screen.click("Protect a folder…")
        self.screen.click(f"Pictures, in {self.scene.home}/Pictures")
        self.screen.see("1 file, ")
        self.screen.click("Protect")
        self.screen.see("Pictures is protected.", limit=60)
        self.assertEqual((self.scene.home / "Pictures/file").read_text(), "x")
        self.screen.find("list item", "pictures: Unlocked")
        self.screen.click("Back")
        self.screen.see("This folder is protected.")
        self.assertNoTraceback()

    def test_another_folder_at_the_last_moment(self) -> None:
        """What is typed counts at once, not what was looked at before."""
        for name in ("Other", "Other2"):
            (self.scene.home / name).mkdir()
            (self.scene.home / name / "file").write_text("x")
        self.scene.start_desktop()
        self.screen.click("Protect a folder…")
        keyboard = self.type_folder(f"{self.scene.home}/Other")
        self.screen.see("1 file, ")
        keyboard.type("2")
        self.screen.click("Protect")
        self.screen.see("Other2 is protected.", limit=60)
        self.assertFalse(os.path.ismount(self.scene.home / "Other"))

    def test_words_and_names(self) -> None:
        """Every text is translated, and every part has a name that a screen reader speaks."""
        locale = self.scene.folder / "locale"
        build(locale)
        self.scene.start_desktop(LANGUAGE=NAME, LATCHKEY_DESKTOP_LOCALE=str(locale))
        self.screen.click(f"{OPEN}Protect a folder…{CLOSE}")
        self.screen.see("2 files")
        self.screen.click(f"{OPEN}Another folder{CLOSE}")
        seen = 0
        for item in self.screen.all():
            name = item.name.replace("\u2068", "").replace("\u2069", "")
            if name and not re.fullmatch(r"latchkey .*|/.*|Gtk.*|Minimize|Maximize|Close", name):
                self.assertIn(OPEN, name, (item.role, item.name))
                self.assertIsNone(re.search(r"[A-Za-z]", plain(name)), name)
                seen += 1
            if item.role in (*BUTTONS, "text"):
                self.assertTrue(name and not name.startswith("Gtk"), (item.role, item.path))
        self.assertGreater(seen, 12)

    def test_window_closed_meanwhile(self) -> None:
        """The run goes on, and the window comes back with the outcome."""
        self.scene.start_desktop()
        self.screen.click("Protect a folder…")
        self.screen.see("2 files, ")
        asking = Path(self.scene.environment["LATCHKEY_ASKPASS"])
        gate = self.scene.folder / "gate"
        asking.write_text(f"#!/bin/sh\nwhile [ ! -e {gate} ]; do sleep 0.05; done\necho {PASSCODE}\n")
        self.screen.click("Protect")
        self.screen.see("A small window may ask for the passcode.")
        Keyboard(self.scene.environment, "^Protect a folder").press("Escape")
        self.screen.miss("A small window may ask for the passcode.")
        Keyboard(self.scene.environment, "^Latchkey").press("ctrl+w")
        self.screen.miss("Lock all now")
        gate.touch()
        self.screen.see("Papers is protected.", limit=60)
        self.assertNoTraceback()


if __name__ == "__main__":
    unittest.main()
