import Control
import Crypto
import Failure
import Glibc
import Posix
import Synchronization
import Testing

@testable import Daemon

@Suite(.timeLimit(.minutes(10))) struct MountServiceTests {
    let service: MountService

    init() throws {
        let mount = TestMount()
        let lock = try MountLock(mount: mount, facts: .test(grace: .seconds(10)), log: .silent)
        service = MountService(lock: lock, mount: mount, keyholder: TestKeyholder(mount: mount), log: .silent)
    }

    /// The reading end of a pipe that holds the text, all of it written.
    private func pipe(_ text: String) throws -> Descriptor {
        let pipe = try Pipe()
        let bytes = Array(text.utf8)
        try unsafe pipe.writeEnd.write(bytes.span.bytes)
        return pipe.readEnd
    }

    @Test func `a passcode unlocks, with or without a newline`() throws {
        #expect(try service.unlock(Opener(.passcode), secret: pipe("correct horse")).state == .unlocked)
        #expect(try service.unlock(Opener(.passcode), secret: pipe("correct horse\n")).state == .unlocked)
    }

    @Test func `a wrong one changes nothing`() throws {
        #expect(throws: Failure.wrongPasscode()) { try service.unlock(Opener(.passcode), secret: pipe("horse")) }
        #expect(throws: Failure.wrongRecoveryKey) {
            try service.unlock(Opener(.recoveryKey), secret: pipe("horse"))
        }
        #expect(throws: Failure.wrongPasscode()) {
            try service.unlock(Opener(.passcode), secret: pipe("correct horse\n\n"))
        }
        #expect(service.status.state == .beforeFirstUnlock)
    }

    @Test(arguments: [(0, 0), (1025, 1025), (10_000, 1026)])
    func `a passcode has 1 to 1024 bytes`(_ length: Int, _ told: Int) throws {
        #expect(throws: Failure.passcodeLength(bytes: told)) {
            try service.unlock(Opener(.passcode), secret: pipe(String(repeating: "x", count: length)))
        }
        #expect(throws: Failure.wrongPasscode()) {
            try service.unlock(Opener(.passcode), secret: pipe(String(repeating: "x", count: 1024) + "\n"))
        }
    }

    @Test func `a passcode that never comes is not waited for`() throws {
        let pipe = try Pipe()
        #expect(throws: Failure.secretNotInTime) {
            _ = try Secret.read(from: pipe.readEnd, patience: .milliseconds(50))
        }
        withExtendedLifetime(pipe) {}
    }

    @Test func `only the old passcode allows a new one`() throws {
        #expect(throws: Failure.wrongPasscode()) {
            try service.changePasscode(Opener(.passcode), from: pipe("horse"), to: pipe("battery"), allowingWeak: false)
        }
        try service.changePasscode(
            Opener(.passcode), from: pipe("correct horse"), to: pipe("battery"), allowingWeak: false)
        #expect(throws: Failure.wrongPasscode()) {
            try service.unlock(Opener(.passcode), secret: pipe("correct horse"))
        }
        #expect(try service.unlock(Opener(.passcode), secret: pipe("battery")).state == .unlocked)
    }

    /// The keys are wiped before the answer, whether the erasure worked or not.
    @Test(arguments: [false, true]) func `an erased vault's keys are not in memory`(_ isErasable: Bool) throws {
        let mount = TestMount()
        let lock = try MountLock(mount: mount, facts: .test(grace: .seconds(10)), log: .silent)
        let keyholder = TestKeyholder(mount: mount)
        keyholder.isErasable.withLock { $0 = isErasable }
        let service = MountService(lock: lock, mount: mount, keyholder: keyholder, log: .silent)
        let isErased = (try? service.erase(keepingDeviceKey: false)) != nil
        #expect(isErased == isErasable)
        #expect(mount.state.withLock { $0.forgets } == 1)
    }

    /// The kernel may need long after the end of the session. The daemon does not exit before that is done.
    @Test func `an unmount is answered before the daemon ends`() throws {
        let mount = TestMount()
        let lock = try MountLock(mount: mount, facts: .test(grace: .seconds(10)), log: .silent)
        let service = MountService(lock: lock, mount: mount, keyholder: TestKeyholder(mount: mount), log: .silent)
        let ended = Mutex(false)
        try mount.unmountGate.withLock { _ in
            try startThread { try? service.unmount(lazily: true) }
            try soon { mount.state.withLock { !$0.unmounts.isEmpty } }
            try startThread {
                service.waitForUnmounts()
                ended.withLock { $0 = true }
            }
            // Long enough for a daemon that does not wait to end.
            usleep(200_000)
            #expect(!ended.withLock { $0 })
        }
        try soon { ended.withLock { $0 } }
    }

    /// Returns when the condition holds.
    private func soon(_ isTrue: () -> Bool) throws {
        let end = ContinuousClock.now + .seconds(20)
        while !isTrue() {
            try #require(ContinuousClock.now < end, "it does not come true")
            usleep(1000)
        }
    }
}
