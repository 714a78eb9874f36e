import Administration
import Control
import Crypto
import Failure
import Format
import Logging
import Mount
import Posix
import Synchronization

@testable import Daemon

/// A mount without files that records the calls made to it.
final class TestMount: MountedFileSystem {
    struct State {
        var strictKeys = false
        var firstUnlocked = false
        var evictions = 0
        var unmounts: [Bool] = []
        /// Whether it cannot be detached either.
        var isStuck = false
        /// How often all keys of the process were wiped.
        var forgets = 0
        var disconnects = 0
        /// When what each depth of a lock closes is refused, and that of the last change.
        var closing: [LockDepth: Duration] = [:]
        var deadline: Duration?
        /// Whether there was a deadline, after each change.
        var deadlines: [Bool] = []
        /// The depth of each deadline.
        var depths: [LockDepth] = []
    }

    let state = Mutex(State())
    /// Held by a test that delays an eviction.
    let evictionGate = Mutex(())
    /// Held by a test that delays an unmount.
    let unmountGate = Mutex(())

    func run() {}

    var transport: Transport { Transport(.device, because: .notWanted) }

    /// As the gates do it: an earlier deadline stands.
    func setDeadline(_ deadline: Duration, _ depth: LockDepth) {
        state.withLock { state in
            for closed in Self.closed(by: depth) {
                state.closing[closed] = min(state.closing[closed] ?? deadline, deadline)
            }
            note(depth, &state)
        }
    }

    func moveDeadline(to deadline: Duration, _ depth: LockDepth) {
        state.withLock { state in
            for closed in Self.closed(by: depth) { state.closing[closed] = deadline }
            note(depth, &state)
        }
    }

    private static func closed(by depth: LockDepth) -> [LockDepth] { depth == .deep ? [.strict, .deep] : [.strict] }

    private func note(_ depth: LockDepth, _ state: inout State) {
        state.deadline = state.closing[depth]
        state.deadlines.append(true)
        state.depths.append(depth)
    }

    func cancelDeadlines() {
        state.withLock {
            ($0.deadline, $0.closing) = (nil, [:])
            $0.deadlines.append(false)
        }
    }

    func evict(_ depth: LockDepth) -> Eviction {
        evictionGate.withLock { _ in }
        state.withLock {
            $0.strictKeys = false
            if depth == .deep { $0.firstUnlocked = false }
            $0.evictions += 1
        }
        return Eviction(duration: .milliseconds(1), inodes: 2, passes: 2)
    }

    var classKeys: [ProtectionClass] {
        state.withLock { state in
            if state.strictKeys { return ProtectionClass.allCases }
            return state.firstUnlocked ? [.completeUntilFirstUserAuthentication, .none] : [.none]
        }
    }

    var openFiles: [ProtectionClass: Int] { [.complete: 1] }
    var fileKeysInMemory: Int { 1 }
    var waitingRequests: Int { 0 }
    func interruptWaiting() {}
    func allowWaiting() {}
    var evictionProgress: EvictionProgress? { nil }

    var refusals: Refusals? { nil }
    var freshness: Freshness? { nil }
    func accept(_ file: Descriptor?) throws(Failure) { throw .notInMount }
    var rotation: Rotation? { nil }
    func rotate() {}

    func classes(ofInodes inodes: [UInt64]) -> [ProtectionClass?] { inodes.map { $0 == 1 ? .complete : nil } }

    func explain(_ file: Descriptor, _ name: Name?, in state: Status.State) throws(Failure) -> Explanation {
        throw .notInMount
    }

    var isReadOnly: Bool { false }
    func remounted(readOnly: Bool) {}

    func synchronize() {}
    func hurryToEnd() {}

    func forgetAllKeys() { state.withLock { $0.forgets += 1 } }

    func disconnect() { state.withLock { $0.disconnects += 1 } }

    func takeUse() -> Bool { false }

    func unmount(lazily: Bool) throws(Failure) {
        let isStuck = state.withLock { state in
            state.unmounts.append(lazily)
            return state.isStuck
        }
        unmountGate.withLock { _ in }
        if !lazily || isStuck { throw .busy }
    }
}

/// Knows one passcode.
final class TestKeyholder: Keyholder {
    let mount: TestMount
    let passcode = Mutex("correct horse")
    /// Whether it can destroy what releases the keys.
    let isErasable = Mutex(false)

    init(mount: TestMount) {
        self.mount = mount
    }

    func prove(_ opener: Opener, _ secret: borrowing Secret) throws(Failure) -> any ProvenKeys {
        let right = passcode.withLock { $0 }
        guard try secret.equals(Secret(text: right)) else {
            throw opener.kind == .passcode ? .wrongPasscode() : .wrongRecoveryKey
        }
        return TestKeys(mount: mount)
    }

    func changePasscode(
        _ opener: Opener, from old: borrowing Secret, to new: borrowing Secret, allowingWeak: Bool
    ) throws(Failure) {
        _ = try prove(Opener(.passcode), old)
        let text = new.withBytes { bytes in
            unsafe bytes.withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) }
        }
        passcode.withLock { $0 = text }
    }
}

extension TestKeyholder {
    var isRotating: Bool { false }

    func beginRotation(
        opening opener: Opener, _ secret: borrowing Secret, recoveryKey: borrowing Secret?, dropping: [Int]
    ) throws(Failure) {
        _ = try prove(opener, secret)
    }

    func removeCounter() {}

    func erase(keepingDeviceKey: Bool) throws(Failure) -> String {
        guard isErasable.withLock({ $0 }) else { throw .failed(reason: "no") }
        return "destroyed"
    }

    var slots: [Slot] { [] }

    func addSlot(
        _ new: borrowing NewSecret, name: String, opening opener: Opener, _ secret: borrowing Secret
    ) throws(Failure) -> Int {
        _ = try prove(opener, secret)
        return 7
    }

    func removeSlot(_ slot: Int, opening opener: Opener, _ secret: borrowing Secret) throws(Failure) {
        _ = try prove(opener, secret)
        throw .noSuchSlot(slot: slot)
    }

    func testSlot(_ opener: Opener, _ secret: borrowing Secret) throws(Failure) -> Int {
        _ = try prove(opener, secret)
        return 1
    }
}

final class TestKeys: ProvenKeys {
    let mount: TestMount
    let fails: Bool

    init(mount: TestMount, fails: Bool = false) {
        self.mount = mount
        self.fails = fails
    }

    func admit() throws(Failure) {
        if fails { throw .failed(reason: "no memory") }
        mount.state.withLock {
            $0.strictKeys = true
            $0.firstUnlocked = true
            ($0.deadline, $0.closing) = (nil, [:])
        }
    }
}

extension Secret {
    init(text: String) throws(Failure) {
        let bytes = Array(text.utf8)
        do { self = try unsafe Secret(copying: bytes.span.bytes) } catch { throw .failed(reason: "\(error)") }
    }
}

extension MountFacts {
    static func test(
        grace: Duration, forgetAfter: Duration? = nil, longestHold: Duration = .zero, noHolds: String? = nil
    ) -> MountFacts {
        MountFacts(
            mountPoint: "/mnt", vault: "/vault", volume: "00112233445566778899aabbccddeeff", device: 1, grace: grace,
            readOnly: false, version: "1.0", formatVersion: 1, forgetAfter: forgetAfter,
            longestHold: longestHold, noHolds: noHolds)
    }
}

extension Logger {
    static let silent = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
}

/// Runs the lock's timer, as the signal thread does.
func followDeadlines(of lock: MountLock) throws {
    let deadline = lock.deadline
    try startThread { [weak lock] in
        while true {
            _ = try? Poll.readable([deadline], timeout: .milliseconds(50))
            guard let lock else { return }
            lock.deadlinePassed()
        }
    }
}
