import Administration
import Control
import Crypto
public import Failure
import Logging
import Posix
import Synchronization

/// Serves the calls on the control socket.
public final class MountService: ControlService {
    private let lock: MountLock
    private let mount: any MountedFileSystem
    private let keyholder: any Keyholder
    private let log: Logger
    /// Ends the process; tests replace it.
    private let exit: @Sendable () -> Void
    /// One Argon2 derivation at a time: each takes as much memory as the vault's settings say, and there may be many
    /// clients. Lock order: docs/ARCHITECTURE.md.
    private let derivation = Mutex(())
    /// Held shared by calls that unmount, exclusive by the end of the daemon. Lock order: docs/ARCHITECTURE.md.
    private let unmounts = ReadWriteLock()

    public init(
        lock: MountLock, mount: any MountedFileSystem, keyholder: any Keyholder, log: Logger,
        exit: @escaping @Sendable () -> Void = {}
    ) {
        self.exit = exit
        self.lock = lock
        self.mount = mount
        self.keyholder = keyholder
        self.log = log
    }

    public var status: Status { lock.status }

    public func subscribe(after position: MonitorPosition?) throws(Failure) -> StatusSubscription {
        try lock.subscribe(after: position)
    }

    public func lock(now: Bool, deep: Bool, begun: inout UInt64?) -> Status {
        let (status, number) = lock.beginLock(now: now, deep ? .deep : .strict, inPlaceOf: begun)
        begun = number
        return status
    }

    public func takeBackLock(_ lock: UInt64) -> Status { self.lock.takeBack(lock) }

    public func hold(_ wanted: Hold) throws(Failure) -> GrantedHold {
        do throws(Failure) { return try lock.hold(wanted) } catch {
            // A flood of these would push out the rest of the log.
            if case .tooManyHolds = error {} else { log.notice("hold refused: \(error)") }
            throw error
        }
    }

    public func interruptWaiting() -> WaitingInterruption {
        let interruption = WaitingInterruption { [mount] in mount.allowWaiting() }
        mount.interruptWaiting()
        return interruption
    }

    public func unlock(_ opener: Opener, secret: Descriptor) throws(Failure) -> Status {
        let secret = try Secret.read(from: secret)
        // Read before the passcode is proven: that takes time, and a lock may come during it.
        let locks = lock.locks
        do throws(Failure) {
            let keys = try inTurn(opener.kind == .passcode) { () throws(Failure) in
                try keyholder.prove(opener, secret)
            }
            return try lock.unlock(with: keys, since: locks)
        } catch {
            log.notice("unlock refused: \(error)")
            throw error
        }
    }

    public func changePasscode(
        _ opener: Opener, from old: Descriptor, to new: Descriptor, allowingWeak: Bool
    ) throws(Failure) {
        let old = try Secret.read(from: old)
        let new = try Secret.read(from: new)
        try changing("change of the passcode", derives: true) { () throws(Failure) in
            try keyholder.changePasscode(opener, from: old, to: new, allowingWeak: allowingWeak)
        }
        log.notice("passcode changed")
    }

    public var slots: [Slot] { keyholder.slots }

    public func addSlot(
        _ new: NewSlotSource, name: String, opening opener: Opener, secret: Descriptor
    ) throws(Failure) -> Int {
        let secret = try Secret.read(from: secret)
        let new = try NewSecret(reading: new)
        let slot = try changing("adding a slot", derives: opener.kind == .passcode || new.kind == .passcode) {
            () throws(Failure) in
            try keyholder.addSlot(new, name: name, opening: opener, secret)
        }
        log.notice("slot \(slot) added")
        return slot
    }

    public func removeSlot(_ slot: Int, opening opener: Opener, secret: Descriptor) throws(Failure) {
        let secret = try Secret.read(from: secret)
        try changing("removing a slot", derives: opener.kind == .passcode) { () throws(Failure) in
            try keyholder.removeSlot(slot, opening: opener, secret)
        }
        log.notice("slot \(slot) removed")
    }

    public func testSlot(_ opener: Opener, secret: Descriptor) throws(Failure) -> Int {
        let secret = try Secret.read(from: secret)
        return try changing("testing a slot", derives: opener.kind == .passcode) { () throws(Failure) in
            try keyholder.testSlot(opener, secret)
        }
    }

    public func rotate(_ new: NewRotation?) throws(Failure) -> Status {
        guard !status.readOnly else { throw .readOnly }
        guard let new else {
            // Otherwise the rotation has ended by now.
            if keyholder.isRotating { mount.rotate() }
            return status
        }
        guard !keyholder.isRotating else { throw .rotationUnderWay }
        let secret = try Secret.read(from: new.secret)
        let recoveryKey = try new.recoveryKey.map { (key) throws(Failure) in try Secret.read(from: key) }
        try changing("new keys", derives: new.opener.kind == .passcode) { () throws(Failure) in
            try keyholder.beginRotation(
                opening: new.opener, secret, recoveryKey: recoveryKey, dropping: new.dropping)
        }
        log.notice("the vault has new keys")
        // A person with the old keys may have made headers of high generations.
        do throws(Failure) { try mount.accept(nil) } catch {
            if case .unsupported = error {} else { log.warning("cannot forget which versions were seen: \(error)") }
        }
        lock.announce(.rotationDidBegin)
        mount.rotate()
        return status
    }

    /// Runs `body`, which changes the keybag, and logs a failure.
    private func changing<Result>(
        _ doing: Printable, derives: Bool, _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        do throws(Failure) { return try inTurn(derives, body) } catch {
            log.notice("\(doing) refused: \(error)")
            throw error
        }
    }

    /// Runs `body` under `derivation` if it derives a key from a passcode. Other credentials do not wait for it: the
    /// thread that holds it may wait for another process's guess.
    private func inTurn<Result: ~Copyable>(
        _ derives: Bool, _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        guard derives else { return try body() }
        return try derivation.withLock { _ throws(Failure) in try body() }
    }

    public func erase(keepingDeviceKey: Bool) throws(Failure) -> String {
        log.warning("erasing the vault on request")
        // Also if an error is thrown.
        defer {
            keyholder.removeCounter()
            mount.forgetAllKeys()
        }
        // First what is on disk: after a power loss, nothing opens the vault. Without `derivation`: a thread that
        // holds it may wait for another process's guess.
        do throws(Failure) { return try keyholder.erase(keepingDeviceKey: keepingDeviceKey) } catch {
            log.warning("not all of it could be destroyed: \(error)")
            throw error
        }
    }

    public func endErased() {
        log.warning("the vault is erased")
        // After a wrong passcode too many, nothing has removed it yet.
        keyholder.removeCounter()
        mount.forgetAllKeys()
        // Requests that used a key are blocked for good: the unmount must not wait for their replies.
        mount.disconnect()
        // No mount without a daemon may stay in the tree: every call on it would fail.
        try? mount.unmount(lazily: true)
        exit()
    }

    public func explain(_ file: Descriptor, _ name: Name?) throws(Failure) -> Explanation {
        let status = lock.status
        var explanation = try mount.explain(file, name, in: status.state)
        if status.hasPasscode == false, let key = explanation.wrappedBy {
            explanation.wrappedBy = "\(key); not protected: encrypted with the device key alone"
        }
        return explanation
    }

    public func accept(_ file: Descriptor?) throws(Failure) {
        try mount.accept(file)
        if file == nil { log.notice("the vault is accepted as it is") }
    }

    public func classes(ofInodes inodes: [UInt64]) -> [String] {
        mount.classes(ofInodes: inodes).map { $0?.name ?? "" }
    }

    /// Seconds that a lazy unmount waits for the eviction, which is faster while the mount is in the tree.
    private static let patienceForLock = 5.0

    public func unmount(lazily: Bool) throws(Failure) {
        // Programs may keep files open for a long time, and the mount cannot be seen any more, so the user would forget
        // about keys that stayed in memory.
        if lazily { lock.lockAndWait(seconds: Self.patienceForLock) }
        try unmounts.withShared { () throws(Failure) in try mount.unmount(lazily: lazily) }
        if lazily { lock.noteDetached() }
        log.info("unmounted on request", metadata: ["lazily": "\(lazily)"])
    }

    /// Returns when no unmount is under way. The kernel first ends the session, then drops its cached pages, which may
    /// take seconds: a client that asked for the unmount still gets its reply.
    func waitForUnmounts() { unmounts.withExclusive {} }
}

extension NewSecret {
    /// Reads what a client has passed.
    init(reading source: NewSlotSource) throws(Failure) {
        switch source {
        case .secret(let kind, let descriptor, let allowingWeak):
            self.init(kind, try Secret.read(from: descriptor), allowingWeak: allowingWeak)
        case .escrow(let publicKey): self.init(escrow: publicKey)
        case .securityKey(let key, let descriptor): self.init(key, try Secret.read(from: descriptor))
        }
    }
}
