import Foundation
import Glibc
import TestSupport

/// What a process uses, as /proc says. A daemon is not dumpable, so that only root can see its numbers.
struct ProcessUse {
    let pid: pid_t

    static var isTold: Bool { geteuid() == 0 }

    func descriptors() throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/fd").count
    }

    /// Bytes of anonymous memory.
    func anonymous() throws -> Int {
        try bytes("RssAnon")
    }

    /// The largest number of bytes in memory so far.
    func mostResident() throws -> Int {
        try bytes("VmHWM")
    }

    /// For how many descriptors the kernel has made room.
    func roomForDescriptors() throws -> Int {
        try number("FDSize")
    }

    private func bytes(_ field: String) throws -> Int {
        try number(field) * 1024
    }

    private func number(_ field: String) throws -> Int {
        let text = try String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)
        guard let line = text.split(separator: "\n").first(where: { $0.hasPrefix(field + ":") }),
            let number = line.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first.flatMap({ Int($0) })
        else { throw HarnessError("/proc/\(pid)/status: no \(field)") }
        return number
    }

    /// Runs a program beside the process; returns the largest number of descriptors meanwhile.
    func mostDescriptors(during program: String, _ arguments: [String], within seconds: Double) throws -> Int {
        let input = try StreamFile()
        let output = try StreamFile()
        let child = try Child(
            program, arguments, input: input.descriptor, output: output.descriptor, errors: output.descriptor)
        let end = ContinuousClock.now + .seconds(seconds)
        var most = 0
        while true {
            let status = child.wait(seconds: 0.02)
            most = max(most, try descriptors())
            if let status {
                let said = String(decoding: output.contents.prefix(2000), as: UTF8.self)
                guard status == 0 else { throw HarnessError("\(program) \(arguments): exit \(status)\n\(said)") }
                return most
            }
            guard ContinuousClock.now < end else {
                child.send(SIGKILL)
                LiveMounts.abortAll()
                throw HarnessError("\(program) \(arguments): no end after \(seconds) s")
            }
        }
    }

    /// Waits until the process has at most this many descriptors; returns their number in the end.
    func untilDescriptors(atMost count: Int) throws -> Int {
        let end = ContinuousClock.now + .seconds(20)
        while true {
            let now = try descriptors()
            if now <= count || ContinuousClock.now > end { return now }
            usleep(20_000)
        }
    }
}
