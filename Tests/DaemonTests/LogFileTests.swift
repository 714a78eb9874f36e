import Foundation
import Glibc
import Logging
import Posix
import TestSupport
import Testing

@testable import Daemon

@Suite(.timeLimit(.minutes(10))) struct LogFileTests {
    /// Of a mount whose system has no log. The file may lie on a disk that is not encrypted.
    @Test func `a log file is bounded, private and without names of files`() throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/state/log/0.log"
        let sink = LogSink.file(try LogFile(path: path))
        let writer = try LogWriter(to: sink)
        #expect(writer.file == path)
        let log = Logger(label: "test") { _ in DaemonLog(writer: writer) }
        log.error("refused", metadata: ["path": "/diary", "file": "ciphertext", "reason": "damaged"])
        writer.flush()
        let line = try String(contentsOfFile: path, encoding: .utf8)
        #expect(line.hasSuffix("Z error: refused file=ciphertext reason=damaged\n"))
        let status = try Descriptor.open(path: path, O_RDONLY).status()
        #expect(status.permissions & 0o777 == 0o600)
        let long = LogLine(level: .info, text: "\(String(repeating: "x", count: 10_000))")
        for _ in 0..<250 { sink.write(long) }
        for file in [path, path + ".1"] {
            let size = try Descriptor.open(path: file, O_RDONLY).status().size
            #expect(size > 0 && size <= LogFile.limit, "\(file)")
        }
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path + "/state/log")
        #expect(names.sorted() == ["0.log", "0.log.1"])
    }

    @Test func `a log file that others may read is closed to them, and one that cannot be moved is emptied`() throws {
        let folder = try TemporaryFolder()
        let path = try folder.write("earlier", to: "0.log")
        unsafe chmod(path, 0o666)
        _ = try folder.makeFolder("0.log.1")
        let sink = LogSink.file(try LogFile(path: path))
        #expect(try Descriptor.open(path: path, O_RDONLY).status().permissions & 0o7777 == 0o600)
        let long = LogLine(level: .info, text: "\(String(repeating: "x", count: 10_000))")
        for _ in 0..<250 { sink.write(long) }
        let size = try Descriptor.open(path: path, O_RDONLY).status().size
        #expect(size > 0 && size <= LogFile.limit)
        guard geteuid() == 0 else { return }
        unsafe chown(path, 65_534, 65_534)
        #expect(throws: Errno.EPERM) { _ = try LogFile(path: path) }
    }

    @Test func `a log daemon is noticed`() throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/log"
        #expect(!UnixSocket.isServed(path))
        let socket = try UnixSocket.listen(at: path)
        #expect(UnixSocket.isServed(path))
        withExtendedLifetime(socket) {}
    }

    @Test func `a log daemon that has ended is noticed`() throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/log"
        _ = try UnixSocket.listen(at: path)
        #expect(!UnixSocket.isServed(path))
    }
}
