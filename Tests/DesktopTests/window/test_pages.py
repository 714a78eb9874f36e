"""The other pages, with real daemons and a real agent."""

import json
import shutil
import subprocess
import unittest
from pathlib import Path

from support.scene import PASSCODE, SceneTestCase
from support.accessible import FOCUSED
from support.keyboard import Keyboard
from support.screen import Screen
from support.waiting import until


class PageTests(SceneTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.screen = Screen("io.latchkey.Desktop")

    def turn_to(self, page: str) -> None:
        self.screen.turn_to(page)

    def type_into(self, entry: str, text: str) -> None:
        """Types a text as a person does: Tab until the entry has the focus, then the keys."""
        keyboard = Keyboard(self.scene.environment)
        field = self.screen.find("text", entry)
        keyboard.tab_to(lambda: field.has(FOCUSED))
        keyboard.press("ctrl+a")
        keyboard.type(text)

    def test_open_files_by_program(self) -> None:
        folder = self.scene.make_vault("work")
        (folder / "note").write_text("x")
        self.scene.latchkey("class", "set", "complete", str(folder / "note"))
        with open(folder / "note", "rb") as note:
            holding = subprocess.Popen(["sleep", "300"], stdin=note)
        self.addCleanup(holding.wait)
        self.addCleanup(holding.kill)
        self.scene.start_desktop()
        self.turn_to("Open files")
        self.screen.find("list item", f"sleep (process {holding.pid}): 1 open file, of class A")
        self.screen.see("latchkey status --holders work")
        holding.kill()
        holding.wait()
        self.screen.click("Look again")
        self.screen.see("No program that you may see uses this vault.")

    def test_lock_sources(self) -> None:
        self.scene.make_vault("work", opened=False)
        self.scene.start_desktop()
        self.turn_to("Lock sources")
        self.screen.see("No agent runs, so no screen lock and no sleep locks a vault.")
        self.screen.see("systemctl --user enable --now latchkey-agent")
        # No systemd runs in this session: the command starts the agent as its unit does.
        systemctl = self.scene.folder / "bin/systemctl"
        systemctl.write_text(f'#!/bin/sh\necho "$*" >{self.scene.folder}/told\nlatchkey agent >/dev/null 2>&1 &\n'
                             'until [ -s /run/latchkey/agent.json ]; do sleep 0.1; done\n')
        systemctl.chmod(0o700)
        self.screen.click("Start the agent")
        self.screen.see("The agent locks the vaults when one of these happens.")
        self.screen.find("list item", lambda name: name.startswith("The machine goes to sleep: "))
        self.screen.find("list item", "A chosen USB device is pulled out: never heard yet")
        self.assertEqual((self.scene.folder / "told").read_text().split(),
                         ["--user", "enable", "--now", "latchkey-agent"])
        self.assertFalse(self.screen.can_click("Start the agent"))
        self.screen.click("Look again")
        self.screen.find("list item", "A chosen USB device is pulled out: never heard yet")

    def test_ways_in(self) -> None:
        self.scene.make_vault("work")
        self.scene.start_desktop()
        self.turn_to("Ways in")
        self.screen.see("Slot 1, works on this machine only, since ")
        self.screen.see("Slot 2, works on every machine, since ")

        self.screen.click("Key file")
        until(lambda: not self.screen.can_click("Add a way in"), "a file is needed first")
        self.type_into("Name of the new way in", "blue stick")
        self.type_into("New file", str(self.scene.folder / "stick.key"))
        self.screen.see(f"latchkey slot add --new-file {self.scene.folder}/stick.key '--name=blue stick' key-file work")
        self.screen.click("Add a way in")
        self.screen.see("Key file: blue stick")
        self.assertEqual(self.slots()[-1]["name"], "blue stick")
        self.scene.latchkey("slot", "test", "--key-file", str(self.scene.folder / "stick.key"), "work")

        self.screen.click("Recovery key")
        self.type_into("Name of the new way in", "-two")
        self.type_into("New file", "~/second.recovery")
        self.screen.click("Add a way in")
        self.screen.see("Recovery key: -two")
        self.assertTrue((self.scene.home / "second.recovery").exists())

        self.screen.click("Remove Key file: blue stick")
        self.screen.see("An older copy of the vault still opens with it.")
        self.screen.click("Cancel")
        self.screen.miss("An older copy of the vault still opens with it.")
        self.assertEqual(len(self.slots()), 4)
        self.screen.click("Remove Key file: blue stick")
        self.screen.see("An older copy of the vault still opens with it.")
        self.screen.click("Remove")
        until(lambda: len(self.slots()) == 3, self.screen.texts)
        self.screen.miss("blue stick")

        self.screen.click("Passcode")
        self.type_into("Name of the new way in", "second")
        self.screen.click("Add a way in")
        self.screen.see("Passcode: second")
        self.assertIn("the same again", self.scene.asked())

        public = self.scene.folder / "organisation.pem"
        subprocess.run(["bash", "-c", f"openssl genpkey -algorithm X25519 | openssl pkey -pubout -out {public}"],
                       check=True, timeout=30)
        self.screen.click("Key of an organisation")
        self.type_into("Name of the new way in", "ours")
        self.type_into("Public key", str(public))
        self.screen.click("Add a way in")
        self.screen.see("Key of an organisation: ours")

        self.screen.click("Security key")
        self.screen.see("latchkey slot add --name=ours fido2 work")
        self.screen.click("Add a way in")
        # None is plugged in, or libfido2 is missing: the message says which.
        self.screen.find("alert", lambda name: "security key" in name or "libfido2" in name)

        key = (self.scene.folder / "work.recovery").read_text().strip()
        self.scene.answer_with(key)
        self.screen.click("Test the recovery key")
        self.screen.find("alert", lambda name: "slot 2" in name.lower())
        self.scene.answer_with("A" * 52)
        self.screen.click("Test the recovery key")
        self.screen.find("alert", lambda name: "recovery key is wrong" in name or "not a recovery key" in name)
        # The window has shown neither of them, and no passcode.
        self.assertNotIn(key, self.screen.texts())
        self.assertNotIn(PASSCODE, self.screen.texts())
        self.assertNoTraceback()

    def slots(self) -> list[dict[str, object]]:
        return json.loads(self.scene.latchkey("slot", "list", "--json", "work"))

    def test_backup(self) -> None:
        self.scene.make_vault("work", opened=False)
        self.scene.start_desktop()
        self.turn_to("Backup of the keys")
        self.assertFalse(self.screen.can_click("Back up the keys"))
        file = self.scene.folder / "the backup"
        self.type_into("New file", str(file))
        self.screen.see(f"latchkey keybag backup '{file}' work")
        self.screen.click("Back up the keys")
        self.screen.find("alert", lambda name: "The keybag of" in name, limit=60)
        self.assertEqual(file.stat().st_mode & 0o777, 0o600)
        self.screen.click("Back up the keys")
        self.screen.find("alert", lambda name: "exist" in name, limit=60)

    def put_back(self) -> Path:
        """A vault in which an older version of a file was put back, opened and noticed; returns its mount point."""
        folder = self.scene.make_vault("work")
        (folder / "letter").write_text("first")
        explained = json.loads(self.scene.latchkey("explain", "--json", str(folder / "letter")))
        backing = Path(explained[0]["backingPath"])
        self.scene.latchkey("unmount", "work")
        shutil.copy2(backing, self.scene.folder / "old")
        self.scene.open_vault("work")
        (folder / "letter").write_text("second")
        self.scene.latchkey("unmount", "work")
        # As an attacker, or a restore, does: contents and attributes of the older version.
        shutil.copy2(self.scene.folder / "old", backing)
        self.scene.open_vault("work")
        self.assertEqual((folder / "letter").read_text(), "first")
        return folder

    def test_accept_everything(self) -> None:
        self.put_back()
        self.scene.start_desktop()
        self.turn_to("Warnings")
        self.screen.click("Accept everything")
        self.screen.see("Do this only if you have restored the vault yourself.")
        keyboard = Keyboard(self.scene.environment, "^Accept all")
        keyboard.press("Escape")
        self.screen.miss("Do this only if you have restored the vault yourself.")
        self.assertIn("older", self.scene.latchkey("status", "work"))
        self.screen.click("Accept everything")
        self.screen.see("Do this only if you have restored the vault yourself.")
        until(lambda: self.confirm("Accept"), "the button of the question")
        self.screen.see("There is no warning.")
        self.screen.find("list item", "work: Unlocked")

    def confirm(self, verb: str) -> bool:
        """Presses a button of the question, which is the last one of that name."""
        buttons = [item for item in self.screen.all() if item.name == verb and item.role == "push button"]
        return bool(buttons) and buttons[-1].act()

    def test_older_files(self) -> None:
        folder = self.put_back()
        self.scene.start_desktop()
        self.screen.find("list item", "work: Unlocked. There are warnings.")
        self.turn_to("Warnings")
        self.screen.see("1 file is older than what this machine has seen, or in conflict with it.")
        self.screen.see("Older: this machine saw a newer version ")
        self.screen.see(f"latchkey accept {folder}/letter")
        self.screen.click("Accept")
        self.screen.see("There is no warning.")
        self.screen.find("list item", "work: Unlocked")
        self.assertNoTraceback()

    def test_conflict_copies(self) -> None:
        folder = self.scene.make_vault("work")
        (folder / "letter").write_text("first")
        explained = json.loads(self.scene.latchkey("explain", "--json", str(folder / "letter")))
        backing = Path(explained[0]["backingPath"])
        self.scene.start_desktop()
        self.turn_to("Warnings")
        self.screen.see("There is no warning.")
        self.assertFalse(self.screen.can_click("Check the vault"))
        self.scene.latchkey("unmount", "work")
        shutil.copy2(backing, backing.with_name(backing.name + ".sync-conflict-20260101"))
        self.screen.click("Check the vault")
        self.screen.find("alert", lambda name: "sync-conflict" in name, limit=60)

    def test_every_action_shows_its_command(self) -> None:
        """Beside each button that does something stands a command, which its description has as well."""
        self.scene.make_vault("work")
        self.scene.start_desktop()
        self.screen.find("list item", lambda name: name.startswith("work: Unlocked"))
        without = {"Copy the command", "Choose…", "Close the message", "Cancel", "Minimize", "Maximize", "Close"}
        pages = ["State", "Open files", "Lock sources", "Ways in", "Backup of the keys", "Warnings"]
        seen = 0
        for page in pages:
            self.turn_to(page)
            if page == "Ways in":
                self.screen.see("Slot 1,")
            labels = set(self.screen.labels())
            for item in self.screen.all():
                if item.role != "push button" or item.name in without:
                    continue
                described = item.description
                self.assertTrue(described.split(" ")[0] in ("latchkey", "xdg-open", "systemctl"),
                                (page, item.name, described))
                in_title = item.name in ("Lock all now", "Protect a folder…")
                self.assertTrue(described in labels or in_title, (described, labels))
                seen += 1
        self.assertGreater(seen, 15)

    def test_copied_command(self) -> None:
        self.scene.make_vault("work", opened=False)
        self.scene.start_desktop()
        self.screen.find("list item", "work: Not mounted")
        self.screen.click("Copy the command")
        reading = ("import gi\ngi.require_version('Gtk', '4.0')\nfrom gi.repository import Gdk, GLib, Gtk\nGtk.init()\n"
                   "loop = GLib.MainLoop()\nboard = Gdk.Display.get_default().get_clipboard()\n"
                   "def read(board, result):\n    print(board.read_text_finish(result), flush=True)\n    loop.quit()\n"
                   "board.read_text_async(None, read)\nGLib.timeout_add(10000, loop.quit)\nloop.run()\n")

        def copied() -> bool:
            done = subprocess.run(["/usr/bin/python3", "-c", reading], capture_output=True, text=True, timeout=30,
                                  env=self.scene.environment)
            return done.stdout.strip() == "latchkey open work"

        until(copied, "the command in the clipboard")


if __name__ == "__main__":
    unittest.main()
