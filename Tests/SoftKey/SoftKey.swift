import Foundation
import Glibc
import Posix
import TestSupport

/// A FIDO2 security key in software, gone with all that it knows when it ends, and when the process does.
///
/// Any number at once. authenticator.py is what it does.
public final class SoftKey {
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

    private let folder: TemporaryFolder
    private let pin: String?
    /// It ends when its input ends.
    private var running: LineProgram?

    /// Makes one and plugs it in.
    public init(pin: String? = nil) throws {
        folder = try TemporaryFolder(mode: 0o700)
        self.pin = pin
        try plugIn()
    }

    deinit {
        unplug()
    }

    /// As `--fido2-device` takes it.
    public var device: String { "socket:" + folder.path("key") }

    /// What it must not forget, its master secret among it.
    public var stateFile: String { folder.path("state.json") }

    public func behave(_ way: Way) throws {
        let file = URL(filePath: folder.path("ways.json"))
        try Data(way.rawValue.utf8).write(to: file, options: .atomic)
    }

    /// One touch for a key that waits for it.
    public func touchOnce() throws {
        guard FileManager.default.createFile(atPath: folder.path("touched"), contents: nil) else {
            throw HarnessError("cannot touch the key")
        }
    }

    /// What it was asked, line by line; "touch …" is where it waited for one.
    public var log: [String] {
        let data = FileManager.default.contents(atPath: folder.path("log")) ?? Data()
        return String(decoding: data, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    public var touches: Int { log.count { $0.hasPrefix("touch") } }

    /// Takes it out; what it knows stays.
    public func unplug() {
        guard let key = running else { return }
        running = nil
        key.endInput()
        key.process.wait()
        unsafe unlink(folder.path("key"))
    }

    public func plugIn() throws {
        let script = URL(filePath: #filePath).deletingLastPathComponent().path + "/authenticator.py"
        running = try LineProgram("python3", [script, folder.path] + (pin.map { [$0] } ?? []))
        let end = ContinuousClock.now + .seconds(20)
        while !listens() {
            guard ContinuousClock.now < end else {
                unplug()
                throw HarnessError("the security key in software does not start")
            }
            usleep(5_000)
        }
    }

    /// Whether it is there: it takes one connection at a time, and the socket comes to be when it listens.
    private func listens() -> Bool {
        (try? UnixSocket.connect(to: folder.path("key"))) != nil
    }
}
