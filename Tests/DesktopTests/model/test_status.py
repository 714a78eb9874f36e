"""What a daemon sends is read without trust."""

import json
import os
import subprocess
import unittest

from latchkey_desktop.model import fields
from latchkey_desktop.model.paths import PathName, quoted
from latchkey_desktop.model.status import Status
from latchkey_desktop.text import shown

GOOD = {
    "state": "locking", "mountPoint": "/home/ada/work", "vault": "/home/ada/Vaults/work", "pid": 12,
    "deadline": 1000.5, "classKeys": ["complete", "none"], "openFiles": {"complete": 3}, "sequence": 4,
    "holds": [{"pid": 7, "uid": 0, "command": "rsync", "because": "a backup runs", "seconds": 12.5}],
    "freshness": {"older": 2, "files": ["letters/a"], "isStrict": True, "hasLostJournal": False},
}


class StatusTests(unittest.TestCase):
    def test_all_fields(self) -> None:
        status = Status.of(GOOD)
        assert status
        self.assertEqual(status.mount_point, PathName(b"/home/ada/work"))
        self.assertEqual(status.class_keys, {"complete", "none"})
        self.assertEqual(status.open_files["complete"], 3)
        self.assertEqual(status.open_files["none"], 0)
        self.assertEqual((status.holds[0].command, status.holds[0].because, status.holds[0].seconds),
                         ("rsync", "a backup runs", 12.5))
        assert status.freshness
        self.assertTrue(status.freshness.warns)

    def test_what_is_no_status(self) -> None:
        for value in (None, [], "x", 3, {}, {"state": "locked"}, {"mountPoint": "/a"}, {"state": 1, "mountPoint": "/a"},
                      {"state": "locked", "mountPoint": "relative"}, {"state": "locked", "mountPoint": "/a\0b"},
                      {"state": "locked", "mountPoint": "/a", "mountPointBase64": "!"}):
            self.assertIsNone(Status.of(value), value)

    def test_strange_values(self) -> None:
        """Each field alone has each strange value, and the status can still be read."""
        strange = [None, True, -1, 1e308, 10**400, float("nan"), float("-inf"), "x" * 10**6, [], [[]] * 10**5, {},
                   {"a": {}}, [{"pid": "x", "command": 3, "seconds": float("inf")}] * 1000, "\ud800"]
        keys = list(GOOD) + ["evictionPhase", "inodesToInvalidate", "guesses", "rotation", "refusals", "grace"]
        for key in keys:
            for value in strange:
                status = Status.of(GOOD | {key: value})
                if key in ("state", "mountPoint"):
                    continue
                assert status, (key, value)
                self.assertLessEqual(len(status.holds), 50)
                self.assertGreaterEqual(status.pid, 0)
                for hold in status.holds:
                    self.assertLessEqual(len(hold.command), fields.LONGEST)

    def test_deep_and_broken_json(self) -> None:
        for text in (b"[" * 100_000, b"{", b"\xff", b"", b"nan", b'{"a": ' * 5000):
            self.assertIn(fields.parsed(text), (None,))
        self.assertIsNone(fields.number(fields.parsed(b"1e999")))
        self.assertIsNone(fields.number(json.loads("NaN")))
        self.assertIsNone(fields.number(10**400))

    def test_exact_bytes_of_a_path(self) -> None:
        path = PathName.of({"mountPoint": "/caf\\xe9", "mountPointBase64": "L2NhZuk="}, "mountPoint")
        assert path
        self.assertEqual(path.raw, b"/caf\xe9")
        self.assertEqual(path.shown, "/caf\\xe9")
        self.assertEqual(quoted(path.argument), "$'/caf\\xe9'")

    def test_quoting_is_what_bash_reads(self) -> None:
        for raw in (b"plain", b"a b", b"it's", b"\xe2\x80\xaegnp.exe", b"a\nb", b"caf\xe9", b"-x", b"$(id)", b"`id`",
                    b"\\", b"'\\\xff", "é".encode(), b"~/x", b"a;b", b"*"):
            word = quoted(os.fsdecode(raw))
            self.assertTrue(word.isprintable(), word)
            found = subprocess.run(["bash", "-c", "printf %s " + word], capture_output=True, timeout=10).stdout
            if raw != b"~/x":
                self.assertEqual(found, raw, word)

    def test_invisible_characters_are_shown(self) -> None:
        self.assertEqual(shown("a\u202eb\x1b[0m\nc\u00a0"), "a\\u202eb\\x1b[0m\\nc\\xa0")
        self.assertLess(len(shown("x" * 10**6)), 500)
