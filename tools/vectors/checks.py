"""The reader held against the vectors: it refuses what they refuse, and sees what they say is seen."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from .building import build_with_keys
from .headers import header_vectors
from .journal_vault import journal_vault_vectors
from .journals import journal_head, journal_vectors
from .keybags import keybag_vectors
from .parts import (base64_vectors, block_vectors, directory_vectors, name_vectors, recovery_vectors, wrap_vectors,
                    xattr_vectors)
from .pending import pending_vectors
from .sealing import CLASSES, DEVICE_KEY, KEYS, PASSCODE, TOOLS, V, VOLUME_KEY, algorithm_of, fmt, xattr
from .summaries import summary_vectors
from .vaults import vault_vectors


def refusal(action: Any, *arguments: Any) -> bool:
    try:
        action(*arguments)
    except (fmt.Refused, fmt.Locked):
        return True
    return False


def check_refusals(failures: list[str]) -> None:
    """Everything that the vectors call refused, the reader refuses."""
    def expect(refused: bool, file: str, case: dict[str, Any]) -> None:
        if not refused:
            failures.append(f"{file}: not refused: {case['why']}")

    for case in base64_vectors()["refused"]:
        expect(refusal(fmt.b64_decode, case["text"].encode()), "base64url", case)
    names = name_vectors()
    for case in names["refused"]:
        expect(refusal(lambda text: fmt.open_name(KEYS, names["directoryID"], fmt.b64_decode(text.encode())),
                       case["backingName"]), "names", case)
    for case in directory_vectors()["refused"]:
        expect(refusal(fmt.open_directory_record, KEYS, case["place"], case["target"].encode()), "directories", case)
    for case in header_vectors()["refused"]:
        expect(refusal(fmt.open_header, KEYS, case["header"]), "headers", case)
    for case in wrap_vectors()["refused"]:
        wrapped = fmt.FileProtection(case["class"], False, algorithm_of(case["class"]), case["wrap"])
        expect(refusal(fmt.open_file_key, case["fileID"], wrapped, V, CLASSES), "wraps", case)
    blocks_given, bags = block_vectors(), keybag_vectors()
    for case in blocks_given["refused"]:
        expect(refusal(fmt.open_block, blocks_given["fileKey"], V, blocks_given["fileID"], case["index"],
                       case["stored"]), "blocks", case)
    for case in recovery_vectors()["refused"]:
        expect(refusal(fmt.parse_recovery_key, case["text"]), "recovery", case)
    for case in bags["refusedAtParse"]:
        expect(refusal(fmt.parse_keybag, case["keybag"]), "keybag", case)
    for case in bags["refusedAtMount"]:
        expect(refusal(fmt.open_device_slot, fmt.parse_keybag(case["keybag"]), DEVICE_KEY), "keybag", case)
    for name in ("numberedKeybag", "numberedBlocksKeybag"):
        expect(fmt.parse_keybag(bags[name]).volume == V, "keybag", {"why": f"{name} is read"})
    good = fmt.parse_keybag(bags["keybag"])
    for credentials in (fmt.Credentials(device_key=DEVICE_KEY, passcode=PASSCODE),
                        fmt.Credentials(recovery_key=bags["recoveryKey"]),
                        fmt.Credentials(device_key=DEVICE_KEY, key_file=fmt.parse_key_file(bags["keyFileText"])),
                        fmt.Credentials(escrow_key=bags["escrowPrivateKey"])):
        expect(fmt.unlock(good, credentials, fmt.open_device_slot(good, DEVICE_KEY))[0] == VOLUME_KEY, "keybag",
               {"why": "each way in opens it"})
    by_key = fmt.parse_keybag(bags["securityKeyKeybag"])
    secret = fmt.Credentials(device_key=DEVICE_KEY, fido2_secret=bags["fido2Secret"])
    expect(fmt.unlock(by_key, secret, fmt.open_device_slot(by_key, DEVICE_KEY))[0] == VOLUME_KEY, "keybag",
           {"why": "a security key opens it"})
    seen = fmt.parse_seen_keybag(bags["seen"], V, DEVICE_KEY)
    expect(seen is not None and seen.raw == good.raw, "keybag",
           {"why": "what a machine has seen is read"})
    for case in bags["seenThatIsIgnored"]:
        expect(fmt.parse_seen_keybag(case["seen"], V, DEVICE_KEY) is None, "keybag", case)
    given = fmt.Credentials(device_key=DEVICE_KEY, passcode=PASSCODE)
    for case in bags["refusedAtUnlock"]:
        bag = fmt.parse_keybag(case["keybag"])
        expect(refusal(fmt.unlock, bag, given, fmt.open_device_slot(bag, DEVICE_KEY)), "keybag", case)


def check_attributes(failures: list[str]) -> None:
    """What was sealed opens, with its rest and not without it."""
    given = xattr_vectors()

    def expect(condition: bool, case: dict[str, Any]) -> None:
        if not condition:
            failures.append(f"xattrs: {case['name'][:20]}")

    for case in given["cases"]:
        found = fmt.open_xattr(KEYS, given["ownerID"], case["storedName"], case["storedValue"])
        expect(found == (case["name"].encode(), case["value"]), case)
    for case in given["nodes"]:
        found = fmt.open_xattr(KEYS, bytes(16), case["storedName"], case["storedValue"], "trusted.lk.")
        expect(found == (case["name"].encode(), case["value"]), case)
    for case in given["large"]:
        whole = xattr(given["ownerID"], case["name"].encode(), case["size"] * b"v")[1]
        first, rest = whole[:65536], case.get("rest", b"")
        continuation = fmt.continuation_name(case["storedName"], first, "user.lk.")
        expect(first + rest == whole and (case["size"] <= 65503 or continuation == case["restName"]), case)
        found = fmt.open_xattr(KEYS, given["ownerID"], case["storedName"], first + rest)
        expect(found == (case["name"].encode(), case["size"] * b"v"), case)
        if rest:
            expect(refusal(fmt.open_xattr, KEYS, given["ownerID"], case["storedName"], first), case)


def check_headers(failures: list[str]) -> None:
    """What a header says of a file depends on the place at which that is found."""
    for case in header_vectors()["cases"]:
        opened = fmt.open_header(KEYS, case["header"])
        for item in case["at"]:
            found = opened.at(item["place"])
            shown = (found.protection, found.explicit, found.algorithm, found.wrap)
            if shown != (item["class"], item["explicit"], item["wrapAlgorithm"], item["wrap"]):
                failures.append(f"headers: another protection at {item['place'].hex()}")
        if opened.numbers_blocks != case["numbered"]:
            failures.append("headers: other nonces")
        times = case["modified"]
        if (*opened.modified, opened.stamp) != (times["seconds"], times["nanoseconds"], times["stamp"]):
            failures.append("headers: another time of modification")
        for item in times["shown"]:
            if opened.shown_time(tuple(item["backing"])) != tuple(item["time"]):
                failures.append(f"headers: another time shown for {item['backing']}")
        times = case["changed"]
        if (opened.changed, opened.written) != ((times["seconds"], times["nanoseconds"]), tuple(times["written"])):
            failures.append("headers: another time of change")
        for item in times["shown"]:
            if opened.shown_change(tuple(item["backing"])) != tuple(item["time"]):
                failures.append(f"headers: another time of change shown for {item['backing']}")
        for binding in case["notAt"]:
            if not refusal(opened.at, binding):
                failures.append(f"headers: not refused at {binding.hex()}")


def check_summaries(failures: list[str]) -> None:
    """A summary says of a file what it should, and none that is another's says anything."""
    given = summary_vectors()
    for case in given["cases"]:
        found = fmt.open_summary(KEYS, case["summary"], case["place"], case["size"], case["stamp"])
        expected = fmt.Summary(case["class"], case["explicit"], case["fileID"], case["generation"], case["length"],
                               *(tuple(case[time]) for time in ("modified", "changed", "written")))
        if found != expected:
            failures.append(f"summaries: {found} for {expected}")
    for case in given["refused"]:
        if not refusal(fmt.open_summary, KEYS, case["summary"], case["place"], case["size"], case["stamp"]):
            failures.append(f"summaries: not refused: {case['why']}")


def check_pending(failures: list[str]) -> None:
    """Pending bindings say what they should, and others say nothing."""
    given = pending_vectors()
    for case in given["cases"]:
        if fmt.open_pending(KEYS, case["value"], case["fileID"]) != (case["generation"], case["places"]):
            failures.append(f"pending: {len(case['places'])} bindings")
    for case in given["refused"]:
        if not refusal(fmt.open_pending, KEYS, case["value"], case["fileID"]):
            failures.append(f"pending: not refused: {case['why']}")


def check_journal(failures: list[str]) -> None:
    """The reader takes the vectors' journals as they say."""
    given = journal_vectors()

    def expect(condition: bool, what: str) -> None:
        if not condition:
            failures.append(f"journal: {what}")

    for case in given["heads"]["cases"]:
        head = fmt.open_journal_head(KEYS, case["head"])
        windows = [(window["from"], window["to"]) for window in case["windows"]]
        expect((head.part_size, head.parts, head.opened, head.next_epoch, head.windows)
               == (case["halfSize"], case.get("parts", 2), case["opened"], case["nextLap"], windows), "a head")
    for case in given["heads"]["refused"]:
        expect(refusal(fmt.open_journal_head, KEYS, case["head"]), f"not refused: {case['why']}")
    for case in given["heads"]["compatible"] + given["heads"]["readOnly"]:
        fmt.open_journal_head(KEYS, case["head"])
    for case in given["records"]["cases"]:
        record = fmt.open_record(KEYS, case["record"], case["lap"], case["position"])
        fmt.check_payload(KEYS, record, record.file)
        shown = (record.kind, record.file, record.generation, record.number, record.payload)
        expect(shown == (case["type"], case["fileID"], case["generation"], case["number"], case["payload"])
               and record.size == len(case["record"]), "a record")
    for case in given["records"]["refused"]:
        expect(refusal(fmt.open_record, KEYS, case["record"], case["lap"], case["position"]),
               f"not refused: {case['why']}")
    for case in given["records"]["ignored"]:
        record = fmt.open_record(KEYS, case["record"], case["lap"], case["position"])
        expect(refusal(fmt.check_payload, KEYS, record, record.file), f"not refused: {case['why']}")
    for case in given["asides"]["cases"]:
        parts = tuple(case[part].encode() for part in ("folder", "aside", "name"))
        expect(fmt.tombstone_note(case["payload"]) == parts,
               "an aside record's payload")
    for case in given["asides"]["refused"]:
        expect(refusal(fmt.tombstone_note, case["payload"]), f"not refused: {case['why']}")
    for case in given["journals"]:
        expect(found_records(case) == case["found"], case["what"])


def found_records(case: dict[str, Any]) -> list[dict[str, int]]:
    """The records that the reader finds in a journal in an otherwise empty folder, without what was found in it."""
    size = fmt.open_journal_head(KEYS, case["head"]).part_size
    parts = [part.ljust(size, b"\0") for part in case["halves"]]
    with tempfile.TemporaryDirectory() as temporary:
        (Path(temporary) / "lk.journal").write_bytes(case["head"].ljust(4096, b"\0") + b"".join(parts))
        records = fmt.read_journal(KEYS, temporary.encode()).records
    return [{"half": next(number for number, part in enumerate(parts)
                          if int.from_bytes(part[8:16], "little") == record.epoch), "position": record.position}
            for record in records]


class Reader:
    """tools/read-vault.py, run as a person runs it, over a vault of the vectors."""

    def __init__(self, name: str, given: dict[str, Any], folder: Path, failures: list[str]) -> None:
        self.name, self.given, self.folder, self.failures = name, given, folder, failures
        build_with_keys(given, folder)

    def expect(self, condition: bool, what: str) -> None:
        if not condition:
            self.failures.append(f"{self.name}: {what}")

    def read(self, *arguments: str | bytes, keys: str = "passcode") -> subprocess.CompletedProcess[bytes]:
        options = {"device": ["--device-key", self.folder / "device.key"],
                   "passcode": ["--device-key", self.folder / "device.key",
                                "--passcode-file", self.folder / "passcode"],
                   "recovery": ["--recovery-key-file", self.folder / "recovery-key"]}
        command = [sys.executable, TOOLS / "read-vault.py", self.folder / "vault"]
        return subprocess.run(command + options[keys] + list(arguments), capture_output=True, check=False)

    def sees_what_it_should(self) -> None:
        names = sorted(item["path"][1:] for item in self.given["see"] if item["path"].count(b"/") == 1)
        self.expect(self.read("ls").stdout.splitlines() == names, "ls of the root")
        verified = self.read("verify")
        self.expect(verified.returncode == 0, f"verify: {verified.stdout.decode()}{verified.stderr.decode()}")
        # The rest in this process: a passcode takes its time.
        vault = fmt.Vault(bytes(self.folder / "vault"), fmt.Credentials(device_key=DEVICE_KEY, passcode=PASSCODE))
        for item in self.given["see"]:
            try:
                self.compare(item, vault, vault.find(item["path"]))
            except (fmt.Refused, OSError) as error:
                self.expect(False, f"{item['path']!r}: {error}")

    def compare(self, item: dict[str, Any], vault: Any, entry: Any) -> None:
        path, facts = item["path"], fmt.describe(vault, entry)
        if item["kind"] == "file":
            contents = b"".join(vault.contents(entry))
            self.expect(contents == item["content"] + bytes(item["zeros"]), f"contents of {path!r}")
        if "class" in item:
            shown = (facts.get("class"), facts.get("explicit"))
            self.expect(shown == (fmt.CLASS_NAMES[item["class"]], item["explicit"]), f"class of {path!r}")
        if "modified" in item:
            seconds, nanoseconds = item["modified"]
            self.expect(facts.get("modified") == f"{seconds}.{nanoseconds:09}", f"time of {path!r}")
        self.expect(facts.get("target", "") == item.get("target", b"").decode(), f"target of {path!r}")
        attributes = {name: value.hex() for name, value in item.get("xattrs", {}).items()}
        self.expect(facts.get("xattrs", {}) == attributes, f"attributes of {path!r}")


def check_vault(failures: list[str]) -> None:
    given = vault_vectors()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        reader = Reader("vault", given, folder, failures)
        reader.sees_what_it_should()
        read, expect = reader.read, reader.expect
        expect(read("cat", "/hello.txt").stdout == b"Hello, vault\n", "cat")
        expect(json.loads(read("stat", "/hello.txt").stdout)["length"] == 13, "stat")
        expect(read("verify", keys="recovery").returncode == 0, "verify with the recovery key")
        expect(read("cat", "/public", keys="device").returncode == 0, "class D with the device key alone")
        expect(read("cat", "/hello.txt", keys="device").returncode == 4, "class C with the device key alone")
        bag, previous = folder / "vault" / "lk.keybag", folder / "vault" / "lk.keybag.old"
        bag.rename(previous)
        expect(read("ls").returncode == 0, "the previous keybag, where there is no other")
        bag.write_bytes(given["make"][0]["content"][:-1])
        expect(read("ls").returncode == 0, "the previous keybag, where the other is truncated")
        previous.unlink()
        expect(read("ls").returncode == 6, "a truncated keybag")
        bag.unlink()
        expect(read("ls").returncode == 5, "no keybag")
        bag.write_bytes(given["make"][0]["content"])
        journal = folder / "vault" / "lk.journal"
        for case in journal_vectors()["heads"]["refused"]:
            journal.write_bytes(case["head"])
            expect(read("ls", keys="device").returncode == 6, f"not refused: {case['why']}")
        # Outside of all windows a void file is damage.
        journal.write_bytes(journal_head(4096, windows=[(1_000_000_000, 1_000_000_100)]))
        hello = folder / "vault" / next(item["path"] for item in given["make"] if item.get("xattrs"))
        hello.write_bytes(b"")
        expect(read("cat", "/hello.txt").returncode == 6, "a void file")
        (folder / "passcode").write_bytes(b"wrong\n")
        expect(read("ls").returncode == 3, "a wrong passcode")


def check_journal_vault(failures: list[str], runs: bool) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)

        def contents() -> dict[Path, bytes]:
            return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}

        name = "journal-runs-vault" if runs else "journal-vault"
        reader = Reader(name, journal_vault_vectors(runs), folder, failures)
        before = contents()
        reader.sees_what_it_should()
        expected = next(item for item in reader.given["see"] if item["path"] == b"/overwritten")
        reader.expect(reader.read("cat", "/overwritten").stdout == expected["content"], "cat")
        reader.expect(contents() == before, "reading has changed something")
        (folder / "vault" / "lk.journal").unlink()
        reader.expect(reader.read("verify").returncode == 6, "nothing is missing without the journal")
