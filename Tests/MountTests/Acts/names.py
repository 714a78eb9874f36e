"""Names are bytes: any but / and NUL."""

import os
import random

from acting import act, attempt, contents, make

BYTES = [bytes([byte]) for byte in range(1, 256) if byte not in b"/"]


def agree(folder, names):
    """Whether a folder lists exactly these."""
    listed = os.listdir(os.fsencode(folder))
    return len(listed) == len(set(listed)) and set(listed) == set(names)


@act
def of_one_byte(say):
    names = [byte for byte in BYTES if byte != b"."]
    for name in names:
        make(name, name)
    say(len(names), agree(".", names), all(contents(name) == name for name in names))
    for name in names:
        os.rename(name, b"x" + name)
        os.link(b"x" + name, name)
    say(agree(".", names + [b"x" + name for name in names]), {os.stat(name).st_nlink for name in names})
    for name in names:
        os.unlink(name)
        os.symlink(b"x" + name, name)
    say(all(os.readlink(name) == b"x" + name and contents(name) == name for name in names))


@act
def of_255_bytes(say):
    names = [(b"".join(BYTES[start:start + 15]) * 255)[:255] for start in range(0, len(BYTES), 15)]
    for name in names:
        make(name, name[:1])
    say(len(names), agree(".", names), all(contents(name) == name[:1] for name in names))
    os.mkdir("folder")
    for name in names:
        os.link(name, b"folder/" + name)
    say(agree("folder", names), {os.stat(name).st_nlink for name in names})
    for name in names:
        os.unlink(name)
    say(agree(".", [b"folder"]), {os.stat(b"folder/" + name).st_nlink for name in names})
    for name in names:
        os.rename(b"folder/" + name, b"folder/" + name[:-3] + b"end")
    ended = [name[:-3] + b"end" for name in names]
    say(agree("folder", ended), all(contents(b"folder/" + name) == name[:1] for name in ended))


@act
def of_any_bytes(say):
    chance = random.Random(1)
    names = set()
    while len(names) < 120:
        name = bytes(chance.choice(range(1, 256)) for _ in range(chance.choice((2, 10, 100, 175, 176, 255))))
        if b"/" not in name:
            names.add(name)
    for number, name in enumerate(sorted(names)):
        if number % 3 == 0:
            os.mkdir(name)
            make(name + b"/" + name, name)
        else:
            make(name, name)
    say(agree(".", names))
    say({kind: sum(1 for entry in os.scandir(b".") if entry.is_dir() == kind) for kind in (True, False)})
    say(all(contents(name + b"/" + name if os.path.isdir(name) else name) == name for name in names))


@act
def too_long(say):
    name = "n" * 256
    make("file")
    say(attempt(make, name), attempt(os.mkdir, name), attempt(os.symlink, "x", name), attempt(os.mkfifo, name))
    say(attempt(os.rename, "file", name), attempt(os.link, "file", name), attempt(os.stat, name))
    say(attempt(os.unlink, name), attempt(os.rmdir, name), attempt(os.stat, "/".join(["n" * 255] * 16)))


@act
def alike(say):
    """Upper and lower case, and the forms of Unicode, are different names."""
    names = [b"a", b"A", "é".encode(), "e\u0301".encode(), "ﬁ".encode(), b"fi", b"a ", b" a", b"a.", b"..."]
    for name in names:
        make(name, name)
    say(agree(".", names), all(contents(name) == name for name in names))
    say(attempt(make, "."), attempt(make, ".."), attempt(make, ""), attempt(os.mkdir, "."), attempt(os.rmdir, "."))
