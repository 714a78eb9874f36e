import Glibc
import Posix
import TestSupport
import Testing

@Suite struct DirectoryTests {
    let folder = try! TemporaryFolder()
    var directory: Descriptor { get throws { try folder.descriptor() } }

    private func make(_ name: Name) throws {
        _ = try directory.open(name, O_RDWR | O_CREAT | O_EXCL, mode: 0o600)
    }

    private func names() throws -> Set<String> {
        Set(try directory.entries().map { $0.name.description })
    }

    @Test func opensWithoutFollowingLinks() throws {
        try directory.makeSymbolicLink(to: Array("target".utf8), "link")
        #expect(throws: Posix.Errno.ELOOP) { try directory.open("link", O_RDONLY) }
        #expect(throws: Posix.Errno.ENOENT) { try directory.open("target", O_RDONLY) }
        #expect(try directory.readSymbolicLink("link") == Array("target".utf8))
        #expect(try directory.status(of: "link").kind == .symbolicLink)
        #expect(throws: Posix.Errno.EINVAL) { try directory.makeSymbolicLink(to: [0x61, 0], "bad") }
        let file = try directory.open("f", O_RDWR | O_CREAT, mode: 0o600)
        #expect(fcntl(file.number, F_GETFD) == FD_CLOEXEC)
        #expect(throws: Posix.Errno.EINVAL) { try directory.readSymbolicLink("f") }
    }

    /// While another process exchanges the entry with one in another directory: one of the two is there.
    @Test func opensWhatIsMovedAway() throws {
        // Side by side: what moves to a directory beneath is still beneath.
        for name: Name in ["here", "there"] { try directory.makeDirectory(name, mode: 0o700) }
        let here = try directory.open("here", O_RDONLY | O_DIRECTORY)
        _ = try here.open("c", O_RDWR | O_CREAT, mode: 0o600)
        let said = try StreamFile()
        let mover = try Child(
            "python3",
            [
                "-c",
                """
                import ctypes, os
                open("there/c", "x").close()
                libc = ctypes.CDLL(None, use_errno=True)
                current, exchange = -100, 2
                for _ in range(100_000):
                    if libc.renameat2(current, b"here/c", current, b"there/c", exchange) != 0:
                        raise OSError(ctypes.get_errno(), "renameat2")
                """,
            ], directory: folder.path, input: said.descriptor, output: said.descriptor, errors: said.descriptor)
        while mover.wait(seconds: 0) == nil {
            for _ in 0..<1000 {
                do throws(Posix.Errno) { _ = try here.open("c", O_PATH) } catch {
                    mover.send(SIGKILL)
                    throw error
                }
            }
        }
        #expect(mover.wait() == 0)
    }

    @Test func keepsTargetsOfTheGreatestLength() throws {
        let target = [UInt8](repeating: 0x61, count: 4095)
        try directory.makeSymbolicLink(to: target, "long")
        #expect(try directory.readSymbolicLink("long") == target)
        #expect(throws: Posix.Errno.ENAMETOOLONG) { try directory.makeSymbolicLink(to: target + [0x61], "longer") }
    }

    @Test func listsEverythingFromTheStartEachTime() throws {
        let expected = Set((0..<1500).map { "entry-\($0)-" + String(repeating: "x", count: 40) })
        for name in expected { try make(try #require(Name(bytes: name.utf8))) }
        #expect(try names() == expected)
        #expect(try names() == expected)
        #expect(try directory.entries().allSatisfy { $0.kind == .regular && $0.inode != 0 })
        let path = try Descriptor.open(path: folder.path, O_PATH | O_DIRECTORY)
        #expect(try path.entries().count == 1500)
    }

    @Test func keepsNamesThatAreNotText() throws {
        let name = try #require(Name(bytes: [0xff, 0xfe, 0x0a]))
        try directory.makeDirectory(name, mode: 0o700)
        #expect(try directory.entries().map(\.name) == [name])
        #expect(try directory.entries().map(\.kind) == [.directory])
    }

    @Test func renames() throws {
        try make("a")
        try make("b")
        #expect(throws: Posix.Errno.EEXIST) {
            try directory.rename("a", to: "b", in: directory, flags: RENAME_NOREPLACE)
        }
        let inode = try directory.status(of: "a").inode
        try directory.rename("a", to: "b", in: directory, flags: RENAME_EXCHANGE)
        #expect(try directory.status(of: "b").inode == inode)
        try directory.rename("b", to: "a", in: directory)
        #expect(try names() == ["a"])
        try directory.makeDirectory("d", mode: 0o700)
        try directory.rename("a", to: "c", in: try directory.open("d", O_RDONLY | O_DIRECTORY))
        #expect(try names() == ["d"])
    }

    @Test func linksAndUnlinks() throws {
        try make("a")
        try directory.link("a", to: "b", in: directory)
        #expect(try directory.status(of: "a").linkCount == 2)
        #expect(throws: Posix.Errno.EEXIST) { try directory.link("a", to: "b", in: directory) }
        try directory.unlink("a")
        #expect(throws: Posix.Errno.ENOENT) { try directory.unlink("a") }
        #expect(try names() == ["b"])
    }

    @Test func makesAndRemovesDirectories() throws {
        try directory.makeDirectory("d", mode: 0o750)
        #expect(throws: Posix.Errno.EEXIST) { try directory.makeDirectory("d", mode: 0o750) }
        #expect(throws: Posix.Errno.EISDIR) { try directory.unlink("d") }
        #expect(throws: Posix.Errno.ENOTEMPTY) {
            let inner = try directory.open("d", O_RDONLY | O_DIRECTORY)
            try inner.makeDirectory("e", mode: 0o700)
            try directory.removeDirectory("d")
        }
        try directory.open("d", O_RDONLY | O_DIRECTORY).removeDirectory("e")
        try directory.removeDirectory("d")
        try make("f")
        #expect(throws: Posix.Errno.ENOTDIR) { try directory.removeDirectory("f") }
    }

    @Test func makesNodes() throws {
        try directory.makeNode("fifo", mode: S_IFIFO | 0o600, device: 0)
        try directory.makeNode("socket", mode: S_IFSOCK | 0o600, device: 0)
        #expect(try directory.status(of: "fifo").kind == .fifo)
        #expect(try Set(directory.entries().map(\.kind)) == [.fifo, .socket])
    }
}
