import Failure
import Foundation
import Posix
import Testing

@testable import Control

@Suite struct InterfaceTests {
    @Test func `no two members share a name, even of different kinds`() {
        let names = InterfaceDescription.latchkey.split(separator: "\n").compactMap { line -> Substring? in
            guard ["type ", "method ", "error "].contains(where: line.hasPrefix) else { return nil }
            return line.split(separator: " ")[1].prefix { $0 != "(" }
        }
        #expect(names.count == Set(names).count)
        #expect(names.count > 10)
    }

    @Test func `every error comes back as it went`() throws {
        let errors: [Failure] = [
            .wrongPasscode(), .wrongPasscode(guesses: Guesses(left: 2, limit: 4)), .lastGuess(limit: 4),
            .wrongRecoveryKey,
            .wrongKey(kind: .escrowKey), .outdatedCredential(kind: .passcode), .noSuchSlot(slot: 9), .lastSlot,
            .weakPasscode,
            .tooManyGuesses(seconds: 60), .noMoreGuesses, .erased(reason: nil), .erased(reason: "p"),
            .erased(limit: 4, reason: nil),
            .forbidden(reason: "p"),
            .passcodeLength(bytes: 1025), .busy, .mountLocked, .notInMount, .damaged(reason: "a"),
            .tampered(reason: "b"), .failed(reason: "c"), .permissionDenied, .interfaceNotFound(interface: "i"),
            .methodNotFound(method: "m"), .methodNotImplemented(method: "m"), .invalidParameter(parameter: "p"),
            .expectedMore,
        ]
        for error in errors {
            let (name, parameters) = error.wire { "\($0)" }
            #expect(Failure(name: name, parameters: parameters) == error)
            let last = try #require(name.split(separator: ".").last)
            let interface = try #require(InterfaceDescription.named(String(name.dropLast(last.count + 1))))
            #expect(interface.contains("error \(last)"))
        }
        #expect(Set(errors.map { $0.wire { "\($0)" }.name }) == Set(InterfaceDescription.errors.values))
    }

    @Test func `what the interface has no error for is Failed, with words`() {
        let (name, parameters) = Failure.io(.EIO, doing: "reading").wire { _ in "reading: it is broken" }
        #expect(name == "io.latchkey.Failed")
        #expect(Failure(name: name, parameters: parameters) == .failed(reason: "reading: it is broken"))
    }

    /// Other programs know fewer failures than the command: each of these is one that the interface has.
    @Test func `a failure that the interface has no name for is the nearest that it has`() {
        let nearest: [(Failure, Failure)] = [
            (.malformedRecoveryKey, .wrongRecoveryKey), (.notAKeyFile, .wrongKey(kind: .keyFile)),
            (.notAPublicKey, .invalidParameter(parameter: "publicKey")),
            (.notAVault, .damaged(reason: "the keybag is gone")),
        ]
        for (failure, expected) in nearest {
            let (name, parameters) = failure.wire { "\($0)" }
            #expect(Failure(name: name, parameters: parameters) == expected)
        }
    }

    @Test func `an error that is not known, or lacks what it must have, is named`() {
        for name in ["io.latchkey.FromTomorrow", "io.latchkey.", "", "org.example.Busy", "io.latchkey.NoSuchSlot"] {
            #expect(Failure(name: name, parameters: ErrorParameters()) == .unknown(name: name))
        }
    }

    /// A newer command must still be able to lock the mount of an older daemon.
    @Test func `a status of a daemon from before the changes were numbered is read`() throws {
        var message = Message()
        message.bytes = Array(
            """
            {"state":"locked","classKeys":[],"openFiles":{},"fileKeysInMemory":0,"mountPoint":"/m","vault":"/v",
            "volume":"00","device":1,"deviceKey":"software","grace":10,"readOnly":false,"version":"0","formatVersion":1,
            "pid":2}
            """.utf8)
        let status = try message.decode(Status.self)
        #expect(status.state == .locked)
        #expect(StatusChange(nil, status).position == nil)
    }

    /// No UTF-8.
    private static let raw = Path(bytes: Array("/\\".utf8) + [0xff])

    @Test func `a path of any bytes has two keys, one that is text has one`() throws {
        var status = TestService(volume: "00").status
        status.vault = Self.raw
        let message = try Message(status)
        let object = try #require(try JSONSerialization.jsonObject(with: Data(message.bytes)) as? [String: Any])
        #expect(object["vault"] as? String == #"/\\\xff"#)
        #expect(object["vaultBase64"] as? String == "L1z/")
        #expect(object["mountPoint"] as? String == "/mnt" && object["mountPointBase64"] == nil)
        #expect(try message.decode(Status.self).vault == Self.raw)
        // From a daemon of an earlier version, or a hostile one.
        #expect(PathInJSON.path("/v", nil) == "/v" && PathInJSON.path("/v", "no base64!") == "/v")
    }

    @Test func `every field of a status is in the interface`() throws {
        var status = Status(
            state: .locking, graceRemaining: 1, deadline: 2, evictionPhase: .invalidating, inodesToInvalidate: 5,
            lastLockDuration: 0.5, mountPoint: Self.raw, vault: Self.raw, volume: "00", device: 3,
            deviceKey: "software",
            grace: 10, readOnly: true, version: "1", formatVersion: 1, pid: 4, whenLocked: .freeze, freezeTimeout: 8,
            waitingRequests: 9, instance: "01", sequence: 6, changed: 7, hasPasscode: false, lockWhenIdle: 11,
            rotation: Rotation(phase: .renewing, done: 0.5, files: 12, renewed: 13, failed: 14, failure: "why"),
            ending: true, deviceKeyFile: Self.raw, unlockedMemory: 18, guesses: Guesses(left: 15, limit: 16),
            vaultProof: "17", logFile: "/l", refusals: Refusals(count: 19, lastReason: "r", last: 20),
            alwaysReadOnly: true, deep: true, forgetAfter: 23, forgetTime: 24,
            takenOver: true, transport: .device, transportReason: .switchedOff,
            freshness: Freshness(isStrict: true, older: 25, found: 27, moment: 26, hasLostJournal: true),
            holds: [Hold(pid: 28, uid: 29, command: "c", because: "b", seconds: 30)], longestHold: 31,
            synchronised: true, shared: true)
        status.program = Program(path: "/p", device: 21, inode: 22)
        let message = try Message(status)
        let object = try #require(try JSONSerialization.jsonObject(with: Data(message.bytes)) as? [String: Any])
        let text = InterfaceDescription.latchkey
        let start = try #require(text.range(of: "type MountStatus ("))
        let end = try #require(text[start.upperBound...].range(of: "\n)"))
        let fields = text[start.upperBound..<end.lowerBound].split(separator: "\n").map { line in
            String(line.prefix { $0 != ":" }.drop { $0 == " " })
        }
        #expect(Set(fields) == Set(object.keys))
        #expect(try message.decode(Status.self) == status)
    }
}
