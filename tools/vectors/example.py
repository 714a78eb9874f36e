"""The worked example of docs/FORMAT.md."""

from __future__ import annotations

from .sealing import (CLASSES, KEYS, V, VOLUME_KEY, backing_name, blocks, directory_record, directory_target, fixed,
                      fmt, header, siv, wrap)


def hex_dump(raw: bytes) -> list[str]:
    """Sixteen bytes a line behind their offset; a run of zero lines is one asterisk, as hexdump(1) writes it."""
    lines: list[str] = []
    for at in range(0, len(raw), 16):
        row = raw[at:at + 16]
        line = f"{at:04x}  {row[:8].hex(' ')}  {row[8:].hex(' ')}".rstrip() if any(row) else "*"
        if line != "*" or lines[-1:] != ["*"]:
            lines.append(line)
    return lines


def worked_example() -> str:
    """The file hello.txt of vault.json, step by step."""
    root, path, content = fixed("directory /", 16), b"/hello.txt", b"Hello, vault\n"
    name, file, file_key = path[1:], fixed(f"file {path.hex()}", 16), fixed(f"file key {path.hex()}", 32)
    binding, class_key = fmt.name_binding(KEYS, root, name), CLASSES.key(3)
    wrapped, record_bytes = wrap(file_key, file, 3), directory_record(root, 3, False)
    values = [
        ("volume ID V", V), ("volume key", VOLUME_KEY), ("subkey names", KEYS.names), ("subkey places", KEYS.bindings),
        ("subkey headers", KEYS.headers), ("subkey directories", KEYS.directories), None,
        ("root's ID D", root), ("root's record", record_bytes),
        ("root's lk.dir", directory_target(bytes(16), record_bytes)), None,
        ("name p", name), ("SIV(names, [D], p)", siv(KEYS.names, [root], name)),
        ("backing name", backing_name(root, name)[0]), ("name binding", binding), None,
        ("file ID F", file), ("file key", file_key), ("class key C", class_key),
        ("wrapping key", fmt.wrap_key(class_key, V, file, 3)), ("wrap", wrapped)]
    lines = []
    for value in values:
        if value is None:
            lines.append("")
            continue
        label, raw = value
        text = raw.hex() if isinstance(raw, bytes) else raw
        parts = [text[at:at + 64] for at in range(0, len(text), 64)]
        lines += [f"{label:<20}{parts[0]}"] + [" " * 20 + part for part in parts[1:]]
    stored = header(file, 3, wrapped, [binding], length=len(content)) + blocks(file_key, file, content)
    return "\n".join(["```", *lines, "```", "", "The backing file, header and one block of 13 bytes:", "", "```",
                      *hex_dump(stored), "```"]) + "\n"
