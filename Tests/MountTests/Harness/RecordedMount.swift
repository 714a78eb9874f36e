import CrashSimulator
import Foundation
import Glibc
import TestStores
import TestSupport

/// A mount of a vault in memory, served through a store that records all changes of the vault's folder.
final class RecordedMount {
    let folder: StateFolder
    let keys: VaultKeys
    let path: String
    private let around: TemporaryFolder
    private let process: Child
    private let input: Int32
    private let output: Int32
    private var heard: [UInt8] = []

    init() throws {
        if let missing = Built.missing { throw HarnessError(missing) }
        folder = try StateFolder()
        keys = try VaultKeys(in: folder)
        around = try TemporaryFolder()
        path = try around.makeFolder("mount")
        var downward: [Int32] = [0, 0]
        var upward: [Int32] = [0, 0]
        guard unsafe pipe(&downward) == 0, unsafe pipe(&upward) == 0 else { throw HarnessError("pipe: errno \(errno)") }
        for descriptor in downward + upward { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
        process = try Child(
            Built.recorder, [folder.path, path, around.path("records")], input: downward[0], output: upward[1],
            errors: upward[1])
        input = downward[1]
        output = upward[0]
        close(downward[0])
        close(upward[1])
        let first = try line()
        guard first == "mounted" else { throw HarnessError("the recorder does not mount, but says: \(first)") }
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { throw HarnessError("stat \(path): errno \(errno)") }
        LiveMounts.add(path, device: UInt64(status.st_dev), daemon: process.pid)
    }

    deinit {
        process.send(SIGKILL)
        process.wait()
        unsafe umount2(path, Int32(MNT_DETACH))
        LiveMounts.remove(path)
        close(input)
        close(output)
    }

    func file(_ name: String) -> String { path + "/" + name }

    /// How many records there are: those of a call that was acknowledged before are among them.
    func count() throws -> Int {
        guard unsafe write(input, "count\n", 6) == 6 else { throw HarnessError("the recorder is gone") }
        let words = try line().split(separator: " ")
        guard words.count == 2, words[0] == "count", let count = Int(words[1]) else {
            throw HarnessError("the recorder said \(words)")
        }
        return count
    }

    /// Unmounts; returns the records.
    func end() throws -> (records: [Record], found: Int) {
        try run("fusermount3", ["-u", path]).succeeded()
        let last = try line(within: 60)
        guard last == "ended" else { throw HarnessError("the recorder does not end, but says: \(last)") }
        guard process.wait(seconds: 20) == 0 else { throw HarnessError("the recorder did not end well") }
        return RecordCoding.decode(try Disk.read(around.path("records")))
    }

    private func line(within seconds: Double = 30) throws -> String {
        let end = ContinuousClock.now + .seconds(seconds)
        while true {
            if let index = heard.firstIndex(of: UInt8(ascii: "\n")) {
                defer { heard.removeSubrange(...index) }
                return String(decoding: heard[..<index], as: UTF8.self)
            }
            var waiting = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
            let left = end - .now
            guard left > .zero, unsafe poll(&waiting, 1, Int32(left / .milliseconds(1)) + 1) > 0 else {
                LiveMounts.abortAll()
                throw HarnessError("the recorder does not answer; the mount was aborted")
            }
            var chunk = [UInt8](repeating: 0, count: 4096)
            let count = unsafe chunk.withUnsafeMutableBytes { unsafe read(output, $0.baseAddress, $0.count) }
            guard count > 0 else { throw HarnessError("the recorder has ended") }
            heard += chunk[..<count]
        }
    }
}
