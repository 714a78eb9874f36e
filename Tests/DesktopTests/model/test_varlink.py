"""Messages of the control socket, and which socket folders are trusted."""

import os
import socket
import tempfile
import unittest

from latchkey_desktop.live.table import mounts
from latchkey_desktop.varlink.frames import LARGEST, BadMessage, Frames, call, error_of
from latchkey_desktop.varlink.sockets import folders, sockets

NAME = "00112233445566778899aabbccddeeff"


class FrameTests(unittest.TestCase):
    def test_pieces(self) -> None:
        whole = call("io.latchkey.Status", {"a": "\0"}) + b'{"b":1}\0'
        for size in (1, 2, 7, len(whole)):
            frames, found = Frames(), []
            for start in range(0, len(whole), size):
                found += frames.add(whole[start:start + size])
            self.assertEqual(found, [{"method": "io.latchkey.Status", "parameters": {"a": "\0"}}, {"b": 1}])

    def test_nonsense(self) -> None:
        for text in (b"x\0", b"[]\0", b"\0", b"[" * 200_000 + b"\0", b"{" * (LARGEST + 1),
                     b'{"a": "' + b"x" * LARGEST + b'"}\0'):
            with self.assertRaises(BadMessage):
                Frames().add(text)

    def test_errors(self) -> None:
        self.assertIsNone(error_of({"parameters": {}}))
        self.assertEqual(error_of({"error": "io.latchkey.Busy"}), ("Busy", {}))
        self.assertEqual(error_of({"error": "io.latchkey.Failed", "parameters": {"reason": "x"}}),
                         ("Failed", {"reason": "x"}))
        self.assertIsNone(error_of({"error": 3}))


class SocketFolderTests(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.base = folder.name
        self.user = os.getuid()

    def make(self, name: str, mode: int = 0o700) -> str:
        path = os.path.join(self.base, name)
        os.mkdir(path)
        os.chmod(path, mode)
        return path

    def listen(self, path: str) -> None:
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(path)

    def test_of_root(self) -> None:
        good = self.make("run")
        self.listen(f"{good}/{NAME}.socket")
        self.listen(f"{good}/{NAME}-ab12.socket")
        self.listen(f"{good}/other.socket")
        os.symlink(f"{NAME}.socket", f"{good}/{'1' * 32}.socket")
        with open(f"{good}/{'2' * 32}.socket", "w", encoding="ascii"):
            pass
        if self.user == 0:
            self.assertEqual(sockets(0, self.base, good), [f"{good}/{NAME}-ab12.socket", f"{good}/{NAME}.socket"])
            os.chmod(good, 0o750)
            self.assertEqual(sockets(0, self.base, good), [])

    def test_of_another_user(self) -> None:
        user = 4711 if self.user == 0 else self.user
        for name, mode in ((f"latchkey-{user}", 0o700), (f"latchkey-{user}.1", 0o700), (f"latchkey-{user}.2", 0o755),
                           (f"latchkey-{user}1", 0o700), (f"latchkey-{user}.x", 0o700)):
            path = self.make(name, mode)
            if self.user == 0:
                os.chown(path, user, user)
        os.symlink(os.path.join(self.base, f"latchkey-{user}"), os.path.join(self.base, f"latchkey-{user}.3"))
        expected = [os.path.join(self.base, name) for name in (f"latchkey-{user}", f"latchkey-{user}.1")]
        earlier = os.path.join(self.base, "run", str(user), "latchkey")
        os.makedirs(earlier)
        os.chmod(earlier, 0o700)
        os.chown(earlier, user, user)
        self.assertEqual(folders(user, self.base), expected)
        self.assertEqual(folders(user, self.base, runtime=os.path.join(self.base, "run")), [*expected, earlier])
        if self.user == 0:
            os.chown(expected[0], 0, 0)
            self.assertEqual(folders(user, self.base), expected[1:])


class TableTests(unittest.TestCase):
    def test_lines(self) -> None:
        text = (b"64 43 0:40 / /m/a\\040b rw,nosuid - fuse.latchkey /v/a\\134 rw,user_id=0,group_id=0\n"
                b"65 43 0:41 / /m/b rw - fuse.latchkey /v/b rw,user_id=1000,group_id=0\n"
                b"66 43 0:42 / /m/c rw - fuse.other /v/c rw,user_id=0\n"
                b"nonsense\n\n67 43 0:43 / /m/d rw shared:1 master:2 - fuse.latchkey /v/d ro,user_id=0\n")
        self.assertEqual([(point.raw, vault.raw) for point, vault in mounts(text, 0)],
                         [(b"/m/a b", b"/v/a\\"), (b"/m/d", b"/v/d")])
        self.assertEqual([point.raw for point, _ in mounts(text, 1000)], [b"/m/b"])
