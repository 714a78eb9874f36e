import Foundation
import Glibc
import TestSupport

/// A folder on a file system that can be made to hang: every request to it then waits until it goes on.
protocol HangingFileSystem: AnyObject {
    var path: String { get }
    /// Returns when the file system answers no more.
    func stop() throws
    func go()
    /// How many requests the kernel has sent without an answer yet.
    var waiting: Int { get }
}

extension HangingFileSystem {
    /// Returns when so many requests wait.
    func untilWaiting(_ count: Int) throws {
        let end = ContinuousClock.now + .seconds(20)
        while waiting < count {
            guard ContinuousClock.now < end else { throw HarnessError("only \(waiting) requests wait for the store") }
            usleep(2_000)
        }
    }
}

extension StoppableDisk: HangingFileSystem {}

/// A folder by sshfs, whose server can be stopped: OpenSSH's server for files, without a connection.
final class StoppableServer: HangingFileSystem {
    let path: String
    private let folder: TemporaryFolder
    private let client: Child
    private let server: pid_t
    private let connection: UnansweredRequests

    static let server = "/usr/lib/openssh/sftp-server"
    static let isInstalled = [server, "/usr/bin/sshfs"].allSatisfy(FileManager.default.isExecutableFile)

    /// - Note: needs root, to see what waits.
    init() throws {
        folder = try TemporaryFolder()
        path = try folder.makeFolder("mount")
        let source = try folder.makeFolder("source")
        let number = folder.path("server")
        let script = try folder.write("#!/bin/sh\necho $$ > \(number)\nexec \(Self.server)\n", to: "ssh")
        unsafe chmod(script, 0o700)
        let nowhere = try StreamFile()
        client = try Child(
            "sshfs", ["server:\(source)", path, "-f", "-o", "dir_cache=no", "-o", "ssh_command=\(script)"],
            input: nowhere.descriptor, output: nowhere.descriptor, errors: nowhere.descriptor)
        let end = ContinuousClock.now + .seconds(30)
        var server: pid_t?
        while mountLines(of: path).isEmpty || server == nil {
            guard ContinuousClock.now < end else {
                throw HarnessError("sshfs does not mount: \(String(decoding: nowhere.contents, as: UTF8.self))")
            }
            usleep(2_000)
            let text = try? String(contentsOfFile: number, encoding: .utf8)
            server = text.flatMap { pid_t($0.trimmingCharacters(in: .whitespacesAndNewlines)) }
        }
        self.server = server!
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { throw HarnessError("stat \(path): errno \(errno)") }
        LiveMounts.add(path, device: UInt64(status.st_dev), daemon: client.pid)
        connection = try UnansweredRequests(of: UInt64(status.st_dev), in: folder)
    }

    deinit {
        go()
        client.send(SIGTERM)
        client.wait()
        unsafe umount2(path, Int32(MNT_DETACH))
        LiveMounts.remove(path)
    }

    func stop() throws {
        kill(server, SIGSTOP)
        let end = ContinuousClock.now + .seconds(20)
        while try state() != "T" {
            guard ContinuousClock.now < end else { throw HarnessError("the server does not stop") }
            usleep(1_000)
        }
    }

    private func state() throws -> Character? {
        let text = try String(contentsOfFile: "/proc/\(server)/stat", encoding: .utf8)
        return text.split(separator: ")").last?.first { $0 != " " }
    }

    func go() { kill(server, SIGCONT) }

    var waiting: Int { connection.count }
}

/// The requests of a FUSE file system that it has not answered.
final class UnansweredRequests {
    /// A mount of our own of the kernel's list of FUSE connections.
    private let connections: String
    private let number: UInt64

    /// - Note: needs root for that mount.
    init(of device: UInt64, in folder: TemporaryFolder) throws {
        connections = try folder.makeFolder("connections")
        number = device & 0xff | device >> 12 & 0xfff00
        guard unsafe mount("none", connections, "fusectl", 0, nil) == 0 else {
            throw HarnessError("cannot mount fusectl: errno \(errno)")
        }
    }

    deinit { unsafe umount2(connections, Int32(MNT_DETACH)) }

    var count: Int {
        let text = try? String(contentsOfFile: "\(connections)/\(number)/waiting", encoding: .utf8)
        return text.flatMap { Int($0.trimmingCharacters(in: .whitespacesAndNewlines)) } ?? 0
    }
}
