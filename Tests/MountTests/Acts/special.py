"""FIFOs, sockets, devices and symbolic links."""

import os
import socket
import stat
import threading

from acting import act, attempt, elsewhere, make


@act
def sockets(say):
    server = socket.socket(socket.AF_UNIX)
    server.bind("socket")
    server.listen()
    say(oct(os.stat("socket").st_mode), attempt(socket.socket(socket.AF_UNIX).bind, "socket"))

    def talk(path):
        client = socket.socket(socket.AF_UNIX)
        client.connect(path)
        client.sendall(b"question")
        return client.recv(100)

    def serve():
        other, _ = server.accept()
        with other:
            other.sendall(b"answer to " + other.recv(100))

    def asked(path):
        thread = threading.Thread(target=serve)
        thread.start()
        answer = elsewhere(talk, path)
        thread.join()
        return answer

    say(asked("socket"))
    os.rename("socket", "moved")
    os.link("moved", "linked")
    say(asked("moved"), asked("linked"), attempt(talk, "socket"))
    say(attempt(os.open, "moved", os.O_RDONLY))
    os.chmod("moved", 0o700)
    say(elsewhere(talk, "moved", user=1234))
    os.unlink("moved")
    say(asked("linked"))
    server.close()
    say(attempt(talk, "linked"))
    # Datagrams, and a socket whose name is long.
    os.mkdir("d" * 50)
    one = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    one.bind("d" * 50 + "/" + "s" * 50)
    two = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    two.sendto(b"datagram", "d" * 50 + "/" + "s" * 50)
    say(one.recv(100))


@act
def fifos(say):
    os.mkfifo("fifo", 0o640)
    say(oct(os.stat("fifo").st_mode), attempt(os.open, "fifo", os.O_WRONLY | os.O_NONBLOCK))
    reader = os.open("fifo", os.O_RDONLY | os.O_NONBLOCK)
    say(elsewhere(lambda: os.write(os.open("fifo", os.O_WRONLY), b"through")), os.read(reader, 100))
    os.link("fifo", "second")
    say(elsewhere(lambda: os.write(os.open("second", os.O_WRONLY), b"again")), os.read(reader, 100))
    os.rename("fifo", "moved")
    os.unlink("second")
    os.unlink("moved")
    say(os.fstat(reader).st_nlink, os.listdir("."))


@act
def devices(say):
    for name, kind, device in (
        ("null", stat.S_IFCHR, (1, 3)), ("big", stat.S_IFCHR, (4000, 70_000)), ("block", stat.S_IFBLK, (7, 0)),
    ):
        os.mknod(name, kind | 0o640, os.makedev(*device))
        status = os.stat(name)
        say(oct(status.st_mode), os.major(status.st_rdev), os.minor(status.st_rdev), status.st_size)
        os.chmod(name, 0o604)
        os.chown(name, 3, 4)
        os.utime(name, ns=(5, 6))
        os.link(name, name + ".link")
        os.rename(name, name + ".moved")
        status = os.stat(name + ".link")
        say(oct(status.st_mode), status.st_uid, status.st_gid, status.st_mtime_ns, status.st_nlink,
            os.minor(status.st_rdev))
    say(elsewhere(lambda: os.mknod("his", stat.S_IFCHR | 0o666, os.makedev(1, 3)), user=1234))
    os.chmod(".", 0o777)
    say(elsewhere(lambda: os.mknod("his", stat.S_IFCHR | 0o666, os.makedev(1, 3)), user=1234))
    say(elsewhere(lambda: os.mknod("his", stat.S_IFSOCK | 0o666), user=1234), os.stat("his").st_uid)


@act
def symbolic_links(say):
    for number, target in enumerate((b"x", b"/absolute", b"../up", b"\xff\xfe", b"t" * 255, b"t" * 3039, b"t" * 3040,
                                     b"u" * 4095)):
        name = b"link-%d" % number
        os.symlink(target, name)
        say(os.readlink(name) == target, os.lstat(name).st_size, oct(os.lstat(name).st_mode))
        os.lchown(name, 5, 6)
        os.link(name, name + b".second", follow_symlinks=False)
        os.rename(name, name + b".moved")
        os.unlink(name + b".second")
        status = os.lstat(name + b".moved")
        say(os.readlink(name + b".moved") == target, status.st_uid, status.st_gid, status.st_nlink)
    follows = os.chmod in os.supports_follow_symlinks
    say(attempt(os.chmod, "link-0.moved", 0o600, follow_symlinks=False) if follows else "")
    os.mkdir("folder")
    make("folder/file", b"text")
    os.symlink("folder", "way")
    say(open("way/file").read(), os.listdir("way"), attempt(os.unlink, "way/"), attempt(os.rmdir, "way"))
    os.symlink("other", "other-way")
    os.symlink("other-way", "other")
    say(attempt(os.stat, "other"), attempt(os.open, "other", os.O_CREAT))
