import Glibc
import Posix
import TestSupport
import Testing

@Suite struct UnixSocketTests {
    private func receive(_ socket: Descriptor, _ count: Int = 100) throws -> (bytes: [UInt8], passed: [Descriptor]) {
        var buffer = [UInt8](repeating: 0, count: count)
        var span = buffer.mutableSpan
        var bytes = unsafe span.mutableBytes
        let (got, passed) = try socket.receive(into: &bytes)
        return (Array(buffer.prefix(got)), passed)
    }

    @Test func connectsAndKnowsItsPeer() throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/socket"
        #expect(throws: Posix.Errno.ENOENT) { try UnixSocket.connect(to: path) }
        var listening: Descriptor? = try UnixSocket.listen(at: path)
        #expect(throws: Posix.Errno.EADDRINUSE) { try UnixSocket.listen(at: path) }
        let client = try UnixSocket.connect(to: path)
        let server = try #require(listening).accept()
        let peer = try server.peerCredentials()
        #expect((peer.process, peer.user, peer.group) == (getpid(), getuid(), getgid()))
        try client.transmit(Array("hi".utf8))
        #expect(try receive(server).bytes == Array("hi".utf8))
        listening = nil
        #expect(throws: Posix.Errno.ECONNREFUSED) { try UnixSocket.connect(to: path) }
    }

    @Test func refusesPathsThatDoNotFit() {
        let path = "/tmp/" + String(repeating: "x", count: 120)
        #expect(throws: Posix.Errno.ENAMETOOLONG) { try UnixSocket.listen(at: path) }
    }

    @Test func passesDescriptors() throws {
        let (left, right) = try UnixSocket.pair()
        let file = try Descriptor.memoryFile("passed")
        try file.put(Array("inside".utf8))
        try left.transmit([7], passing: [file, left])
        let (bytes, passed) = try receive(right)
        #expect(bytes == [7])
        #expect(passed.count == 2)
        #expect(try passed[0].bytes(10) == Array("inside".utf8))
        #expect(fcntl(passed[0].number, F_GETFD) == FD_CLOEXEC)
        #expect(throws: Posix.Errno.EINVAL) {
            try left.transmit([7], passing: Array(repeating: file, count: 9))
        }
    }

    @Test func anEndedPeerIsNoSignal() throws {
        var (left, right): (Descriptor?, Descriptor) = try UnixSocket.pair()
        #expect(left != nil)
        left = nil
        #expect(try receive(right).bytes == [])
        #expect(throws: Posix.Errno.EPIPE) { try right.transmit([1]) }
    }
}
