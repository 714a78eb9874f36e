"""What the acts share. An act is a function that gets an empty folder as its working directory and prints what it
sees."""

import ctypes
import errno
import os
import signal
import sys
import traceback

libc = ctypes.CDLL(None, use_errno=True)
ACTS = []


def act(function):
    ACTS.append(function)
    return function


def name_of(error):
    return errno.errorcode.get(error.errno, str(error.errno))


def attempt(call, *arguments, **more):
    """The result of a call, or the name of its error."""
    try:
        return call(*arguments, **more)
    except OSError as error:
        return name_of(error)


def checked(result):
    """The result of a call of libc, or its error as Python would raise it."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def make(path, contents=b"", mode=0o644):
    file = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    os.write(file, contents)
    os.close(file)
    os.chmod(path, mode)


def contents(path):
    with open(path, "rb") as file:
        return file.read()


def elsewhere(body, *arguments, user=None, group=None, groups=()):
    """What `body` answers in a process of its own, as another user if one is given; or how that process has ended."""
    reader, writer = os.pipe()
    process = os.fork()
    if process == 0:
        code = 1
        try:
            os.close(reader)
            if user is not None:
                os.setgroups(list(groups))
                group = user if group is None else group
                os.setresgid(group, group, group)
                os.setresuid(user, user, user)
            os.write(writer, repr(attempt(body, *arguments)).encode())
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    os.close(writer)
    answer = b""
    while part := os.read(reader, 65536):
        answer += part
    os.close(reader)
    _, status = os.waitpid(process, 0)
    if status != 0:
        return f"ended with {status}"
    return eval(answer)


class Companion:
    """A process that does one thing, says so, and then does nothing until it is released or killed."""

    def __init__(self, body, *arguments):
        reader, said = os.pipe()
        told, writer = os.pipe()
        self.process = os.fork()
        if self.process == 0:
            os.close(reader)
            os.close(writer)
            try:
                os.write(said, repr(attempt(body, *arguments)).encode())
                os.close(said)
                os.read(told, 1)
            finally:
                os._exit(0)
        os.close(said)
        os.close(told)
        self.writer = writer
        self.answer = eval(os.read(reader, 65536))
        os.close(reader)

    def end(self, killed=False):
        if killed:
            os.kill(self.process, signal.SIGKILL)
        os.close(self.writer)
        os.waitpid(self.process, 0)


def run(folder, wanted):
    """Runs the acts, each in a folder of its own, and prints the output of each."""
    folder = os.path.abspath(folder)
    os.makedirs(folder, exist_ok=True)
    os.chmod(folder, 0o755)
    for function in ACTS:
        name = f"{function.__module__}.{function.__name__}"
        if wanted and name not in wanted and function.__module__ not in wanted:
            continue
        place = os.path.join(folder, name)
        os.umask(0o022)
        os.mkdir(place)
        os.chdir(place)

        def say(*words):
            print(f"{name}:", *words)

        try:
            function(say)
        except BaseException:
            print(f"{name}: FAILED: {traceback.format_exc()}")
        sys.stdout.flush()
    os.chdir("/")
