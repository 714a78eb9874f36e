import Foundation
import Glibc

/// A FIDO2 security key in software, gone with all that it knows when it ends, and when the process does.
///
/// Any number at once. authenticator.py is what it does.
@safe
public final class SoftKey {
    /// Why there is none.
    public struct Failure: Error, CustomStringConvertible {
        public let description: String
    }

    /// How it behaves, besides as it should.
    public enum Way: String, Sendable {
        case neverTouched = #"{"touch": "never"}"#
        case denied = #"{"touch": "denied"}"#
        /// It waits for a touch until it has another way.
        case waits = #"{"touch": "hold"}"#
        case withoutHMACSecret = #"{"no-hmac-secret": true}"#
        /// It says nothing without its PIN.
        case alwaysPIN = #"{"always-pin": true}"#
        /// It derives another secret each time.
        case forgetful = #"{"forgetful": true}"#
        /// It is of CTAP 2.0: the PIN makes no other secret.
        case old = #"{"old": true}"#
        case asItShould = "{}"
    }

    private struct Running: Sendable {
        let process: pid_t
        /// It ends when nobody holds the other end any more.
        let leash: Int32
    }

    private let folder: String
    private let pin: String?
    private var running: Running?

    /// Makes one and plugs it in.
    public init(pin: String? = nil) throws {
        // Names of sockets have less than 108 bytes.
        var template = Array("\(FileManager.default.temporaryDirectory.path)/key.XXXXXX".utf8CString)
        guard unsafe mkdtemp(&template) != nil else { throw Failure(description: "mkdtemp: errno \(errno)") }
        folder = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
        self.pin = pin
        try plugIn()
    }

    deinit {
        unplug()
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// As `--fido2-device` takes it.
    public var device: String { "socket:" + folder + "/key" }

    /// What it must not forget, its master secret among it.
    public var stateFile: String { folder + "/state.json" }

    public func behave(_ way: Way) throws {
        let file = URL(filePath: folder + "/ways.json")
        try Data(way.rawValue.utf8).write(to: file, options: .atomic)
    }

    /// One touch for a key that waits for it.
    public func touchOnce() throws {
        guard FileManager.default.createFile(atPath: folder + "/touched", contents: nil) else {
            throw Failure(description: "cannot touch the key")
        }
    }

    /// What it was asked, line by line; "touch …" is where it waited for one.
    public var log: [String] {
        let data = FileManager.default.contents(atPath: folder + "/log") ?? Data()
        return String(decoding: data, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    public var touches: Int { log.count { $0.hasPrefix("touch") } }

    /// Takes it out; what it knows stays.
    public func unplug() {
        guard let key = running else { return }
        running = nil
        close(key.leash)
        while waitpid(key.process, nil, 0) < 0 && errno == EINTR {}
        unsafe unlink(folder + "/key")
    }

    public func plugIn() throws {
        var ends: [Int32] = [-1, -1]
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        guard unsafe socketpair(AF_UNIX, kind, 0, &ends) == 0 else {
            throw Failure(description: "socketpair: errno \(errno)")
        }
        let script = URL(filePath: #filePath).deletingLastPathComponent().path + "/authenticator.py"
        let code: Int32
        let process: pid_t
        (code, process) = Self.spawn(["python3", script, folder] + (pin.map { [$0] } ?? []), input: ends[1])
        close(ends[1])
        guard code == 0 else {
            close(ends[0])
            throw Failure(description: "cannot start python3: errno \(code)")
        }
        running = Running(process: process, leash: ends[0])
        let end = ContinuousClock.now + .seconds(20)
        while !listens() {
            guard ContinuousClock.now < end else {
                unplug()
                throw Failure(description: "the security key in software does not start")
            }
            usleep(5_000)
        }
    }

    private static func spawn(_ words: [String], input: Int32) -> (code: Int32, process: pid_t) {
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_adddup2(&actions, input, 0)
        let line = unsafe words.map { unsafe strdup($0) } + [nil]
        defer { unsafe line.forEach { unsafe free($0) } }
        var process: pid_t = 0
        return (unsafe posix_spawnp(&process, words[0], &actions, nil, line, environ), process)
    }

    /// Whether it is there: it takes one connection at a time, and the socket comes to be when it listens.
    private func listens() -> Bool {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let name = Array((folder + "/key").utf8)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: name) }
        let socket = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard socket >= 0 else { return false }
        defer { close(socket) }
        return unsafe withUnsafePointer(to: &address) {
            unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe connect(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
    }
}
