import Control
import Failure
import Posix
import Synchronization

/// Stands in for a daemon; its answers depend on the calls alone.
final class FixedService: ControlService {
    static let volume = "00112233445566778899aabbccddeeff"

    private let feed = StatusFeed()
    private let state = Mutex(Status.State.beforeFirstUnlock)

    /// Forgets all calls.
    func reset() { state.withLock { $0 = .beforeFirstUnlock } }

    private func set(_ new: Status.State) -> Status {
        state.withLock { $0 = new }
        return status
    }

    var status: Status {
        Status(
            state: state.withLock { $0 }, classKeys: ["none"], openFiles: ["none": 2], mountPoint: "/mnt",
            vault: "/vault", volume: Self.volume, device: 1, deviceKey: "software", grace: 10, readOnly: false,
            version: "1.0", formatVersion: 1, pid: 1, instance: Self.volume, sequence: 0, changed: 1)
    }

    func subscribe(after position: MonitorPosition?) throws(Failure) -> StatusSubscription {
        try feed.subscribe(startingWith: status, after: position)
    }

    func accept(_ file: Descriptor?) throws(Failure) { if file != nil { throw .notInMount } }

    func classes(ofInodes inodes: [UInt64]) -> [String] { inodes.map { $0 % 2 == 0 ? "complete" : "" } }

    func lock(now: Bool, deep: Bool, begun: inout UInt64?) -> Status {
        begun = now ? nil : 1
        return set(now ? .locked : .locking)
    }

    func hold(_ wanted: Hold) throws(Failure) -> GrantedHold { throw .mountLocked }

    func interruptWaiting() -> WaitingInterruption { WaitingInterruption {} }
    func takeBackLock(_ lock: UInt64) -> Status { set(.unlocked) }

    func unlock(_ opener: Opener, secret: Descriptor) throws(Failure) -> Status {
        guard opener.kind == .passcode else { throw .wrongRecoveryKey }
        return set(.unlocked)
    }

    func changePasscode(
        _ opener: Opener, from old: Descriptor, to new: Descriptor, allowingWeak: Bool
    ) throws(Failure) {
        throw .wrongPasscode()
    }

    var slots: [Slot] { [Slot(id: 1, kind: "passcode", created: 7, name: "mine", isPortable: false)] }

    func addSlot(
        _ new: NewSlotSource, name: String, opening opener: Opener, secret: Descriptor
    ) throws(Failure) -> Int {
        switch new {
        case .escrow(let publicKey): publicKey.count
        case .securityKey(let key, _): key.credential.utf8.count
        case .secret: 2
        }
    }

    func removeSlot(_ slot: Int, opening opener: Opener, secret: Descriptor) throws(Failure) {
        throw slot == 1 ? .lastSlot : .noSuchSlot(slot: slot)
    }

    func testSlot(_ opener: Opener, secret: Descriptor) throws(Failure) -> Int { throw .wrongKey(kind: opener.kind) }

    func rotate(_ new: NewRotation?) throws(Failure) -> Status { status }

    func explain(_ file: Descriptor, _ name: Name?) throws(Failure) -> Explanation {
        Explanation(
            kind: .file, class: "complete", isExplicit: true, directoryClass: nil, wrappedBy: nil,
            hasKeyInMemory: false, actions: [], backingPath: "x", state: status.state)
    }

    func erase(keepingDeviceKey: Bool) throws(Failure) -> String { throw .failed(reason: "kept") }

    func endErased() {}

    func unmount(lazily: Bool) throws(Failure) {
        if !lazily { throw .busy }
    }
}
