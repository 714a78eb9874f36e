"""Command lines, and what the commands answer."""

import json
import os
import subprocess
import unittest

from latchkey_desktop.model import commands, warnings
from latchkey_desktop.model.holders import MOST_SHOWN, Holders
from latchkey_desktop.model.paths import PathName
from latchkey_desktop.model.slots import Slot, removal_question
from latchkey_desktop.model.sources import Source
from latchkey_desktop.model.state import Contact
from latchkey_desktop.model.status import Freshness, Status
from latchkey_desktop.model.times import moment
from latchkey_desktop.model.vault import Vault

VAULT = Vault("work", PathName(b"/v/work"), PathName(b"/m/work"), Contact.NONE, None, False)
NAMELESS = Vault("", PathName(b"/v/x"), PathName(b"/m/a b\xe9"), Contact.NONE, None, True)


class CommandTests(unittest.TestCase):
    def every(self, vault: Vault) -> list[commands.Command]:
        plain = [commands.lock(vault), commands.lock(vault, now=True), commands.lock(vault, deep=True),
                 commands.lock_all(), commands.unlock(vault), commands.unlock(vault, True), commands.unmount(vault),
                 commands.holders(vault), commands.sources(), commands.slots(vault), commands.diagnose(vault),
                 commands.remove_slot(vault, 2), commands.test_recovery_key(vault), commands.back_up(vault, "/x/f"),
                 commands.accept(PathName(b"/m/f")), commands.accept_all(vault), commands.explain(PathName(b"/m/f")),
                 commands.check(vault), commands.plan("/m/f", True), commands.protect("/m/f", "/k", False, True),
                 commands.unprotect("/m/f"), commands.go_on("protect", "/m/f", undo=True),
                 commands.go_on("unprotect", "/m/f")]
        if vault.name:
            plain.append(commands.open_vault(vault))
        kinds = ("passcode", "key-file", "fido2", "recovery-key", "escrow-key")
        return plain + [commands.add_slot(vault, kind, "/x/new", "a name") for kind in kinds]

    def test_the_program_knows_each(self) -> None:
        """Each command line is one of the grammar of the real program."""
        program = os.environ["LATCHKEY_PROGRAM"]
        for vault in (VAULT, NAMELESS):
            for command in self.every(vault):
                # The help of a command line is shown only if its options are known.
                words = [program, *command.arguments[1:]]
                found = subprocess.run([os.fsencode(word) for word in words] + [b"--help"], capture_output=True,
                                       timeout=20)
                self.assertEqual(found.returncode, 0, (command.shown, found.stderr))
                subcommand = command.arguments[1:3] if command.arguments[1] in ("slot", "keybag") \
                    else command.arguments[1:2]
                grammar = subprocess.run([program, *subcommand, "--help"], capture_output=True, text=True, timeout=20)
                for word in command.arguments:
                    if word.startswith("--"):
                        self.assertIn(word.partition("=")[0], grammar.stdout, command.shown)

    def test_what_is_shown_can_be_pasted(self) -> None:
        for command in self.every(NAMELESS):
            self.assertTrue(command.shown.isprintable())
            script = "for word in " + command.shown + "; do printf '%s\\0' \"$word\"; done"
            found = subprocess.run(["bash", "-c", script], capture_output=True, timeout=10).stdout
            self.assertEqual(found.split(b"\0")[:-1], [os.fsencode(word) for word in command.arguments])

    def test_json(self) -> None:
        self.assertEqual(commands.as_json(commands.slots(VAULT)).arguments,
                         ("latchkey", "slot", "list", "--json", "work"))
        self.assertEqual(commands.as_json(commands.holders(VAULT)).arguments,
                         ("latchkey", "status", "--json", "--holders", "work"))


class AnswerTests(unittest.TestCase):
    def test_holders(self) -> None:
        many = [{"pid": number, "name": f"p{number}", "openFiles": {"complete": number}} for number in range(1000)]
        found = Holders.of({"holders": many, "unseenProcesses": 2})
        assert found
        self.assertEqual((len(found.shown), found.left_out, found.unseen), (MOST_SHOWN, 800, 2))
        self.assertEqual((found.shown[0].name, found.shown[0].text), ("p999", "999 open files, of class A"))
        self.assertIn("1000 programs", found.summary)
        self.assertIn("800", found.summary)
        self.assertIsNone(Holders.of({"holders": 3}))
        self.assertIsNone(Holders.of(None))

    def test_slots(self) -> None:
        slots = Slot.all([{"id": 1, "kind": "passcode", "created": 0, "name": "", "isPortable": False},
                          {"id": 2, "kind": "recovery-key", "created": 1e30, "name": "a\u202eb", "isPortable": True},
                          {"id": 3, "kind": "new kind"}, "nonsense"])
        self.assertEqual([slot.id for slot in slots], [1, 2, 3])
        self.assertEqual(slots[1].title, "Recovery key: a\\u202eb")
        self.assertIn("an unknown time", slots[1].text)
        self.assertIn("only a recovery key", removal_question(slots[0], slots))
        self.assertIn("If this machine is lost".lower(), removal_question(slots[1], slots))

    def test_sources(self) -> None:
        self.assertIsNone(Source.all(None))
        found = Source.all({"sources": [
            {"name": "lid", "on": False}, {"name": "idle", "on": True, "problem": "no bus"},
            {"name": "sleep", "on": True}, {"name": "usb", "on": True, "lastFired": 0, "lastResult": "2 mounts"}]})
        assert found
        self.assertEqual([source.text for source in found], [
            "switched off in the configuration", "cannot be heard: no bus", "never heard yet",
            f"last heard {moment(0)}: 2 mounts"])

    def test_warnings(self) -> None:
        status = Status("unlocked", PathName(b"/m"), None, freshness=Freshness(older=2, has_lost_journal=True),
                        refusals=1, last_refusal="a\x1bb", guesses_left=1, has_passcode=False, rotation=7.0)
        found = warnings.sentences(status)
        self.assertEqual(len(found), 6)
        self.assertIn("a\\x1bb", found[2])
        self.assertIn("100 %", found[4])

    def test_the_path_of_an_older_file(self) -> None:
        status = Status("unlocked", PathName(b"/m"), None)
        for listed, expected in (("a/b", b"/m/a/b"), ("/caf\\xe9", b"/m/caf\xe9"), ("a\\nb", b"/m/a\nb"),
                                 ("a\\\\xe9", b"/m/a\\xe9"), ("\\u202ex", "/m/\u202ex".encode())):
            path = warnings.older_path(status, listed)
            assert path
            self.assertEqual(path.raw, expected)
        for listed in ("../x", "a/../../x", "\\x00", "a\\x2f..\\x2fb"):
            self.assertIsNone(warnings.older_path(status, listed), listed)

    def test_what_explain_says(self) -> None:
        text = json.dumps([{"path": "/m/a", "older": {"verdict": "conflict", "seen": 0}}])
        found = warnings.OlderFile.of(json.loads(text))
        assert found
        self.assertTrue(found.text.startswith("In conflict"))
        self.assertIsNone(warnings.OlderFile.of([{"path": "/m/a"}]))
