import Glibc
import Posix
import TestSupport
import Testing

extension FuseTests {
    @Test func renames() throws {
        let mounted = try Mounted()
        let root = mounted.root
        try root.create("a", [1])
        try root.create("b", [2])
        #expect(throws: Errno.EEXIST) { try root.rename("a", to: "b", in: root, flags: RENAME_NOREPLACE) }
        try root.rename("a", to: "b", in: root, flags: RENAME_EXCHANGE)
        #expect(try root.contents(of: "a") == [2])
        try root.rename("a", to: "b", in: root)
        #expect(try root.contents(of: "b") == [2])
        #expect(throws: Errno.ENOENT) { try root.status(of: "a") }

        try root.makeDirectory("d", mode: 0o755)
        let directory = try root.open("d", O_RDONLY | O_DIRECTORY)
        try root.rename("b", to: "c", in: directory)
        #expect(try mounted.source.open("d", O_PATH).contents(of: "c") == [2])
        #expect(throws: Errno.ENOTEMPTY) { try root.removeDirectory("d") }
        try directory.unlink("c")
        try root.removeDirectory("d")
        #expect(try root.entries().isEmpty)
    }

    @Test func keepsAnUnlinkedFileWhileItIsOpen() throws {
        let mounted = try Mounted()
        let file = try mounted.root.open("gone", O_RDWR | O_CREAT, mode: 0o600)
        try file.write([1, 2, 3], at: 0)
        try mounted.root.unlink("gone")
        try file.write([4], at: 3)
        #expect(try file.contents(10) == [1, 2, 3, 4])
        #expect(try file.status().linkCount == 0)
        #expect(try mounted.source.entries().isEmpty)
    }

    @Test func makesLinksAndNodes() throws {
        let mounted = try Mounted()
        let root = mounted.root
        try root.create("file", [1])
        try root.link("file", to: "link", in: root)
        #expect(try root.status(of: "file").inode == root.status(of: "link").inode)
        #expect(try root.status(of: "file").linkCount == 2)
        try root.makeSymbolicLink(to: Array("some/where".utf8), "symlink")
        #expect(try root.readSymbolicLink("symlink") == Array("some/where".utf8))
        #expect(try root.status(of: "symlink").size == 10)
        try root.makeNode("fifo", mode: S_IFIFO | 0o640, device: 0)
        #expect(try root.status(of: "fifo").kind == .fifo)
        #expect(try root.status(of: "fifo").permissions == 0o640)
    }

    @Test func takesNamesAsTheyAre() throws {
        let mounted = try Mounted()
        let odd = try #require(Name(bytes: [0xff, 0x0a, 0x20, 0xc3]))
        let long = try #require(Name(bytes: [UInt8](repeating: 0x6e, count: 255)))
        try mounted.root.create(odd, [1])
        try mounted.root.create(long, [2])
        #expect(Set(try mounted.source.entries().map(\.name)) == [odd, long])
        #expect(Set(try mounted.root.entries().map(\.name)) == [odd, long])
        let tooLong = String(repeating: "n", count: 256)
        #expect(throws: Errno.ENAMETOOLONG) { try Descriptor.open(path: mounted.path + "/" + tooLong, O_RDONLY) }
    }

    @Test func setsAttributes() throws {
        let mounted = try Mounted()
        try mounted.root.create("file")
        let file = try mounted.root.open("file", O_RDWR)
        try file.setMode(0o4751)
        #expect(try mounted.source.status(of: "file").permissions == 0o4751)
        let time = Timespec(seconds: 1_234_567_890, nanoseconds: 123_456_789)
        try file.setTimes(accessed: .keep, modified: .at(time))
        #expect(try mounted.source.status(of: "file").modified == time)
        #expect(try mounted.root.status(of: "file").modified == time)
        try file.setTimes(accessed: .at(time), modified: .now)
        #expect(try file.status().accessed == time)
        #expect(try file.status().modified > time)
        #expect(try file.status().device != mounted.source.status().device)
        #expect(try file.fileSystemStatistics().blocks == mounted.source.fileSystemStatistics().blocks)
    }

    @Test func keepsExtendedAttributes() throws {
        let mounted = try Mounted()
        try mounted.root.create("file")
        let file = try mounted.root.open("file", O_RDWR)
        let value = [UInt8](seed: 1, count: 3000)
        try file.setAttribute("user.one", to: value)
        try file.setAttribute("user.empty", to: [])
        #expect(try file.attribute("user.one") == value)
        #expect(try file.attribute("user.empty").isEmpty)
        #expect(Set(try file.attributeNames()).isSuperset(of: ["user.one", "user.empty"]))
        #expect(throws: Errno.EEXIST) { try file.setAttribute("user.one", to: [1], flags: XATTR_CREATE) }
        #expect(throws: Errno.ENODATA) { try file.setAttribute("user.two", to: [1], flags: XATTR_REPLACE) }
        try file.removeAttribute("user.one")
        #expect(throws: Errno.ENODATA) { try file.attribute("user.one") }
        #expect(try mounted.source.open("file", O_RDONLY).attributeNames().contains("user.empty"))
    }

    /// The kernel leaves this to the file system, and says in the request when to do it.
    @Test(.enabled(if: geteuid() == 0, "needs root, to write as another user"))
    func clearsSetIDBitsWhenOthersWrite() throws {
        let mounted = try Mounted(options: ["allow_other", "default_permissions"])
        for (name, script) in [
            ("written", "echo x >> "), ("truncated", "truncate -s 0 "), ("opened", ": > "),
        ] as [(Name, String)] {
            try mounted.source.create(name, [1])
            try mounted.source.setMode(0o6777, of: name)
            let command = script + mounted.path + "/\(name)"
            // Root may keep the set-ID bits.
            try run("sh", ["-ec", command])
            #expect(try mounted.source.status(of: name).permissions == 0o6777, "\(name) by root")
            try run("setpriv", ["--reuid=65534", "--regid=65534", "--clear-groups", "sh", "-ec", command])
            #expect(try mounted.source.status(of: name).permissions == 0o777, "\(name)")
            #expect(try mounted.root.status(of: name).permissions == 0o777, "\(name), as the mount shows it")
        }
    }
}
