import Failure
import Foundation
import Glibc
import Posix
import Synchronization

@testable import Control

/// Stands in for the daemon; it only remembers its state.
final class TestService: ControlService {
    private struct State {
        var status: Status
        var secrets: [[UInt8]] = []
        var questions = 0
        var interruptions = 0
        var holds: [UInt64: (hold: Hold, ending: HoldEnding)] = [:]
        var holdsBegun: UInt64 = 0
    }

    private let state: Mutex<State>
    let feed = StatusFeed()
    static let instance = "0123456789abcdef0123456789abcdef"
    static let passcode = Array("correct horse".utf8)

    init(volume: String, device: UInt64 = 1, vault: String = "/vault") {
        state = Mutex(
            State(
                status: Status(
                    state: .beforeFirstUnlock, classKeys: ["none"], openFiles: ["none": 2], mountPoint: "/mnt",
                    vault: Path(vault), volume: volume, device: device, deviceKey: "software", grace: 10,
                    readOnly: false,
                    version: "1.0", formatVersion: 1, pid: Int(getpid()), instance: Self.instance, sequence: 0)))
    }

    var status: Status {
        state.withLock { state in
            state.questions += 1
            return state.status
        }
    }

    /// How often it was asked for its status.
    var questions: Int { state.withLock { $0.questions } }

    /// How many connections want no request to wait.
    var interruptions: Int { state.withLock { $0.interruptions } }

    func set(_ new: Status.State) {
        state.withLock { state in
            state.status.state = new
            state.status.sequence! += 1
            feed.publish(StatusChange(Self.event(new), state.status))
        }
    }

    private static func event(_ state: Status.State) -> StatusChange.Event? {
        switch state {
        case .beforeFirstUnlock: nil
        case .unlocked: .didBecomeAvailable
        case .locking: .willBecomeUnavailable
        case .locked: .didBecomeUnavailable
        }
    }

    func subscribe(after position: MonitorPosition?) throws(Failure) -> StatusSubscription {
        try state.withLock { state throws(Failure) in
            try feed.subscribe(startingWith: state.status, after: position)
        }
    }

    func accept(_ file: Descriptor?) throws(Failure) { throw .notInMount }

    func classes(ofInodes inodes: [UInt64]) -> [String] { inodes.map { $0 % 2 == 0 ? "complete" : "" } }

    func lock(now: Bool, deep: Bool, begun: inout UInt64?) -> Status {
        set(now ? .locked : .locking)
        begun = now ? nil : 7
        return status
    }

    /// Who holds now, the first to ask first.
    var holds: [Hold] { state.withLock { $0.holds.sorted { $0.key < $1.key }.map(\.value.hold) } }

    /// What the status says of a lock under way.
    func set(graceRemaining: Double, holds: [Hold]?) {
        state.withLock { ($0.status.graceRemaining, $0.status.holds) = (graceRemaining, holds) }
    }

    /// Ends all holds, as a lock without a grace period does.
    func endHolds() {
        state.withLock { state in
            for hold in state.holds.values { hold.ending.end(.locked) }
            state.holds = [:]
        }
    }

    /// Grants a minute.
    func hold(_ wanted: Hold) throws(Failure) -> GrantedHold {
        guard status.state != .locked else { throw .mountLocked }
        let ending = try HoldEnding()
        let number = state.withLock { state in
            state.holdsBegun += 1
            state.holds[state.holdsBegun] = (wanted, ending)
            return state.holdsBegun
        }
        return GrantedHold(seconds: min(wanted.seconds, 60), ending: ending) { [weak self] in
            self?.state.withLock { state in state.holds[number] = nil }
            self?.feed.publish(StatusChange(.didEndHold, self!.status))
        }
    }

    func interruptWaiting() -> WaitingInterruption {
        state.withLock { $0.interruptions += 1 }
        return WaitingInterruption { [weak self] in self?.state.withLock { $0.interruptions -= 1 } }
    }

    func takeBackLock(_ lock: UInt64) -> Status {
        if lock == 7, status.state == .locking { set(.unlocked) }
        return status
    }

    func unlock(_ opener: Opener, secret: Descriptor) throws(Failure) -> Status {
        guard contents(of: secret) == Self.passcode else { throw .wrongPasscode() }
        set(.unlocked)
        return status
    }

    func changePasscode(
        _ opener: Opener, from old: Descriptor, to new: Descriptor, allowingWeak: Bool
    ) throws(Failure) {
        guard contents(of: old) == Self.passcode else { throw .wrongPasscode() }
        let passcode = contents(of: new)
        guard !passcode.isEmpty else { throw .passcodeLength(bytes: 0) }
        guard allowingWeak || passcode != Array("1234".utf8) else { throw .weakPasscode }
    }

    var slots: [Slot] { [Slot(id: 1, kind: "passcode", created: 7, name: "mine", isPortable: false)] }

    func addSlot(
        _ new: NewSlotSource, name: String, opening opener: Opener, secret: Descriptor
    ) throws(Failure) -> Int {
        guard contents(of: secret) == Self.passcode else { throw .wrongKey(kind: .keyFile) }
        switch new {
        case .escrow(let publicKey): return publicKey.count
        case .securityKey(let key, let descriptor): return contents(of: descriptor).count + key.credential.utf8.count
        case .secret(_, let secret, _): return contents(of: secret).count + name.count
        }
    }

    func removeSlot(_ slot: Int, opening opener: Opener, secret: Descriptor) throws(Failure) {
        throw slot == 1 ? .lastSlot : .noSuchSlot(slot: slot)
    }

    func testSlot(_ opener: Opener, secret: Descriptor) throws(Failure) -> Int {
        guard opener.kind == .keyFile else { throw .wrongPasscode() }
        return 1
    }

    func rotate(_ new: NewRotation?) throws(Failure) -> Status {
        if let new {
            guard contents(of: new.secret) == Self.passcode else { throw .wrongPasscode() }
            let key = new.recoveryKey.map { contents(of: $0).count } ?? 0
            state.withLock { $0.status.rotation = Rotation(phase: .renewing, files: new.dropping.count, renewed: key) }
        }
        return status
    }

    func explain(_ file: Descriptor, _ name: Name?) throws(Failure) -> Explanation {
        throw name.map { .damaged(reason: "\($0)") } ?? .notInMount
    }

    func erase(keepingDeviceKey: Bool) throws(Failure) -> String { throw .failed(reason: "kept") }

    func endErased() {}

    func unmount(lazily: Bool) throws(Failure) {
        if !lazily { throw .busy }
    }

    private func contents(of file: Descriptor) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 2048)
        let count = unsafe read(file.number, &bytes, bytes.count)
        return Array(bytes.prefix(max(0, count)))
    }
}

/// A folder of sockets with one server in it, gone at the end of the test.
final class ServedFolder: Sendable {
    let directory: SocketDirectory
    let service: TestService
    let server: ControlServer
    static let volume = "00112233445566778899aabbccddeeff"

    init(limits: ControlServer.Limits = ControlServer.Limits(), device: UInt64 = 1, vault: String = "/vault") throws {
        directory = try SocketDirectory.temporary()
        service = TestService(volume: Self.volume, device: device, vault: vault)
        server = try ControlServer(
            service: service, volume: Self.volume, device: device, in: directory, version: "1.0", limits: limits)
        try server.start()
    }

    deinit {
        server.stop()
        try? FileManager.default.removeItem(atPath: directory.path)
    }

    func client() throws -> ControlClient { try ControlClient(socket: server.path) }

    /// A bare stream to the server.
    func stream() throws -> MessageStream { MessageStream(socket: try connect(to: server.path, patience: 5)) }
}

extension SocketDirectory {
    /// A fresh folder whose path is too long for a socket's address.
    static func temporary() throws -> SocketDirectory {
        let path = NSTemporaryDirectory() + "latchkey-control-" + String(repeating: "x", count: 90) + UUID().uuidString
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        return SocketDirectory(path: path)
    }
}

/// A file in memory that holds the bytes, to be read from its start.
func memoryFile(_ bytes: [UInt8]) throws -> Descriptor {
    let file = try Descriptor.memoryFile("secret")
    _ = unsafe write(file.number, bytes, bytes.count)
    lseek(file.number, 0, Int32(SEEK_SET))
    return file
}
