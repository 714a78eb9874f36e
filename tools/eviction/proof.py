"""What must be in memory in each state, and what must not."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Iterator

from aes import hash_key_pieces, round_key_pieces
from keys import fmt, is_gone, secrets_of
from memory import Wanted, pieces_of, pieces_of_core, search
from opened import PAGE, Mapping, death, read_directly, refusal, splice_page
from scene import PAGES, Opened, Scene

# The search covers every form of this many file keys of each kind, and the first half of the others.
SAMPLE = 4


@dataclass
class Proof:
    scene: Scene
    failures: int = 0

    # Secrets

    def wanted(self) -> Wanted:
        """Needs the files at their final paths. Computed once for each passcode."""
        scene = self.scene
        sample = {f"{kind}-{number}": b"/%s-%d" % (kind.encode(), number)
                  for kind in ("strict", "mail", "held", "plain", "open") for number in range(SAMPLE)}
        secrets = secrets_of(scene.vault, scene.device_key, scene.passcode, scene.recovery_key, sample)
        wanted = secrets.wanted()
        vault = self.opened_vault()
        wanted.whole["contents of plain files"] = scene.canaries["plain"]
        for kind in ("strict", "mail"):
            keys = set()
            for number in range(SAMPLE, scene.files):
                header, protection = vault.header(vault.find(b"/%s-%d" % (kind.encode(), number)))
                keys.add(fmt.open_file_key(header.file, protection, vault.keys.volume, vault.classes)[:16])
            wanted.aligned[f"file keys of the other {kind} files"] = keys
            wanted.whole[f"contents of {kind} files"] = scene.canaries[kind]
        return wanted

    def opened_vault(self) -> "fmt.Vault":
        volume, device_key = fmt.parse_device_key(self.scene.device_key.read_bytes())
        return fmt.Vault(bytes(self.scene.vault), fmt.Credentials(device_key, self.scene.passcode), volume)

    @staticmethod
    def is_gone_deeply(name: str) -> bool:
        """Whether this must be gone from memory after a deep lock."""
        of_class_c = ("class key C", "file key plain", "key around the file key plain", "contents of plain")
        return is_gone(name) or name.startswith(of_class_c)

    REQUIRED_LOCKED = {"class key C", "class key D", "subkey for names", "file key held-0"}
    REQUIRED_UNLOCKED = REQUIRED_LOCKED | {"class key A", "class key B", "file key strict-0"}

    # The daemon's memory

    def look(self, state: str, wanted: Wanted, required: set[str], forbidden: Callable[[str], bool],
             pieces: Iterator[bytes] | None = None) -> None:
        found, count = search(pieces_of(self.scene.daemon) if pieces is None else pieces, wanted)
        again = ""
        if pieces is None and self.WRITTEN in found and forbidden(self.WRITTEN):
            found = found - {self.WRITTEN} | self.look_again(wanted)
            again = ", twice"
        wrong = sorted(name for name in found if forbidden(name))
        missing = sorted(required - found)
        problems = [f"found: {name}" for name in wrong]
        problems += [f"not found, but required: {name}" for name in missing]
        self.tell(state, f"{count / (1 << 20):6.0f} MiB searched{again}, {len(found):3} secrets found", problems)

    # The contents that the programs write again and again.
    WRITTEN = "contents of strict files"

    def look_again(self, wanted: Wanted) -> set[str]:
        """Searches again while the programs are stopped.

        A write that the daemon is about to refuse is in its buffer for a moment; its bytes come from the program's own
        memory. When no program writes, none of them may be left.
        """
        self.scene.pause()
        time.sleep(1)
        found, _ = search(pieces_of(self.scene.daemon), Wanted({self.WRITTEN: wanted.whole[self.WRITTEN]}, {}))
        self.scene.resume()
        return found

    def tell(self, what: str, result: str, wrong: list[str]) -> None:
        print(f"{what:58} {result:45} {'ok' if not wrong else 'FAILED'}", flush=True)
        for line in wrong:
            print(f"    {line}", flush=True)
        self.failures += len(wrong)

    def look_while_locked(self, state: str, wanted: Wanted) -> None:
        if not self.scene.working():
            self.tell(state, "", ["a program that writes has ended"])
        self.look(state, wanted, self.REQUIRED_LOCKED, is_gone)

    def look_after_deep_lock(self, state: str, wanted: Wanted) -> None:
        self.look(state, wanted, self.REQUIRED_LOCKED - {"class key C"}, self.is_gone_deeply)
        wrong = self.refusals("plain", self.scene.services)
        if pages := self.count_pages(self.scene.services):
            wrong.append(f"{pages} pages are in the page cache")
        self.tell("    by handles and mappings", f"{len(self.scene.services)} files of C", wrong[:10])

    def look_into_a_core(self, wanted: Wanted) -> None:
        """A core has no memory of secrets. It has the mount's path, so finding that shows that the search works."""
        core = self.scene.folder / "core"
        done = subprocess.run(["gcore", "-o", str(core), str(self.scene.daemon)], capture_output=True, text=True)
        path = Path(f"{core}.{self.scene.daemon}")
        if not path.exists():
            return self.tell("locked: a core by gcore", "", [f"gcore made none: {done.stderr.strip()[-300:]}"])
        named = Wanted({**wanted.whole, "the mount's path": bytes(self.scene.point)}, wanted.aligned)
        self.look("locked: a core by gcore", named, {"the mount's path"},
                  lambda name: name != "the mount's path" and is_gone(name), pieces_of_core(path))
        path.unlink()

    # The kernel

    def count_pages(self, files: list[Opened]) -> int:
        """Pages of these files in the page cache, at most a second after the programs were stopped."""
        self.scene.pause()
        end = time.monotonic() + 1
        while True:
            resident = sum(opened.mapping.resident() for opened in files)
            if resident == 0 or time.monotonic() > end:
                self.scene.resume()
                return resident

    def look_through_handles(self) -> None:
        """A program that has the strict files open, mapped, locked in memory or half read can read none of them."""
        pages = self.count_pages(self.scene.opened)
        wrong = self.refusals("strict", self.scene.opened)
        if pages:
            wrong.append(f"{pages} pages are in the page cache")
        for number in range(self.scene.files):
            answer = refusal(lambda: os.close(os.open(self.scene.path("mail", number), os.O_RDONLY)))
            if answer != "ENOKEY":
                wrong.append(f"mail-{number}: open ends with {answer or 'success'}")
        self.tell("locked: by handles and mappings",
                  f"{len(self.scene.opened)} strict files, {self.scene.files} of B closed", wrong[:10])

    def refusals(self, kind: str, files: list[Opened]) -> list[str]:
        """What a program can do with locked files that it has open; empty if it can do nothing."""
        wrong: list[str] = []
        for number, opened in enumerate(files):
            acts = {
                "read": lambda: os.pread(opened.descriptor, PAGE, 0),
                "read to the end": lambda: os.pread(opened.descriptor, 10 * PAGE, PAGE),
                "read with O_DIRECT": lambda: read_directly(opened.direct, PAGE),
                "splice": lambda: splice_page(opened.descriptor, PAGE),
                "open": lambda: os.close(os.open(self.scene.path(kind, number), os.O_RDONLY)),
            }
            for what, act in acts.items():
                if (answer := refusal(act)) != "ENOKEY":
                    wrong.append(f"{opened.name}: {what} ends with {answer or 'success'}")
            if (number % 10 == 0 or len(files) < 10) and (signal := death(opened.mapping.touch)) != "SIGBUS":
                wrong.append(f"{opened.name}: a touched {opened.mapping.kind} mapping ends with {signal or 'success'}")
        return wrong

    def closed_files_have_no_pages(self) -> None:
        """Called right after an unlock, before any program reads one of them again."""
        pages = 0
        for number in range(self.scene.files):
            descriptor = os.open(self.scene.path("mail", number), os.O_RDWR)
            mapping = Mapping.of(descriptor, PAGES * PAGE, "shared")
            pages += mapping.resident()
            mapping.close()
            os.close(descriptor)
        self.tell("unlocked again: closed files of class B", f"{pages} pages in the page cache",
                  [f"{pages} pages are still cached after the lock"] if pages else [])

    def everything_is_there(self) -> None:
        wrong = []
        for kind, files in (("strict", self.scene.opened), ("plain", self.scene.services)):
            for number, opened in enumerate(files):
                if os.pread(opened.descriptor, PAGES * PAGE, 0) != self.scene.content(kind, number):
                    wrong.append(f"{opened.name} has wrong contents through its handle")
                if opened.mapping.bytes() != self.scene.content(kind, number):
                    wrong.append(f"{opened.name} has wrong contents through its {opened.mapping.kind} mapping")
        for kind in ("strict", "mail", "held", "plain", "open"):
            for number in range(self.scene.count(kind)):
                if self.scene.path(kind, number).read_bytes() != self.scene.content(kind, number):
                    wrong.append(f"{kind}-{number} has wrong contents")
        self.tell("unlocked again: all that was written", f"{len(self.scene.opened)} handles and mappings", wrong[:10])

    # The search itself

    def search_finds_expanded_keys(self) -> None:
        """Searches a process that keeps an OpenSSL cipher in use: the search must find its expanded key."""
        program = ("import os, sys\n"
                   "from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes\n"
                   "key, iv = bytes.fromhex(sys.argv[1]), os.urandom(12)\n"
                   "cipher = Cipher(algorithms.AES(key), modes.GCM(iv)).encryptor()\n"
                   "cipher.update(bytes(4096)); key = None\n"
                   "print('ready', flush=True); sys.stdin.read()\n")
        key = os.urandom(32)
        child = subprocess.Popen([sys.executable, "-c", program, key.hex()], stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE)
        assert child.stdout is not None and child.stdin is not None
        child.stdout.readline()
        wanted = Wanted(
            aligned={"round keys": round_key_pieces(key), "multiples of the hash key": hash_key_pieces(key)})
        found, count = search(pieces_of(child.pid), wanted)
        child.stdin.close()
        child.wait()
        self.tell("the search itself, on a cipher in use", f"{count / (1 << 20):6.0f} MiB searched",
                  [f"not found: {name}" for name in sorted(set(wanted.aligned) - found)])


def timed(act: Callable[[], None]) -> float:
    begin = time.monotonic()
    act()
    return time.monotonic() - begin
