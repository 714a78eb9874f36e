"""A vault that a crash left with a journal to replay."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .journals import (FORGET, Part, Record, block_record, blocks_record, duplicate_record, file_record,
                       header_record, hole_record, journal, tombstone_record)
from .sealing import block, blocks, fixed, header, wrap
from .vaults import ROOT, Folder, VaultBuilder, file_id, file_key

OPENED = 1_750_000_000


class Scene:
    """The vault, and the two parts of its journal that have records.

    With `runs`, blocks are in *blocks* records, as they are since there are more than two parts at times.
    """

    def __init__(self, runs: bool) -> None:
        self.runs = runs
        self.vault = VaultBuilder()
        size = 65_536 if runs else 45_056
        self.parts = [Part(size, 6), Part(size, 5)]
        self.newer, self.older = self.parts
        self.seconds = OPENED

    def modified(self) -> tuple[int, int]:
        """A time of modification that no other file has."""
        self.seconds += 100
        return self.seconds, 123_456_789

    def on(self, name: bytes, lowest: int, highest: int | None = None, *, folder: Folder = ROOT) -> Record:
        return file_record(file_id(folder.path + name), folder.backing_path(name), lowest, highest)

    def block(self, name: bytes, index: int, plain: bytes, version: str = "new", *, folder: Folder = ROOT) -> Record:
        path = folder.path + name
        if self.runs:
            return blocks_record(file_key(path), file_id(path), index, [plain], version)
        return block_record(file_key(path), file_id(path), index, plain, version)

    def header(self, name: bytes, generation: int, length: int, modified: tuple[int, int], *, folder: Folder = ROOT,
               bindings: list[bytes] | None = None, sparse: int = 2**64 - 1) -> Record:
        file = file_id(folder.path + name)
        raw = header(file, 3, wrap(file_key(folder.path + name), file, 3), bindings or [folder.binding(name)],
                     length=length, generation=generation, modified=modified, stamp=modified[0] - 50, sparse=sparse)
        return header_record(file, raw)

    def forget(self, name: bytes) -> Record:
        return Record(FORGET, file_id(ROOT.path + name))

    def void(self, name: bytes, content: bytes = b"", *, folder: Folder = ROOT) -> None:
        self.vault.add(self.vault.name(folder, name), "file", content=content)


def torn(name: bytes, index: int, old: bytes, new: bytes, *, folder: Folder = ROOT) -> bytes:
    """A stored block of which the first sector is new and the rest old."""
    path = folder.path + name
    was, becomes = (block(file_key(path), file_id(path), index, plain, version)
                    for plain, version in ((old, ""), (new, "new")))
    return becomes[:512] + was[512:]


def journal_vault_vectors(runs: bool = False) -> dict[str, Any]:
    scene = Scene(runs)
    folder = scene.vault.directory(ROOT, b"folder", 3, False)
    add_old_files(scene, folder)
    add_new_files(scene, folder)
    add_holes(scene)
    add_dead_records(scene)
    add_directories(scene, folder)
    add_orphans(scene, folder)
    add_torn_record(scene)
    parts = scene.parts
    if runs:
        add_runs(scene)
        empty = Part(scene.newer.size, 5)
        parts = [empty, scene.newer, empty, scene.older]
    raw = journal(parts, opened=OPENED, next_epoch=5, windows=[(OPENED - 900, OPENED - 800)], runs=runs)
    stored = raw.rstrip(b"\0")
    scene.vault.add("lk.journal", "file", content=stored, zeros=len(raw) - len(stored))
    return scene.vault.vectors()


def journal_runs_vault_vectors() -> dict[str, Any]:
    return journal_vault_vectors(runs=True)


def add_runs(scene: Scene) -> None:
    """Three blocks in one record, of which two are written again: over a hole that was made between."""
    name, old, new = b"in a run", fixed("old contents", 9000), fixed("new contents", 9000)
    path, when = ROOT.path + name, scene.modified()
    # Before the torn record, which ends the newer part.
    scene.vault.file(ROOT, name, 3, old, stored=b"".join(
        torn(name, at, old[at * 4096:][:4096], new[at * 4096:][:4096]) for at in range(3)),
        shown=new[:4096] + new[:4904], modified=when)
    scene.older.add(
        scene.on(name, 1),
        blocks_record(file_key(path), file_id(path), 0, [new[:4096], old[:4096], new[8192:9000]], "new"),
        scene.header(name, 2, 9000, when),
        blocks_record(file_key(path), file_id(path), 1, [new[:4096], new[4096:4904]], "newer"),
        scene.header(name, 2, 9000, when))


def add_old_files(scene: Scene, folder: Folder) -> None:
    """Files with a header on disk, and blocks that are durable in the journal only."""
    vault, old, new = scene.vault, fixed("old contents", 9000), fixed("new contents", 9000)
    first, rest = blocks_of(b"overwritten", old), new[4096:5000]
    when = scene.modified()
    vault.file(ROOT, b"overwritten", 3, old, stored=first + torn(b"overwritten", 1, old[4096:5000], rest),
               shown=old[:4096] + rest, generation=3, modified=when)
    scene.older.add(scene.on(b"overwritten", 2, 4), scene.block(b"overwritten", 1, rest),
                    scene.header(b"overwritten", 4, 5000, when))
    scene.older.flush()

    when = scene.modified()
    vault.file(folder, b"grown", 3, old[:100], shown=new[:4200], length=100, modified=when)
    scene.older.add(scene.on(b"grown", 1, folder=folder), scene.block(b"grown", 0, new[:4096], folder=folder),
                    scene.block(b"grown", 1, new[4096:4200], folder=folder),
                    scene.header(b"grown", 2, 4200, when, folder=folder))

    when = scene.modified()
    vault.file(ROOT, b"shrunk", 3, old[:700], shown=new[:50], length=700, modified=when)
    scene.older.add(scene.on(b"shrunk", 1), scene.block(b"shrunk", 0, new[:50]), scene.header(b"shrunk", 2, 50, when))

    when = scene.modified()
    vault.file(ROOT, b"in both halves", 3, old[:600], stored=torn(b"in both halves", 0, old[:600], new[:600]),
               shown=b"the last one", length=600, generation=5, modified=when)
    scene.older.add(scene.on(b"in both halves", 5), scene.block(b"in both halves", 0, new[:600]),
                    scene.header(b"in both halves", 6, 600, (OPENED, 0)))
    # Its header has been in place meanwhile, and has not come to the disk.
    scene.newer.add(scene.on(b"in both halves", 6, 7), scene.block(b"in both halves", 0, b"the last one", "newest"),
                    scene.header(b"in both halves", 8, 12, when))

    # Of a write that nobody waited for.
    vault.file(ROOT, b"blocks alone", 3, old[:600], generation=3)
    scene.newer.add(scene.on(b"blocks alone", 1, 3), scene.block(b"blocks alone", 0, new[:600]))

    long = b"long" * 50
    when = scene.modified()
    vault.file(folder, long, 3, old[:600], stored=torn(long, 0, old[:600], new[:600], folder=folder), shown=new[:600],
               modified=when)
    scene.newer.add(scene.on(long, 1, folder=folder), scene.block(long, 0, new[:600], folder=folder),
                    scene.header(long, 2, 600, when, folder=folder))
    scene.newer.flush()

    # Nobody could tell its path.
    name = b"somewhere"
    when = scene.modified()
    vault.file(folder, name, 3, old[:600], stored=torn(name, 0, old[:600], new[:600], folder=folder), shown=new[:600],
               generation=2, modified=when)
    scene.newer.add(file_record(file_id(folder.path + name), "", 2), scene.block(name, 0, new[:600], folder=folder),
                    scene.header(name, 3, 600, when, folder=folder))

    # The folder was to get another name, and did not.
    name, inner = b"inner", vault.directory(ROOT, b"folder not renamed", 3, False)
    when = scene.modified()
    vault.file(inner, name, 3, old[:600], stored=torn(name, 0, old[:600], new[:600], folder=inner), shown=new[:600],
               generation=2, modified=when)
    path = scene.on(name, 2, folder=inner).payload.decode()
    pending = ROOT.backing_path(b"folder renamed") + "/" + path.split("/")[1]
    scene.newer.add(scene.on(name, 2, folder=inner), scene.block(name, 0, new[:600], folder=inner),
                    scene.header(name, 3, 600, when, folder=inner), file_record(file_id(inner.path + name), pending, 2))

    # A copier has made two files of one with two links; both were written, and the second has an alias.
    name, duplicate, alias = b"first twin", b"second twin", fixed("alias", 16)
    bindings, newest = [ROOT.binding(name), ROOT.binding(duplicate)], fixed("contents of the second twin", 600)
    for shown_as, plain, version in (name, new[:600], "new"), (duplicate, newest, "newest"):
        when = scene.modified()
        vault.file(ROOT, shown_as, 3, old[:600], shown=plain, duplicate=name, bindings=bindings, generation=2,
                   modified=when)
        records = [scene.on(name, 2) if shown_as == name
                   else duplicate_record(alias, file_id(ROOT.path + name), ROOT.backing_path(duplicate), 2),
                   scene.block(name, 0, plain, version), scene.header(name, 3, 600, when, bindings=bindings)]
        scene.newer.add(*(replace(record, file=alias) if shown_as == duplicate else record for record in records))

    # Removed, but not on disk.
    when = scene.modified()
    vault.file(ROOT, b"removal undone", 3, old[:600], stored=torn(b"removal undone", 0, old[:600], new[:600]),
               shown=new[:600], generation=4, modified=when)
    scene.newer.add(scene.on(b"removal undone", 4), scene.block(b"removal undone", 0, new[:600]),
                    scene.header(b"removal undone", 5, 600, when), scene.forget(b"removal undone"))


def blocks_of(name: bytes, plain: bytes) -> bytes:
    """The first stored block of a file in the root."""
    return blocks(file_key(ROOT.path + name), file_id(ROOT.path + name), plain[:4096])


def add_new_files(scene: Scene, folder: Folder) -> None:
    """Void files, of which everything is in the journal."""
    new = fixed("contents of a new file", 5000)
    when = scene.modified()
    scene.void(b"new")
    scene.vault.see_file(ROOT, b"new", 3, new, modified=when)
    scene.newer.add(scene.on(b"new", 0), scene.block(b"new", 0, new[:4096]), scene.block(b"new", 1, new[4096:]),
                    scene.header(b"new", 1, 5000, when))

    # Its header may have come to the disk, and did not; its block did, and stands behind zeros.
    when = scene.modified()
    path = folder.path + b"new too"
    scene.void(b"new too", bytes(512) + block(file_key(path), file_id(path), 0, new[:40]), folder=folder)
    scene.vault.see_file(folder, b"new too", 3, new[:40], modified=when)
    scene.newer.add(scene.on(b"new too", 0, 1, folder=folder), scene.block(b"new too", 0, new[:40], folder=folder),
                    scene.header(b"new too", 2, 40, when, folder=folder))

    when = scene.modified()
    scene.void(b"new and empty", fixed("less than a header", 511))
    scene.vault.see_file(ROOT, b"new and empty", 3, b"", modified=when)
    scene.newer.add(scene.on(b"new and empty", 0), scene.header(b"new and empty", 1, 0, when))

    # An atomic save: made under one name, synced, renamed.
    bindings, made = [ROOT.binding(b"saved~"), ROOT.binding(b"saved")], file_id(b"/saved")
    when = scene.modified()
    scene.void(b"saved")
    scene.vault.see_file(ROOT, b"saved", 3, new[:30], modified=when)
    scene.newer.flush()
    scene.newer.add(file_record(made, ROOT.backing_path(b"saved~"), 0), scene.block(b"saved", 0, new[:30]),
                    scene.header(b"saved", 1, 30, when, bindings=bindings[:1]),
                    scene.header(b"saved", 2, 30, when, bindings=bindings), scene.on(b"saved", 0))


def add_holes(scene: Scene) -> None:
    """Files of which some blocks become zeros."""
    old, new = fixed("contents with holes to come", 20_580), fixed("a block in a hole", 4096)
    name, when = b"with a hole", scene.modified()
    path = ROOT.path + name
    stored = bytearray(blocks(file_key(path), file_id(path), old))
    # In the middle of being made.
    stored[4128 + 100:2 * 4128] = bytes(4028)
    scene.vault.file(ROOT, name, 3, old, stored=bytes(stored), modified=when, generation=2,
                     shown=old[:4096] + bytes(4096) + new + bytes(4096) + old[4 * 4096:])
    scene.older.add(scene.on(name, 2), scene.block(name, 1, new, "older"), hole_record(file_id(path), 1, 3),
                    scene.block(name, 2, new), scene.header(name, 3, len(old), when, sparse=1))

    name, when = b"new with a hole", scene.modified()
    scene.void(name)
    scene.vault.see_file(ROOT, name, 3, new + bytes(8192), modified=when)
    scene.older.add(scene.on(name, 0), scene.block(name, 0, new), hole_record(file_id(ROOT.path + name), 1, 900),
                    scene.header(name, 1, 12_288, when, sparse=1))

    # A hole that its header does not know.
    name, when = b"without a hole", scene.modified()
    scene.vault.file(ROOT, name, 3, old[:5000], modified=when, generation=2)
    scene.older.add(scene.on(name, 2), hole_record(file_id(ROOT.path + name), 0, 1),
                    scene.header(name, 3, 5000, when))


def add_dead_records(scene: Scene) -> None:
    """Records that do not belong to the header that is on disk, as in a copy of the vault that was put back."""
    old, new = fixed("older contents", 600), fixed("contents that are in place", 600)
    scene.vault.file(ROOT, b"newer than its records", 3, new, generation=9)
    scene.older.add(scene.on(b"newer than its records", 6, 7), scene.block(b"newer than its records", 0, old),
                    scene.header(b"newer than its records", 8, 600, (OPENED, 0)))

    # The second block has been replaced twice: the first time is over, the second is on disk.
    name, first = b"of its last records", fixed("first block", 4096)
    when = scene.modified()
    scene.vault.file(ROOT, name, 3, bytes(4096) + new, shown=first + new, generation=9, modified=when)
    scene.older.add(scene.on(name, 6, 7), scene.block(name, 1, old, "older"), scene.header(name, 8, 4696, (OPENED, 0)),
                    scene.on(name, 9), scene.block(name, 0, first), scene.header(name, 10, 4696, when))

    # Another file under the path by now.
    scene.vault.file(ROOT, b"another by now", 3, new)
    other = file_id(b"/removed")
    scene.older.add(file_record(other, ROOT.backing_path(b"another by now"), 1),
                    block_record(file_key(b"/removed"), other, 0, old, ""))


def add_directories(scene: Scene, folder: Folder) -> None:
    """Empty directories that stepped aside for another."""
    vault = scene.vault
    vault.directory(ROOT, b"back again", 4, True, tombstone="lk.tmp.first")
    scene.newer.add(tombstone_record("", "lk.tmp.first", ROOT.backing_path(b"back again")))
    vault.directory(folder, b"back there", 3, False, tombstone="lk.tmp.second")
    scene.newer.add(tombstone_record(folder.backing.rstrip("/"), "lk.tmp.second",
                                 folder.backing_path(b"back there").rsplit("/")[-1]))
    vault.directory(ROOT, b"replaced", 3, False)
    vault.directory(ROOT, b"replaced", 4, True, tombstone="lk.tmp.third", shown=False)
    scene.newer.add(tombstone_record("", "lk.tmp.third", ROOT.backing_path(b"replaced")))


def add_orphans(scene: Scene, folder: Folder) -> None:
    """What is not shown: names of files and directories of which nothing was ever durable."""
    scene.void(b"void")
    scene.void(b"void" * 50, folder=folder)
    scene.void(b"void but for its blocks", bytes(512) + fixed("a block", 100))
    scene.vault.add(scene.vault.name(ROOT, b"directory without a record"), "directory")
    for name, content in (b"directory with a void file", b""), (b"directory with a file", fixed("a lost file", 700)):
        backing = scene.vault.name(ROOT, name)
        scene.vault.add(backing, "directory")
        scene.vault.add(f"{backing}/{'A' * 40}", "file", content=content)
    scene.void(b"removed and made again")
    scene.newer.add(scene.on(b"removed and made again", 0), scene.block(b"removed and made again", 0, b"removed"),
                    scene.header(b"removed and made again", 1, 7, (OPENED, 0)), scene.forget(b"removed and made again"))
    # Another file took the name, of which nothing is there.
    scene.void(b"taken over")
    scene.newer.add(scene.on(b"taken over", 0), scene.block(b"taken over", 0, b"the first"),
                    scene.header(b"taken over", 1, 9, (OPENED, 0)),
                    file_record(file_id(b"/the other"), ROOT.backing_path(b"taken over"), 0))
    # Its header had been on disk: that there is none now is not what a crash leaves.
    scene.void(b"once durable")
    scene.newer.add(scene.on(b"once durable", 0), scene.block(b"once durable", 0, b"durable"),
                    scene.header(b"once durable", 1, 7, (OPENED, 0)), scene.on(b"once durable", 1, 2),
                    scene.header(b"once durable", 3, 7, (OPENED, 0)))
    # Without a header there is no file.
    scene.void(b"half a record set")
    scene.newer.add(scene.on(b"half a record set", 0), scene.block(b"half a record set", 0, b"alone"))


def add_torn_record(scene: Scene) -> None:
    """The last records of the newer part, the second of them torn: the file stays as it was."""
    old = fixed("contents before the torn record", 600)
    scene.vault.file(ROOT, b"as it was", 3, old)
    scene.newer.flush()
    scene.newer.add(scene.on(b"as it was", 1))
    record = scene.block(b"as it was", 0, fixed("contents in a torn record", 600))
    sealed = record.sealed(scene.newer.epoch, len(scene.newer.raw))
    scene.newer.raw += sealed[:512] + bytes(len(sealed) - 512)
