"""Whatever becomes of the daemons, the window answers within 0.2 s, and has a clear word.

This is the one place where a test compares time. The window measures the largest gap of its own main loop. What counts
is how much longer that is than the gap of an idle program at the same time, each without the time in which it waited
for a processor: a busy machine slows both.
"""

import os
import resource
import signal
import subprocess
import time
import unittest

from support.scene import TOP, SceneTestCase
from support.screen import Screen
from support.waiting import until

LIMIT = 0.2
MANY = 20
# Open files: as many processes as it takes, each with what its limit allows.
FILES = 100_000
PER_PROCESS = 10_000
DISTINCT = 200


class FreezeTests(SceneTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.screen = Screen("io.latchkey.Desktop")

    def start_window(self) -> None:
        """The window, and beside it a loop that does nothing: how long that stays away is the machine's doing."""
        self.reference = self.scene.folder / "reference"
        idle = ("import sys\nfrom gi.repository import GLib\nfrom latchkey_desktop.heartbeat import Heartbeat\n"
                "beat = Heartbeat(sys.argv[1])\nGLib.MainLoop().run()\n")
        self.scene.start("/usr/bin/python3", "-c", idle, str(self.reference),
                         PYTHONPATH=str(TOP / "Sources/latchkey-desktop"))
        self.scene.start_desktop()

    def measure(self, what: str, seconds: float = 2.0) -> tuple[float, float]:
        """The largest gaps of the window and of the idle loop from now on, for so many seconds. It prints both."""
        files = (self.scene.heartbeat, self.reference)
        for file in files:
            file.unlink(missing_ok=True)
        time.sleep(seconds)
        # A loop that stands still now has written nothing of that yet.
        end = time.time()
        for file in files:
            until(lambda: file.exists() and file.stat().st_mtime > end, "a heartbeat")
        window, idle = (float(file.read_text()) for file in files)
        print(f"largest gap, {what}: {window * 1000:.0f} ms, of an idle program {idle * 1000:.0f} ms", flush=True)
        return window, idle

    def check(self, what: str, seconds: float = 2.0) -> None:
        """Measures, and fails if the window stayed away for longer than the limit more than an idle program."""
        window, idle = self.measure(what, seconds)
        self.assertLess(window, idle + LIMIT, what)

    def row(self, title: str, limit: float = 30) -> None:
        self.screen.find("list item", lambda name: name.startswith(title), limit)

    def test_stopped_and_killed(self) -> None:
        folder = self.scene.make_vault("work")
        self.scene.make_vault("other")
        self.start_window()
        self.row("work: Unlocked")
        self.row("other: Unlocked")
        self.measure("idle")
        daemon = self.scene.daemon("work")
        os.kill(daemon, signal.SIGSTOP)
        self.check("a stopped daemon", 6)
        self.row("work: Does not answer")
        self.screen.see("has not answered for two seconds")
        self.assertFalse(self.screen.can_click("Lock now"))
        # The others can still be locked.
        self.screen.click("Lock all now")
        self.row("other: Locked")
        self.screen.find("alert", lambda name: "work" in name and "does not answer" in name or "other" in name)
        # The pages do not wait for it either.
        self.screen.click("Open files")
        self.screen.click("Ways in")
        self.screen.click("Warnings")
        self.check("the pages of a stopped daemon")
        self.screen.click("State")
        self.screen.click("Ask what is wrong")
        self.screen.find("alert", lambda name: "is stopped" in name and "kill -CONT" in name, 40)
        os.kill(daemon, signal.SIGCONT)
        # What it was told while it stood, it does now.
        self.row("work: Locked")
        os.kill(daemon, signal.SIGKILL)
        self.row("work: Its process has ended")
        self.check("a killed daemon")
        self.screen.see("The keys are gone with it")
        self.screen.click("Unmount")
        self.row("work: Not mounted")
        self.assertTrue(folder.is_dir())
        self.assertNoTraceback()

    def test_many_vaults(self) -> None:
        names = [f"vault{number:02}" for number in range(MANY)]
        for name in names:
            self.scene.make_vault(name)
        self.start_window()
        for name in (names[0], names[-1]):
            self.row(f"{name}: Unlocked")
        self.measure("idle, 20 vaults")
        self.screen.click("Lock all now")
        self.check("20 vaults lock at once")
        for name in names:
            self.row(f"{name}: Locked")
        for name in names[:10]:
            os.kill(self.scene.daemon(name), signal.SIGSTOP)
        self.check("10 of 20 daemons are stopped", 5)
        self.row("vault09: Does not answer")
        self.row("vault10: Locked")
        self.assertNoTraceback()

    def test_many_open_files(self) -> None:
        folder = self.scene.make_vault("work")
        # The daemon counts files, and the kernel counts what holds them open.
        for number in range(DISTINCT):
            (folder / f"note{number}").write_text("x")
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        each = min(PER_PROCESS, hard - 50)
        count = min(-(-FILES // each), 40)
        script = ("import os, resource, sys\n"
                  "hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]\n"
                  "resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))\n"
                  "files = [os.open(f'{sys.argv[1]}/note{number % int(sys.argv[3])}', os.O_RDONLY)"
                  " for number in range(int(sys.argv[2]))]\n"
                  "print(len(files), flush=True)\nsys.stdin.read()\n")
        holding = [subprocess.Popen(["/usr/bin/python3", "-c", script, str(folder), str(each),
                                     str(DISTINCT)],
                                    stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(count)]
        try:
            for process in holding:
                assert process.stdout
                self.assertEqual(int(process.stdout.readline()), each)
            print(f"{count * each} open files, in {count} processes", flush=True)
            self.start_window()
            self.row("work: Unlocked")
            self.screen.see(f"{DISTINCT} open files")
            self.measure("idle, many open files")
            self.screen.click("Open files")
            self.check("many open files", 5)
            self.screen.see(f"{DISTINCT} open files, of class C", 60)
            self.screen.see("programs use this vault.")
        finally:
            for process in holding:
                process.communicate()
        self.assertNoTraceback()


if __name__ == "__main__":
    unittest.main()
