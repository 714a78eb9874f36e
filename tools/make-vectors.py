#!/usr/bin/env python3
"""Write Tests/Vectors/*.json, test vectors of docs/FORMAT.md with fixed keys and nonces.

The vectors come from Python's cryptography and argon2-cffi, never from Latchkey, so that the tests compare Latchkey
with an independent implementation. Every run writes the same bytes. `--check` writes nothing: it compares the committed
vectors with those of this run, and reads the vaults back with tools/read-vault.py. `--vault` and `--compare` test any
other implementation against vault.json, or with `--journal` or `--journal-runs` against that vault with a journal.

Bytes are in hexadecimal, other strings are plain. "cases" must work in both directions if the value is deterministic,
and otherwise (wraps of class B, blocks, attributes) with the given nonce. "refused" must be refused. A refused header
names the check that refuses it: its fields alone, its MAC, the volume ID, or the wrap algorithm and length of its
class. A refused record of the journal may also name its size, epoch or position. "ignored" records are valid but have
no effect.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

sys.dont_write_bytecode = True

from vectors.building import build_with_keys, compare
from vectors.checks import (check_attributes, check_headers, check_journal, check_journal_vault, check_pending,
                            check_refusals, check_summaries, check_vault)
from vectors.claims import claim_vectors
from vectors.members import member_vectors
from vectors.example import worked_example
from vectors.headers import header_vectors
from vectors.journal_vault import journal_runs_vault_vectors, journal_vault_vectors
from vectors.journals import journal_vectors
from vectors.keybags import keybag_vectors
from vectors.marks import check_marks, mark_vectors
from vectors.numbers import check_numbers
from vectors.parts import (base64_vectors, block_vectors, directory_vectors, name_vectors, recovery_vectors,
                           subkey_vectors, symlink_vectors, wrap_vectors, xattr_vectors)
from vectors.pending import pending_vectors
from vectors.sealing import TOOLS, VECTORS
from vectors.sidecars import check_sidecars, sidecar_vectors
from vectors.summaries import summary_vectors
from vectors.vaults import vault_vectors

FILES = {
    "base64url": base64_vectors, "blocks": block_vectors, "claims": claim_vectors, "members": member_vectors,
    "directories": directory_vectors, "headers": header_vectors,
    "journal": journal_vectors, "journal-runs-vault": journal_runs_vault_vectors,
    "journal-vault": journal_vault_vectors, "keybag": keybag_vectors,
    "marks": mark_vectors,
    "names": name_vectors, "pending": pending_vectors, "recovery": recovery_vectors,
    "sidecars": sidecar_vectors, "subkeys": subkey_vectors,
    "summaries": summary_vectors,
    "symlinks": symlink_vectors, "vault": vault_vectors, "wraps": wrap_vectors, "xattrs": xattr_vectors,
}


def as_json(vectors: dict[str, Any]) -> str:
    def plain(value: Any) -> Any:
        if isinstance(value, bytes):
            return value.hex()
        if isinstance(value, dict):
            return {key: plain(inner) for key, inner in value.items()}
        return [plain(inner) for inner in value] if isinstance(value, list) else value

    return json.dumps(plain(vectors), indent=1, ensure_ascii=False) + "\n"


def check() -> int:
    failures: list[str] = []
    for name, make in FILES.items():
        path = VECTORS / f"{name}.json"
        if not path.exists() or path.read_text() != as_json(make()):
            failures.append(f"{path.relative_to(TOOLS.parent)} is not what tools/make-vectors.py writes")
    if worked_example() not in (TOOLS.parent / "docs" / "FORMAT.md").read_text():
        failures.append("the worked example in docs/FORMAT.md is not what tools/make-vectors.py --example prints")
    check_refusals(failures)
    check_attributes(failures)
    check_sidecars(failures)
    check_headers(failures)
    check_summaries(failures)
    check_pending(failures)
    check_journal(failures)
    check_marks(failures)
    check_numbers(failures)
    check_vault(failures)
    check_journal_vault(failures, runs=False)
    check_journal_vault(failures, runs=True)
    for failure in failures:
        print(failure, file=sys.stderr)
    return 1 if failures else 0


def main() -> int:
    parser = argparse.ArgumentParser(description="Write Tests/Vectors/*.json, the same bytes at every run.")
    parser.add_argument("--check", action="store_true",
                        help="write nothing; compare the committed vectors, and read the vaults back")
    parser.add_argument("--example", action="store_true", help="print the worked example of docs/FORMAT.md instead")
    parser.add_argument("--vault", type=Path, metavar="FOLDER", help="make the vault of vault.json in FOLDER/vault "
                        "instead, with device.key, passcode and recovery-key beside it")
    parser.add_argument("--compare", type=Path, metavar="DIR", help="compare a mount of that vault with vault.json")
    parser.add_argument("--journal", action="store_true", help="with --vault and --compare: use journal-vault.json, "
                        "a vault with a journal to replay, in its place")
    parser.add_argument("--journal-runs", action="store_true", help="the same with journal-runs-vault.json: its "
                        "journal has four parts, and blocks records")
    given = parser.parse_args()
    vault = (journal_runs_vault_vectors if given.journal_runs
             else journal_vault_vectors if given.journal else vault_vectors)
    if given.vault:
        build_with_keys(vault(), given.vault)
        return 0
    if given.compare:
        failures = compare(vault(), given.compare)
        print("\n".join(failures), end="\n" if failures else "", file=sys.stderr)
        return 1 if failures else 0
    if given.example:
        print(worked_example(), end="")
        return 0
    if given.check:
        return check()
    VECTORS.mkdir(parents=True, exist_ok=True)
    for name, make in FILES.items():
        (VECTORS / f"{name}.json").write_text(as_json(make()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
