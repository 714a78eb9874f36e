import Administration
import Glibc
import Posix
import TestSupport
import Testing

/// A closed folder is opened only for the moment of a mount, and only one that was closed.
@Suite struct BareMountPointTests {
    private let temporary = try! TemporaryFolder()

    private func folder(mode: mode_t) -> String {
        let path = temporary.path("point")
        #expect(unsafe mkdir(path, 0o700) == 0 && chmod(path, mode) == 0)
        return path
    }

    private func mode(_ path: String) throws -> UInt32 {
        try Descriptor.open(path: path, O_PATH).status().permissions
    }

    @Test func aClosedFolderIsClosedAgainAfterAMountThatFails() throws {
        let path = folder(mode: 0)
        let point = try BareMountPoint(Path(path))
        try point.prepare()
        #expect(try mode(path) == (geteuid() == 0 ? 0 : 0o700))
        try point.restore()
        #expect(try mode(path) == 0)
    }

    @Test func anOpenFolderStaysAsItWas() throws {
        let path = folder(mode: 0o755)
        let point = try BareMountPoint(Path(path))
        #expect(!BareMountPoint.isClosed(Path(path)))
        try point.prepare()
        #expect(try mode(path) == 0o755)
        try point.restore()
        #expect(try mode(path) == 0o755 && point.isEmpty() && mode(path) == 0o755)
    }

    @Test func lookingIntoAClosedFolderLeavesItClosed() throws {
        let path = folder(mode: 0o700)
        _ = try temporary.write("x", to: "point/file")
        #expect(unsafe chmod(path, 0) == 0)
        #expect(BareMountPoint.isClosed(Path(path)))
        #expect(try !BareMountPoint(Path(path)).isEmpty() && mode(path) == 0)
        #expect(unsafe chmod(path, 0o700) == 0 && unlink(path + "/file") == 0 && chmod(path, 0) == 0)
        #expect(try BareMountPoint(Path(path)).isEmpty() && mode(path) == 0)
        #expect(unsafe chmod(path, 0o700) == 0)
    }

    @Test func whatIsNoFolder() throws {
        #expect(throws: Errno.ENOENT) { try BareMountPoint(Path(temporary.path("none"))) }
        let file = try temporary.write("x", to: "file")
        #expect(throws: Errno.ENOTDIR) { try BareMountPoint(Path(file)) }
        #expect(!BareMountPoint.isClosed(Path(file)))
    }
}
