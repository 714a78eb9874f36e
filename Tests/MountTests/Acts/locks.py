"""Advisory locks between processes: flock(2), and fcntl(2) of both kinds."""

import fcntl
import os
import signal
import struct

from acting import Companion, act, attempt, elsewhere, make

OFD_GETLK, OFD_SETLK, OFD_SETLKW = 36, 37, 38


def flock(path, how):
    file = os.open(path, os.O_RDWR)
    fcntl.flock(file, how)
    os.set_inheritable(file, False)
    return "locked"


def lock(path, how, start=0, length=0):
    fcntl.lockf(os.open(path, os.O_RDWR), how, length, start)
    return "locked"


def described(kind, start, length):
    return struct.pack("hhqqi4x", kind, os.SEEK_SET, start, length, 0)


def ofd(file, command, kind, start=0, length=0):
    return struct.unpack("hhqqi4x", fcntl.fcntl(file, command, described(kind, start, length)))[0]


def patiently(body, *arguments):
    """Whether a blocking call is still blocked when the alarm fires."""
    class Alarm(Exception):
        pass

    def alarm(number, frame):
        raise Alarm

    signal.signal(signal.SIGALRM, alarm)
    signal.setitimer(signal.ITIMER_REAL, 0.15)
    try:
        return body(*arguments)
    except Alarm:
        return "still blocked"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


@act
def of_whole_files(say):
    make("file")
    exclusive, shared, now = fcntl.LOCK_EX, fcntl.LOCK_SH, fcntl.LOCK_NB
    one = Companion(flock, "file", exclusive)
    say(one.answer, elsewhere(flock, "file", exclusive | now), elsewhere(flock, "file", shared | now))
    say(elsewhere(patiently, flock, "file", exclusive))
    one.end()
    say(elsewhere(flock, "file", exclusive | now))
    two = Companion(flock, "file", shared)
    say(elsewhere(flock, "file", shared | now), elsewhere(flock, "file", exclusive | now))
    two.end(killed=True)
    say(elsewhere(flock, "file", exclusive | now))
    # flock(2) belongs to the open file description: two of them in one process conflict, a dup(2) of one does not.
    first, second = os.open("file", os.O_RDWR), os.open("file", os.O_RDWR)
    copy = os.dup(first)
    fcntl.flock(first, exclusive)
    say(attempt(fcntl.flock, second, exclusive | now), attempt(fcntl.flock, copy, exclusive | now))
    os.close(first)
    say(attempt(fcntl.flock, second, exclusive | now))
    os.close(copy)
    say(attempt(fcntl.flock, second, exclusive | now))
    # The lock stays with the file when that is renamed or unlinked.
    os.rename("file", "other")
    say(elsewhere(flock, "other", shared | now))
    os.mkdir("folder")
    folder = os.open("folder", os.O_RDONLY)
    fcntl.flock(folder, exclusive)
    say(attempt(fcntl.flock, os.open("folder", os.O_RDONLY), shared | now))


@act
def of_processes(say):
    make("file", b"x" * 100)
    exclusive, shared, now = fcntl.LOCK_EX, fcntl.LOCK_SH, fcntl.LOCK_NB
    one = Companion(lock, "file", exclusive, 10, 10)
    say(one.answer, elsewhere(lock, "file", exclusive | now, 15, 1), elsewhere(lock, "file", exclusive | now, 20, 5))
    say(elsewhere(patiently, lock, "file", shared, 0, 11))
    file = os.open("file", os.O_RDWR)
    kind, _, start, length, process = struct.unpack(
        "hhqqi4x", fcntl.fcntl(file, fcntl.F_GETLK, described(fcntl.F_WRLCK, 0, 0)))
    say(kind == fcntl.F_WRLCK, start, length, process == one.process)
    one.end(killed=True)
    say(elsewhere(lock, "file", exclusive | now, 15, 1))
    # Any close of the file releases all locks that the process has on it.
    fcntl.lockf(file, exclusive)
    say(elsewhere(lock, "file", shared | now))
    os.close(os.open("file", os.O_RDONLY))
    say(elsewhere(lock, "file", shared | now))
    # Two processes wait for each other: one gets EDEADLK, the other one the lock that it waits for.
    fcntl.lockf(file, exclusive, 1, 0)
    ready, said = os.pipe()
    outcome, told = os.pipe()
    if (process := os.fork()) == 0:
        mine = os.open("file", os.O_RDWR)
        fcntl.lockf(mine, exclusive, 1, 1)
        os.write(said, b"1")
        os.write(told, repr(attempt(fcntl.lockf, mine, exclusive, 1, 0)).encode())
        os._exit(0)
    os.read(ready, 1)
    first = attempt(fcntl.lockf, file, exclusive, 1, 1)
    os.close(file)
    os.waitpid(process, 0)
    say(sorted([repr(first), os.read(outcome, 100).decode()]))


@act
def of_open_files(say):
    make("file")
    one, two = os.open("file", os.O_RDWR), os.open("file", os.O_RDWR)
    read, write, none = fcntl.F_RDLCK, fcntl.F_WRLCK, fcntl.F_UNLCK
    ofd(one, OFD_SETLK, write, 0, 10)
    say(attempt(ofd, two, OFD_SETLK, write, 5, 1), attempt(ofd, two, OFD_SETLK, write, 10, 1))
    say(ofd(two, OFD_GETLK, read, 0, 1) == write, elsewhere(lock, "file", fcntl.LOCK_EX | fcntl.LOCK_NB))
    # Another close of the same file does not release it.
    os.close(os.open("file", os.O_RDONLY))
    say(attempt(ofd, two, OFD_SETLK, write, 5, 1), elsewhere(patiently, ofd, two, OFD_SETLKW, read, 5, 1))
    os.close(one)
    say(attempt(ofd, two, OFD_SETLK, write, 5, 1), attempt(ofd, two, OFD_SETLK, none))

    def hold():
        ofd(os.open("file", os.O_RDWR), OFD_SETLK, write)
        return "locked"

    other = Companion(hold)
    say(other.answer, attempt(ofd, two, OFD_SETLK, read))
    other.end(killed=True)
    say(attempt(ofd, two, OFD_SETLK, read))
