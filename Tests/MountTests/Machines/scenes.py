"""Two machines on one vault, by scene: scenes.py LIBRARY PROGRAM FOLDER SCENE. Fails with an assertion.

Each machine reaches the vault through an sshfs of its own, so neither sees the locks of the other.
"""

import os
import pathlib
import signal
import subprocess
import sys
import time

library, program, folder, scene = sys.argv[1:]
sys.path.insert(0, library)
import machines  # noqa: E402

# Long enough that a busy machine does not take a daemon that lives for a dead one.
LEASE = 1.5
BOUND = 5 * LEASE
program, folder = pathlib.Path(program), pathlib.Path(folder)


def machine(name: str) -> machines.Machine:
    return machines.Machine(name, folder, program, LEASE, None)


def wait_for(what, seconds: float = 60):
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, what
        time.sleep(0.01)


def mount(one: machines.Machine, *arguments: str) -> None:
    one.begin_mount(*arguments)
    wait_for(lambda: one.is_mounted or one.daemon.poll() is not None)
    assert one.is_mounted, one.log_text()


def is_refused(one: machines.Machine, *arguments: str) -> str:
    one.begin_mount(*arguments)
    assert one.daemon.wait(60) == 1, one.log_text()
    one.daemon = None
    return one.log_text()


def write(one: machines.Machine, text: str) -> None:
    """Appends and calls fsync(2)."""
    done = subprocess.run(
        one.command("bash", "-c", 'echo "$1" >> "$2"; sync "$2"', "write", text, str(one.point / "file")),
        capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def status(one: machines.Machine) -> subprocess.CompletedProcess:
    return subprocess.run(
        one.command(str(program), "status", str(one.point)), capture_output=True, text=True, timeout=60,
        env=one.environment)


def info(one: machines.Machine) -> str:
    """What a machine can tell of the vault, which need not be mounted there."""
    done = subprocess.run(
        one.command(str(program), "info", str(one.store)), capture_output=True, text=True, timeout=60,
        env=one.environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def refused() -> None:
    """A machine that lives keeps the vault, and the other one is told its name, also with commands for the vault."""
    one, two = machine("one"), machine("two")
    mount(one)
    write(one, "first")
    text = is_refused(two)
    assert "is in use on the machine one" in text and "--take-over" in text, text
    slots = subprocess.run(
        two.command(str(program), "slot", "list", str(two.store)), capture_output=True, text=True, timeout=60,
        env=two.environment)
    assert slots.returncode == 1 and "in use" in slots.stderr, slots.stderr
    # Read-only it is refused as well: it would read what changes meanwhile.
    assert "is in use" in is_refused(two, "-o", "ro")
    assert "held by the machine one" in info(two), info(two)
    write(one, "second")
    one.end_mount()
    assert "released by the machine one" in info(two), info(two)
    # What was released needs no wait.
    mount(two)
    assert "has not released" not in two.log_text(), two.log_text()
    assert two.contents() == ["first", "second", ""], two.contents()
    two.lose_power()
    one.lose_power()


def dies() -> None:
    """A machine that has died is taken over, with what it has synced; a signal ends the wait of another one."""
    one, two = machine("one"), machine("two")
    mount(one)
    write(one, "first")
    one.lose_power()
    two.begin_mount()
    wait_for(lambda: "has not released the vault. Waiting up to" in two.log_text())
    two.signal_daemon(signal.SIGTERM)
    assert two.daemon.wait(60) == 1 and "wait for another machine was ended" in two.log_text(), two.log_text()
    mount(two)
    assert two.contents() == ["first", ""], two.contents()
    write(two, "second")
    two.end_mount()
    # The machine comes back: the other one has ended its work since.
    one.boot()
    mount(one)
    assert one.contents() == ["first", "second", ""], one.contents()
    # And dies again. Its user knows that.
    one.lose_power()
    start = machines.now()
    mount(two, "--take-over")
    assert "has not released" not in two.log_text(), two.log_text()
    two.lose_power()


def sleeps() -> None:
    """A machine that slept while another one took the vault over finds out before it changes anything."""
    one, two = machine("one"), machine("two")
    mount(one)
    write(one, "first")
    one.signal_daemon(signal.SIGSTOP)
    mount(two)
    write(two, "second")
    before = two.contents()
    one.signal_daemon(signal.SIGCONT)
    for call in ('echo third >> "$0/file"', 'mkdir "$0/folder"', 'rm "$0/file"', 'mv "$0/file" "$0/other"'):
        done = subprocess.run(
            one.command("bash", "-c", call, str(one.point)), capture_output=True, text=True, timeout=60)
        assert done.returncode != 0, call
        assert "Input/output error" in done.stderr, done.stderr
    wait_for(lambda: "another machine has taken the vault over" in one.log_text())
    told = status(one)
    assert told.returncode == 0 and "taken the vault over" in told.stdout, told.stdout + told.stderr
    one.end_mount()
    assert two.contents() == before == ["first", "second", ""], two.contents()
    write(two, "third")
    two.end_mount()
    check = subprocess.run(
        two.command(str(program), "fsck", "--passcode-file", str(folder / "passcode"), str(two.store)),
        capture_output=True, text=True, timeout=60, env=two.environment)
    assert check.returncode == 0, check.stdout + check.stderr
    two.lose_power()
    one.lose_power()


def returns() -> None:
    """The daemon is killed: the same machine sees that, and does not wait. Another machine does."""
    one, two = machine("one"), machine("two")
    mount(one)
    write(one, "first")
    one.kill_daemon()
    mount(one)
    assert "has not released" not in one.log_text(), one.log_text()
    one.kill_daemon()
    mount(two)
    assert "has not released" in two.log_text(), two.log_text()
    assert two.contents() == ["first", ""], two.contents()
    two.lose_power()
    one.lose_power()


machines.make_vault(program, folder)
{"refused": refused, "dies": dies, "sleeps": sleeps, "returns": returns}[scene]()
