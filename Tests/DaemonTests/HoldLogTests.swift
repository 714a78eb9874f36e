import Glibc
import Logging
import Posix
import TestSupport
import Testing

@testable import Control
@testable import Daemon

/// What the log says of a program that holds the lock: the kernel's words, and the program's own, kept apart.
@Suite(.timeLimit(.minutes(10))) struct HoldLogTests {
    /// The lines that a hold of these texts makes, without their times.
    private func lines(hiding: Bool, _ command: String, because: String) throws -> [String] {
        let folder = try TemporaryFolder()
        let path = folder.path("log")
        let sink: LogSink =
            if hiding { .file(try LogFile(path: path)) } else {
                .stream(try Descriptor.open(path: path, O_WRONLY | O_CREAT | O_APPEND, mode: 0o600))
            }
        let writer = try LogWriter(to: sink)
        let mount = TestMount()
        let lock = try MountLock(
            mount: mount, facts: .test(grace: .zero, longestHold: .seconds(60)),
            log: Logger(label: "test") { _ in DaemonLog(writer: writer) })
        _ = try lock.unlock(with: TestKeys(mount: mount), since: lock.locks)
        try lock.hold(Hold(pid: 7, uid: 8, command: command, because: because, seconds: 50)).release()
        writer.flush()
        let text = try String(decoding: contents(of: path), as: UTF8.self)
        return text.split(separator: "\n").map { String($0.drop { $0 != " " }.dropFirst()) }
            .filter { $0.contains("hold") }
    }

    private func contents(of path: String) throws -> [UInt8] {
        let file = try Descriptor.open(path: path, O_RDONLY)
        var bytes = [UInt8](repeating: 0, count: 10_000)
        var span = bytes.mutableSpan
        var room = unsafe span.mutableBytes
        let count = try file.read(into: &room)
        return Array(bytes.prefix(count))
    }

    @Test func `a text of a program forges no field and no line`() throws {
        let lines = try lines(
            hiding: false, "a\\b\n2026 notice: hold ended", because: "x\" command=restic process=1 user=0")
        let fields =
            #" because="x\" command=restic process=1 user=0" command="a\\b\n2026 notice: hold ended" process=7"#
            + " seconds=50.0 user=8"
        #expect(lines == ["notice: hold begun" + fields, "notice: hold ended" + fields + " why=released"])
    }

    /// The command and the reason may name files.
    @Test func `a log that may lie on a disk without encryption has no text of a program`() throws {
        let lines = try lines(hiding: true, "restic", because: "secret.txt")
        let fields = " process=7 seconds=50.0 user=8"
        #expect(lines == ["notice: hold begun" + fields, "notice: hold ended" + fields + " why=released"])
    }
}
