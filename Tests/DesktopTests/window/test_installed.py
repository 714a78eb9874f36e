"""The files as the package has them, in a folder of their own."""

import subprocess
import unittest

from support.scene import TOP, SceneTestCase
from support.screen import Screen


class InstalledTests(SceneTestCase):
    def test_starts_from_there(self) -> None:
        root = self.scene.folder / "root"
        layout = 'set -eu; . "$0/tools/lib/common.sh"; . "$0/tools/lib/desktop.sh"; lay_out_desktop "$1"'
        subprocess.run(["bash", "-c", layout, str(TOP), str(root)], check=True, timeout=120, capture_output=True)
        self.scene.make_vault("work", opened=False)
        self.scene.start("/usr/bin/python3", str(root / "usr/bin/latchkey-desktop"), LANGUAGE="de",
                         XDG_DATA_DIRS=f"{root}/usr/share:/usr/share",
                         LATCHKEY_DESKTOP_LOCALE=str(root / "usr/share/locale"))
        Screen("io.latchkey.Desktop").find("list item", "work: Nicht eingehängt")
        self.assertNoTraceback()
        for entry in root.rglob("*.desktop"):
            words = dict(line.split("=", 1) for line in entry.read_text().splitlines() if "=" in line)
            self.assertTrue((root / "usr/bin" / words["Exec"].split()[0]).exists(), entry)
            self.assertTrue(list(root.glob(f"usr/share/icons/hicolor/*/apps/{words['Icon']}.svg")), entry)
        for module in (root / "usr/share").glob("*-python/extensions/*.py"):
            self.assertIn("/usr/share/latchkey-desktop", module.read_text())

    def test_without_a_display(self) -> None:
        del self.scene.environment["DISPLAY"]
        program = self.scene.start_desktop()
        self.assertEqual(program.wait(20), 1)
        self.assertIn("there is no display", self.scene.log())
        self.assertIn("try: latchkey status", self.scene.log())
        self.assertNoTraceback()


if __name__ == "__main__":
    unittest.main()
