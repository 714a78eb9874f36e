import Glibc
import Logging
import Posix
import Testing

@testable import Daemon

@Suite(.timeLimit(.minutes(1))) struct LogTests {
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
