import Glibc
import Posix
import TestSupport
import Testing

@Suite struct PathTests {
    private let bytes = Path(bytes: Array("/a/b".utf8) + [0xff] + Array("\n'\\".utf8))

    @Test func `a path is its bytes, and nothing else`() {
        #expect(Path("/e\u{301}") != Path("/\u{e9}"))
        #expect(bytes.text == nil && Path("/\u{10fffd}").text == "/\u{10fffd}")
        #expect(bytes.printable.text == #"/a/b\xff\n'\\"#)
        #expect(bytes.quoted.text == #"$'/a/b\xff\n\'\\'"#)
        #expect("\(bytes)" as Printable == bytes.printable)
        #expect("\(bytes)/c" as Path == Path(bytes: bytes.bytes + Array("/c".utf8)))
        #expect(Path(bytes: [0x7f]) < Path(bytes: [0x80]) && Path("") < "a")
    }

    @Test(arguments: [
        ("/a/b", "/a", "b"), ("/a", "/", "a"), ("a", ".", "a"), ("a/b", "a", "b"), ("/", "/", ""), ("a/", "a", ""),
        ("", ".", ""),
    ])
    func `the folder and the last component`(_ path: String, _ folder: String, _ last: String) {
        #expect(Path(path).split.folder == Path(folder) && Path(path).split.last == Path(last))
    }

    @Test func `components, slashes at the end, and what lies in a folder`() {
        #expect(Path("//a///b/").components.map { Array($0) } == [Array("a".utf8), Array("b".utf8)])
        #expect(Path("/a//").trimmingTrailingSlashes == "/a" && Path("//").trimmingTrailingSlashes == "/")
        #expect(Path("/a/b").lies(in: "/a") && Path("/a/b").lies(in: "/a/") && !Path("/ab").lies(in: "/a"))
        #expect(!Path("/a").lies(in: "/a") && Path("/a").isInside("/a") && Path("/a").isInside("/"))
        #expect(Path("/a/..").lastName == nil && Path("/").lastName == nil && Path("/a/b/").lastName == "b")
    }

    @Test func `calls take any bytes but NUL, with which no file is meant`() throws {
        let folder = Path(bytes: Array("\(try TemporaryFolder().path)".utf8) + [0xff])
        #expect(folder.mkdir(0o700) == 0)
        defer { _ = folder.rmdir() }
        var status = stat()
        #expect(folder.status(&status) == 0 && folder.linkStatus(&status) == 0 && folder.access(F_OK) == 0)
        #expect(try folder.asFolder.resolved() == folder)
        let file = folder + "/x"
        _ = try Descriptor.open(path: file, O_WRONLY | O_CREAT, mode: 0o600)
        #expect(file.rename(to: folder + "/y") == 0 && (folder + "/y").unlink() == 0)
        let cut = Path(bytes: folder.bytes + [0] + Array("/z".utf8))
        #expect(cut.access(F_OK) == -1 && Errno.current == .ENOENT)
        #expect(throws: Errno.EINVAL) { try Descriptor.open(path: cut, O_RDONLY) }
        #expect(throws: Errno.ENOENT) { try cut.resolved() }
    }
}
