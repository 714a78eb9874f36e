"""What the assistant makes of the lines of `latchkey protect --json`."""

import json
import unittest

from latchkey_desktop.model import commands
from latchkey_desktop.model.migration import MOST_NOTICES, Migration
from latchkey_desktop.model.migration_text import (error_text, notices_text, outcome_text, plan_text, progress_text,
                                                   writers_text)
from latchkey_desktop.model.spans import size, span


def taken(*events: object) -> Migration:
    found = Migration()
    for event in events:
        found.take(json.dumps(event).encode())
    return found


class MigrationTests(unittest.TestCase):
    def test_plan(self) -> None:
        found = taken({"event": "plan", "path": "/home/ada/Documents", "allEntries": 1, "allBytes": 3 << 30,
                       "seconds": 130.4, "needed": 1 << 30, "free": 2 << 30, "overwrites": True},
                      {"event": "writer", "process": 7, "program": "vi", "path": "/home/ada/Documents/a"},
                      {"event": "writer", "process": 8, "program": "vi", "path": "/home/ada/Documents/b"})
        assert found.plan is not None
        self.assertEqual(plan_text(found.plan, False),
                         "1 file, 3.0 GiB. It takes about 2 minutes. It needs 1.0 GiB of the 2.0 GiB that are free. "
                         "The originals are overwritten, and removed.")
        found.take(b'{"event": "plan", "needed": 4294967296, "free": 2147483648}')
        self.assertIn("There is not enough space: it needs 4.0 GiB, and 2.0 GiB are free.", plan_text(found.plan, True))
        self.assertTrue(writers_text(found).endswith(": vi"))

    def test_progress(self) -> None:
        found = taken({"event": "progress", "entries": 10, "allEntries": 40, "bytes": 2048, "allBytes": 9,
                       "secondsLeft": 4000, "fraction": 0.25})
        assert found.progress is not None
        self.assertEqual(progress_text(found.progress), "10 of 40 files, 2.0 KiB; 1 hour left")
        self.assertEqual(found.progress.fraction, 0.25)

    def test_notices(self) -> None:
        found = taken({"event": "busy", "path": "a"}, {"event": "unreadable", "path": ""},
                      {"event": "set-aside", "path": "b", "as": "b.conflict-1"},
                      {"event": "unmovable", "path": "caf\\xe9", "pathBase64": "Y2Fm6Q=="})
        self.assertEqual([notice.path.raw for notice in found.notices], [b"a", b".", b"b", b"caf\xe9"])
        self.assertIn("The one that was moved earlier is now b.conflict-1.", notices_text(found))

    def test_floods_are_bounded(self) -> None:
        found = taken(*[{"event": "busy", "path": f"{number}"} for number in range(5000)])
        self.assertEqual(len(found.notices), MOST_NOTICES)
        self.assertTrue(notices_text(found).endswith(f"and {5000 - MOST_NOTICES} more"))

    def test_interrupted_and_ended(self) -> None:
        self.assertEqual(taken({"event": "unfinished", "direction": "unprotect"}).unfinished, "unprotect")
        self.assertEqual(taken({"event": "unfinished", "direction": "erase"}).unfinished, "")
        end = taken({"event": "end", "seconds": 3, "digestBefore": "a", "digestAfter": "b"}).end
        assert end is not None
        self.assertEqual((end.before, end.after), ("a", "b"))

    def test_what_a_person_needs_to_know(self) -> None:
        found = taken({"event": "kept", "path": "/home/ada/Documents.unprotected"},
                      {"event": "recovery-key", "path": "/home/ada/key", "opens": True},
                      {"event": "startup", "isEnabled": False, "name": "documents"})
        for words in ("The originals are in /home/ada/Documents.unprotected", "The recovery key is in /home/ada/key.",
                      "After the next login, open the vault yourself"):
            self.assertIn(words, outcome_text(found))
        found = taken({"event": "recovery-key", "path": "/k", "opens": False}, {"event": "closed", "name": "papers"})
        self.assertIn("The recovery key in /k opens nothing any more", outcome_text(found))
        self.assertIn("choose papers in the window", outcome_text(found))
        failed = taken({"event": "error", "message": "no\nspace", "advice": ["the same again"]})
        self.assertEqual(error_text(failed), "no\\nspace\ntry: the same again")

    def test_what_is_no_event(self) -> None:
        for line in (b"", b"x", b"[]", b"{}", b'{"event": 3}', b'{"event": "plan"}', b'{"event": "progress"}',
                     b'{"event": "progress", "fraction": 7e300, "entries": -1, "secondsLeft": -9e400}',
                     b'{"event": "busy"}', b'{"event": "busy", "path": "a\\u0000b"}',
                     b'{"event": "busy", "path": "\\ud800"}', b'{"event": "end"}', b"\xff"):
            Migration().take(line)

    def test_command_lines(self) -> None:
        self.assertEqual(commands.protect("/home/a b", "/k", False, True).shown,
                         "latchkey protect --yes --recovery-key-file /k --no-lock-with-screen --keep '/home/a b'")
        self.assertEqual(commands.go_on("unprotect", "/x", True).shown, "latchkey unprotect --undo /x")

    def test_units(self) -> None:
        self.assertEqual([size(0), size(1023), size(1536), size(150 << 20), size(2**80)],
                         ["0 B", "1023 B", "1.5 KiB", "150 MiB", "1073741824 PiB"])
        self.assertEqual([span(0), span(59), span(61), span(7300), span(1e300)],
                         ["1 second", "59 seconds", "1 minute", "2 hours", "277778 hours"])


if __name__ == "__main__":
    unittest.main()
