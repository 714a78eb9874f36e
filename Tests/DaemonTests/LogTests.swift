import Glibc
import Logging
import Posix
import TestSupport
import Testing

@testable import Daemon

@Suite(.timeLimit(.minutes(10))) struct LogTests {
    @Test func `an event is one line`() throws {
        let pipe = try Pipe()
        let writer = try LogWriter(to: .stream(pipe.writeEnd))
        var log = Logger(label: "test") { _ in DaemonLog(writer: writer) }
        log[metadataKey: "volume"] = "00"
        log.warning("a\nb\u{1b}", metadata: ["name": "c\r\nd\\", "path": .stringConvertible("e\\n" as Printable)])
        log.debug("not told")
        writer.flush()
        var bytes = [UInt8](repeating: 0, count: 1000)
        var span = bytes.mutableSpan
        var room = unsafe span.mutableBytes
        let count = try pipe.readEnd.read(into: &room)
        let line = String(decoding: bytes.prefix(count), as: UTF8.self)
        #expect(line.hasSuffix("Z warning: a\\nb\\x1b name=c\\r\\nd\\\\ path=e\\n volume=00\n"))
        #expect(line.split(separator: "\n").count == 1)
    }

    /// The journal may lie on a disk without encryption.
    @Test func `the journal gets fields, and no plaintext names`() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("journal")
        let journal = try BoundSocket(path)
        let socket = try #require(JournalSocket(path: path, vault: "/v\nw", mountPoint: "/m"))
        let pipe = try Pipe()
        let writer = try LogWriter(to: .stream(pipe.writeEnd), journal: socket)
        let log = Logger(label: "test") { _ in DaemonLog(writer: writer) }
        log.error("refused", metadata: ["path": "/a\nb", "reason": "its tag is wrong", "stored": "c"])
        let entry = try journal.receive()
        let expected =
            "SYSLOG_IDENTIFIER=latchkey\nSYSLOG_FACILITY=3\nSYSLOG_PID=\(getpid())\nVAULT\n\u{4}\0\0\0\0\0\0\0/v\nw\n"
            + "MOUNT=/m\nPRIORITY=3\nREASON=its tag is wrong\nFILE_ID=c\n"
            + "MESSAGE=refused reason=its tag is wrong stored=c\n"
        #expect(entry == expected)
    }

    @Test func `a journal that is gone loses no line`() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("journal")
        var journal: BoundSocket? = try BoundSocket(path)
        let socket = try #require(JournalSocket(path: path, vault: "/v", mountPoint: "/m"))
        withExtendedLifetime(journal) {}
        journal = nil
        let pipe = try Pipe()
        let writer = try LogWriter(to: .stream(pipe.writeEnd), journal: socket)
        Logger(label: "test") { _ in DaemonLog(writer: writer) }.warning("told elsewhere")
        var bytes = [UInt8](repeating: 0, count: 1000)
        var span = bytes.mutableSpan
        var room = unsafe span.mutableBytes
        let count = try pipe.readEnd.read(into: &room)
        #expect(String(decoding: bytes.prefix(count), as: UTF8.self).hasSuffix("warning: told elsewhere\n"))
    }

    @Test func `an unread log delays no thread`() throws {
        // As the daemon does: the pipe ends before its writer.
        signal(SIGPIPE, SIG_IGN)
        let pipe = try Pipe()
        let writer = try LogWriter(to: .stream(pipe.writeEnd))
        let log = Logger(label: "test") { _ in DaemonLog(writer: writer) }
        let start = BootClock.now
        for number in 0..<20_000 { log.info("line \(number)") }
        #expect(BootClock.now - start < .seconds(20))
        withExtendedLifetime(pipe) {}
    }
}

/// The receiving end of datagrams.
private final class BoundSocket {
    private let number: Int32

    init(_ path: String) throws(Errno) {
        number = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: Array(path.utf8) + [0]) }
        let size = socklen_t(MemoryLayout<sockaddr_un>.size)
        let result = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe bind(number, $0, size) }
        }
        guard number >= 0, result == 0 else { throw .current }
    }

    deinit { close(number) }

    func receive() throws -> String {
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = unsafe recv(number, &bytes, bytes.count, 0)
        guard count > 0 else { throw Errno.current }
        return String(decoding: bytes.prefix(count), as: UTF8.self)
    }
}
