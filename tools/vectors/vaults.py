"""Whole small vaults: what to put into the backing folder, and what must be seen in the mount."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Iterable

from .keybags import device_key_file, good_keybag
from .sealing import (KEYS, PASSCODE, RECOVERY_KEY, Second, backing_name, block, blocks, directory_record,
                      directory_target, fixed, fmt, header, recovery_text, symlink_target, wrap, xattr)
from .sidecars import plain_sidecar, sealed_sidecar


@dataclass(frozen=True)
class Folder:
    """A directory: its backing path with a slash behind it, empty for the root's; its ID; its path in the mount."""

    backing: str
    identifier: bytes
    path: bytes

    def binding(self, name: bytes) -> bytes:
        return fmt.name_binding(KEYS, self.identifier, name)

    def backing_path(self, name: bytes) -> str:
        return self.backing + backing_name(self.identifier, name)[0]


ROOT = Folder("", fixed("directory /", 16), b"/")


def file_id(path: bytes) -> bytes:
    return fixed(f"file {path.hex()}", 16)


def file_key(path: bytes) -> bytes:
    return fixed(f"file key {path.hex()}", 32)


@dataclass(frozen=True)
class Times:
    """What a header keeps, its stamp, and the backing file's own time of modification."""

    kept: tuple[int, int]
    stamp: int
    backing: tuple[int, int]


class VaultBuilder:
    """Collects what a vault is made of and what is seen in it."""

    def __init__(self) -> None:
        self.made: list[dict[str, Any]] = []
        self.seen: list[dict[str, Any]] = []
        self.foreign: list[str] = []
        self.add("lk.keybag", "file", content=good_keybag())
        self.add("lk.lock", "file", content=b"")
        self.add("lk.dir", "symlink", target=directory_target(bytes(16), directory_record(ROOT.identifier, 3, False)))

    def vectors(self) -> dict[str, Any]:
        return {"deviceKeyFile": device_key_file(), "passcode": PASSCODE, "recoveryText": recovery_text(RECOVERY_KEY),
                "make": self.made, "see": self.seen, "foreign": self.foreign}

    def add(self, path: str, kind: str, **what: Any) -> None:
        self.made.append({"path": path, "kind": kind, **what})

    def name(self, folder: Folder, name: bytes) -> str:
        """The backing path of an entry, whose sidecar is there."""
        backing, sidecar = backing_name(folder.identifier, name)
        if sidecar:
            self.add(f"{folder.backing}{backing}.name", "file", content=sidecar)
        return folder.backing + backing

    def directory(self, folder: Folder, name: bytes, protection: int, explicit: bool, *, moved: bool = False,
                  tombstone: str = "", shown: bool = True) -> Folder:
        """A directory. `moved`: a power loss has ended its rename. `tombstone`: its name instead of its own."""
        made = Folder((folder.backing + tombstone if tombstone else self.name(folder, name)) + "/",
                      fixed(f"directory {(folder.path + name).hex()}", 16), folder.path + name + b"/")
        self.add(made.backing.rstrip("/"), "directory")
        plain, binding = directory_record(made.identifier, protection, explicit), folder.binding(name)
        if moved:
            # lk.dir has the old place still.
            self.add(made.backing + "lk.dir", "symlink", target=directory_target(fixed("old place", 16), plain))
            self.add(made.backing + "lk.dir.new", "symlink", target=directory_target(binding, plain))
        else:
            self.add(made.backing + "lk.dir", "symlink", target=directory_target(binding, plain))
        if shown:
            self.seen.append({"path": folder.path + name, "kind": "directory", "class": protection,
                              "explicit": explicit})
        return made

    def symlink(self, folder: Folder, name: bytes, target: bytes) -> None:
        text = symlink_target(target)
        if len(text) > 4095:
            if not any(item["path"] == "lk.targets" for item in self.made):
                self.add("lk.targets", "directory")
            file = "lk.target." + fmt.b64_encode(fixed("long target " + target.hex(), 16)).decode()
            self.add("lk.targets/" + file, "file", content=fmt.b64_decode(text.encode()))
            text = file
        self.add(self.name(folder, name), "symlink", target=text)
        self.seen.append({"path": folder.path + name, "kind": "symlink", "target": target})

    def file(self, folder: Folder, name: bytes, protection: int, content: bytes, *, shown: bytes | None = None,
             stored: bytes | None = None, zeros: int = 0, attributes: dict[bytes, bytes] | None = None,
             explicit: bool = False, links: Iterable[tuple[Folder, bytes]] = (),
             modified: tuple[int, int] | None = None, times: Times | None = None, duplicate: bytes | None = None,
             **fields: Any) -> None:
        """A file that shows `content`, or else `shown`. `stored` stands behind its header instead of its blocks. With
        `duplicate` it has ID and key of the file of that name beside it."""
        path = folder.path + (name if duplicate is None else duplicate)
        expected = content if shown is None else shown
        given = {"length": len(expected) + zeros, "flags": int(explicit),
                 "bindings": [folder.binding(name)] + [other.binding(link) for other, link in links],
                 **({"sparse": len(content) // 4096} if zeros else {}),
                 **({"modified": times.kept, "stamp": times.stamp} if times else {}), **fields}
        raw = header(file_id(path), protection, wrap(file_key(path), file_id(path), protection), **given)
        raw += blocks(file_key(path), file_id(path), content) if stored is None else stored
        whole, rest = divmod(zeros, 4096)
        backing = self.name(folder, name)
        self.add(backing, "file", content=raw, zeros=whole * 4128 + (rest + 32 if rest else 0),
                 xattrs=dict(xattr(file_id(path), key, value) for key, value in (attributes or {}).items()),
                 **({"modified": list(times.backing)} if times else {}))
        if times:
            modified = times.kept if times.backing == (times.stamp, 0) else times.backing
        self.see_file(folder, name, protection, expected, explicit=explicit, zeros=zeros, attributes=attributes,
                      modified=modified, second=fields.get("second"), bindings=given["bindings"])
        for other, link in links:
            self.add(self.name(other, link), "link", to=backing)
            self.see_file(other, link, protection, expected, explicit=explicit, zeros=zeros, attributes=attributes,
                          modified=modified, second=fields.get("second"), bindings=given["bindings"])

    def sidecar(self, owner: bytes, attributes: dict[bytes, bytes]) -> None:
        """Attributes of a file or directory that the store does not take."""
        if not any(item["path"] == "lk.attributes" for item in self.made):
            self.add("lk.attributes", "directory")
        self.add("lk.attributes/lk.attributes." + owner.hex(), "file",
                 content=sealed_sidecar(owner, plain_sidecar(attributes)))

    def see_file(self, folder: Folder, name: bytes, protection: int, content: bytes, *, explicit: bool = False,
                 zeros: int = 0, attributes: dict[bytes, bytes] | None = None,
                 modified: tuple[int, int] | None = None, second: Second | None = None,
                 bindings: list[bytes] | None = None) -> None:
        if second is not None and bindings and bindings[-1] == folder.binding(name):
            protection, explicit = second.protection, second.explicit
        self.seen.append({
            "path": folder.path + name, "kind": "file", "class": protection, "explicit": explicit, "content": content,
            "zeros": zeros, "xattrs": {key.decode(): value for key, value in (attributes or {}).items()},
            **({"modified": list(modified)} if modified else {})})


def vault_vectors() -> dict[str, Any]:
    """A vault without a journal."""
    vault = VaultBuilder()
    secret = vault.directory(ROOT, b"secret", 1, True)
    vault.file(ROOT, b"hello.txt", 3, b"Hello, vault\n",
               attributes={b"user.comment": b"hi", b"user.empty": b"", b"user." + 250 * b"l": b"long"})
    vault.file(ROOT, b"empty", 4, b"")
    vault.file(ROOT, b"public", 4, fixed("public", 5000), explicit=True)
    vault.file(ROOT, b"one block", 3, fixed("one block", 4096))
    vault.file(ROOT, b"sparse", 3, fixed("sparse", 8192), zeros=2 * 1024 * 1024 + 10)
    vault.file(ROOT, b"long" * 50, 3, b"a long name")
    vault.file(ROOT, "Grüße".encode(), 3, "schöne Grüße".encode())
    vault.file(ROOT, b"\xff\xfe", 3, b"a name that is not UTF-8")
    vault.symlink(ROOT, b"link", b"secret/../hello.txt")
    vault.symlink(ROOT, b"long link", b"/" + b"t" * 3038)
    vault.symlink(ROOT, b"longer link", b"/" + b"t" * 3039)
    vault.symlink(ROOT, b"longest link", b"/" + b"t" * 4094)
    vault.file(secret, b"diary", 1, fixed("diary", 10_000))
    vault.file(secret, b"inbox", 2, fixed("inbox", 4097), explicit=True)
    deep = vault.directory(secret, b"deep" * 60, 1, False)
    vault.file(deep, b"file", 1, b"deep down")
    vault.directory(ROOT, b"moved", 2, False, moved=True)
    add_links_and_moves(vault, secret)
    add_lengths(vault)
    add_times(vault, secret)
    add_sidecars(vault)
    vault.foreign.append("notes (conflicted copy).txt")
    vault.add("notes (conflicted copy).txt", "file", content=b"foreign")
    vault.add("lk.tmp.0123456789abcdef", "file", content=b"rubbish of a crash")
    vault.add("lk.long." + "A" * 43 + ".name", "file", content=b"a sidecar without its entry")
    return vault.vectors()


def add_sidecars(vault: VaultBuilder) -> None:
    """A file of which one attribute is in the store alone, one in the sidecar alone, and one in both."""
    vault.file(ROOT, b"sidecar", 3, b"attributes elsewhere", attributes={b"user.kept": b"kept", b"user.both": b"old"})
    inside = {b"user.both": b"new", b"user.large": fixed("large", 5000)}
    vault.sidecar(file_id(b"/sidecar"), inside)
    vault.seen[-1]["xattrs"] |= {name.decode(): value for name, value in inside.items()}


def add_times(vault: VaultBuilder, secret: Folder) -> None:
    """Files whose header keeps what is shown, and files that were written to since."""
    kept, stamp = (1_700_000_000, 123_456_789), 1_750_000_000
    vault.file(ROOT, b"stamped", 3, b"as the header says", times=Times(kept, stamp, (stamp, 0)),
               links=[(secret, b"stamped too")])
    vault.file(ROOT, b"stamped before 1970", 4, b"long ago", times=Times((-5, 1), stamp, (stamp, 0)))
    vault.file(ROOT, b"written in the stamp's second", 3, b"later", times=Times(kept, stamp, (stamp, 1)))
    vault.file(ROOT, b"written a second later", 3, b"later still", times=Times(kept, stamp, (stamp + 1, 0)))


def add_links_and_moves(vault: VaultBuilder, secret: Folder) -> None:
    """Files of several links, and renames that a power loss ended before or after the rename itself."""
    old, other = fixed("the old place", 16), fixed("the coming place", 16)
    vault.file(ROOT, b"linked", 3, b"three names", links=[(ROOT, b"linked too"), (secret, b"linked there")])
    vault.file(ROOT, b"many", 3, b"more names than places", bindings=[], links=[(secret, b"many there")])
    vault.file(ROOT, b"renamed", 3, b"on its way", bindings=[old, ROOT.binding(b"renamed")])
    vault.file(ROOT, b"not renamed", 3, b"still here", bindings=[ROOT.binding(b"not renamed"), other])

    def moving(name: bytes, protection: int, second: int, mark: bool, bindings: list[bytes], **more: Any) -> None:
        path = ROOT.path + name
        wrapped = wrap(file_key(path), file_id(path), second)
        vault.file(ROOT, name, protection, b"which class? " + name, bindings=bindings,
                   second=Second(second, mark, wrapped), **more)

    moving(b"moved to A", 3, 1, True, [old, ROOT.binding(b"moved to A")])
    moving(b"moved to B", 1, 2, False, [old, ROOT.binding(b"moved to B")], explicit=True)
    moving(b"not moved to A", 3, 1, True, [ROOT.binding(b"not moved to A"), other])
    moving(b"moved to the mark", 3, 3, True, [old, ROOT.binding(b"moved to the mark")])


def add_lengths(vault: VaultBuilder) -> None:
    """Files whose backing file has more or less than the header's lengths: what was never confirmed, and residue."""
    def put(name: bytes, length: int, provisional: int, stored: list[tuple[int, bytes]], shown: bytes,
            behind: bytes = b"") -> None:
        """`stored`: the number and plaintext of blocks, which are put where they belong with zeros between."""
        path, raw = ROOT.path + name, b""
        for index, plain in stored:
            raw = raw.ljust(index * 4128, b"\0") + block(file_key(path), file_id(path), index, plain)
        vault.file(ROOT, name, 3, b"", shown=shown.ljust(provisional, b"\0"), stored=raw + behind, length=length,
                   provisional=provisional)

    plain = fixed("lengths", 5 * 4096)
    first, second, third = plain[:4096], plain[4096:8192], plain[8192:12_288]
    put(b"residue", 4096, 4096, [(0, first)], first, behind=b"\1" * 5000)
    put(b"longer tail than length", 4500, 4500, [(0, first), (1, second[:904])], plain[:4500])
    put(b"tail, then a gap", 5000, 20_000, [(0, first), (1, second[:904]), (2, third)],
        plain[:5000].ljust(8192, b"\0") + third, behind=b"\1" * 4128 + bytes(100))
    put(b"tail as long as its block", 5000, 8292, [(0, first), (1, second), (2, third[:100])], plain[:8292])
    put(b"tail as long as the file", 5000, 6000, [(0, first), (1, second[:1904])], plain[:6000])
    put(b"tail longer than provisional", 5000, 6000, [(0, first), (1, second)], plain[:6000])
    put(b"tail as long as the file, then residue", 5000, 6000, [(0, first), (1, second[:1904])], plain[:6000],
        behind=b"\1" * 5000)
    put(b"nothing confirmed, then residue", 0, 300, [(0, first[:300])], first[:300], behind=b"\1" * 5000)
    put(b"nothing behind the length", 4096, 9000, [(0, first)], first)
    put(b"nothing confirmed, nothing there", 0, 300, [], b"")
    put(b"nothing confirmed, all there", 0, 5000, [(0, first), (1, second[:904])], plain[:5000])
    put(b"nothing confirmed, less there", 0, 300, [(0, first[:100])], first[:100])
    put(b"nothing confirmed, cut short", 0, 300, [], b"", behind=b"\1" * 32)
