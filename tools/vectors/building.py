"""Vaults of the vectors on disk, and a mount of one held against what must be seen in it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from .sealing import fmt


def build(vault: dict[str, Any], folder: Path) -> None:
    """Put a vault into an empty folder."""
    for item in vault["make"]:
        path = folder / item["path"]
        if item["kind"] == "directory":
            path.mkdir()
        elif item["kind"] == "symlink":
            path.symlink_to(item["target"])
        elif item["kind"] == "link":
            os.link(folder / item["to"], path)
        else:
            path.write_bytes(item["content"])
            os.truncate(path, len(item["content"]) + item.get("zeros", 0))
            for name, value in item.get("xattrs", {}).items():
                os.setxattr(path, name, value)
            if "modified" in item:
                seconds, nanoseconds = item["modified"]
                os.utime(path, ns=(0, seconds * 10**9 + nanoseconds))


def build_with_keys(given: dict[str, Any], folder: Path) -> None:
    """A vault, and beside it what opens it."""
    (folder / "vault").mkdir()
    build(given, folder / "vault")
    for name, content in [("device.key", given["deviceKeyFile"]), ("passcode", given["passcode"] + b"\n"),
                          ("recovery-key", given["recoveryText"].encode() + b"\n")]:
        path = folder / name
        path.touch(mode=0o600)
        path.write_bytes(content)


def compare(given: dict[str, Any], mount: Path) -> list[str]:
    """How a mount of a vault differs from what the vectors say is seen in it."""
    failures: list[str] = []
    root = os.fsencode(mount)
    expected = {item["path"]: item for item in given["see"]}
    found = {os.path.join(parent, name)[len(root):] for parent, folders, files in os.walk(root)
             for name in folders + files}
    failures += [f"not there: {path!r}" for path in sorted(expected.keys() - found)]
    failures += [f"should not be there: {path!r}" for path in sorted(found - expected.keys())]
    for path in sorted(found & expected.keys()):
        item, full = expected[path], root + path
        differ: list[str] = []
        try:
            if item["kind"] == "symlink":
                differ += ["target"] * (os.readlink(full) != item["target"])
                continue
            attributes = {name: os.getxattr(full, name) for name in os.listxattr(full)}
            # getxattr(2) always answers for the class, listxattr(2) names it only where it is explicit.
            explicit = attributes.pop("user.latchkey.class", None) is not None
            differ += ["explicit"] * (explicit != item["explicit"])
            protection = os.getxattr(full, "user.latchkey.class").decode()
            differ += ["class"] * (protection != fmt.CLASS_NAMES[item["class"]])
            differ += ["attributes"] * (attributes != item.get("xattrs", {}))
            if item["kind"] == "file":
                content = item["content"] + bytes(item["zeros"])
                status = os.stat(full)
                differ += ["size"] * (status.st_size != len(content))
                seconds, nanoseconds = item.get("modified", divmod(status.st_mtime_ns, 10**9))
                differ += ["time of modification"] * (status.st_mtime_ns != seconds * 10**9 + nanoseconds)
                differ += ["contents"] * (Path(os.fsdecode(full)).read_bytes() != content)
        except OSError as error:
            differ.append(str(error))
        finally:
            failures += [f"{path!r}: {what}" for what in differ]
    return failures
