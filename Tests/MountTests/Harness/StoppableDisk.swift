import Foundation
import Glibc
import TestSupport

/// A folder on a file system that can be stopped: every request to it then waits until it is continued.
final class StoppableDisk {
    let path: String
    private let folder: TemporaryFolder
    private let process: Child
    private let connection: UnansweredRequests

    /// - Note: needs root for that mount.
    init() throws {
        if let missing = Built.missing { throw HarnessError(missing) }
        folder = try TemporaryFolder()
        path = try folder.makeFolder("disk")
        let nowhere = try StreamFile()
        process = try Child(
            Built.passthrough, [try folder.makeFolder("source"), path], input: nowhere.descriptor,
            output: nowhere.descriptor, errors: nowhere.descriptor)
        let end = ContinuousClock.now + .seconds(30)
        while mountLines(of: path).isEmpty {
            guard ContinuousClock.now < end else { throw HarnessError("the pass-through does not mount") }
            usleep(2_000)
        }
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { throw HarnessError("stat \(path): errno \(errno)") }
        LiveMounts.add(path, device: UInt64(status.st_dev), daemon: process.pid)
        connection = try UnansweredRequests(of: UInt64(status.st_dev), in: folder)
    }

    deinit {
        go()
        process.send(SIGTERM)
        process.wait()
        unsafe umount2(path, Int32(MNT_DETACH))
        LiveMounts.remove(path)
    }

    /// Returns when the file system answers no more: each of its threads has stopped.
    func stop() throws {
        process.send(SIGSTOP)
        let end = ContinuousClock.now + .seconds(20)
        let tasks = "/proc/\(process.pid)/task"
        while true {
            let states = try FileManager.default.contentsOfDirectory(atPath: tasks).map { task in
                try String(contentsOfFile: "\(tasks)/\(task)/stat", encoding: .utf8).split(separator: ")").last?.first {
                    $0 != " "
                }
            }
            if states.allSatisfy({ $0 == "T" }) { return }
            guard ContinuousClock.now < end else { throw HarnessError("the pass-through does not stop: \(states)") }
            usleep(1_000)
        }
    }

    func go() { process.send(SIGCONT) }

    /// How many requests the kernel has sent without an answer yet.
    var waiting: Int { connection.count }
}
