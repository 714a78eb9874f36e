import Foundation
import Glibc
import Posix
import TestSupport

/// A FIDO2 security key in software. Its state goes when the value or the process ends.
///
/// Any number may run at once. authenticator.py implements the behaviour.
public final class SoftKey {
    /// Ways in which it behaves, besides the correct one.
    public enum Way: String, Sendable {
        case neverTouched = #"{"touch": "never"}"#
        case denied = #"{"touch": "denied"}"#
        /// It waits for a touch until its behaviour changes.
        case waits = #"{"touch": "hold"}"#
        case withoutHMACSecret = #"{"no-hmac-secret": true}"#
        /// It answers nothing without its PIN.
        case alwaysPIN = #"{"always-pin": true}"#
        /// It derives another secret each time.
        case forgetful = #"{"forgetful": true}"#
        /// It speaks CTAP 2.0: the PIN does not change the secret.
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

    /// The path as `--fido2-device` takes it.
    public var device: String { "socket:" + folder.path("key") }

    /// Its persistent state, with the master secret.
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

    /// The commands that it received, one a line; at "touch ..." it waited for a touch.
    public var log: [String] {
        let data = FileManager.default.contents(atPath: folder.path("log")) ?? Data()
        return String(decoding: data, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    public var touches: Int { log.count { $0.hasPrefix("touch") } }

    /// Unplugs it; its state stays.
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

    /// Whether it is plugged in: it takes one connection at a time, and the socket exists once it listens.
    private func listens() -> Bool {
        (try? UnixSocket.connect(to: folder.path("key"))) != nil
    }
}
