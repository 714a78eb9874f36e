import Control
import Crypto
import Logging
import Posix
import Synchronization

/// What the control socket asks of the daemon.
public final class MountService: ControlService {
    private let lock: MountLock
    private let mount: any MountedFileSystem
    private let keyholder: any Keyholder
    private let log: Logger
    /// One derivation at a time: each takes as much memory as the vault's settings say, and clients are many.
    private let derivation = Mutex(())
    /// Shared by who unmounts.
    private let unmounts = ReadWriteLock()

    public init(lock: MountLock, mount: any MountedFileSystem, keyholder: any Keyholder, log: Logger) {
        self.lock = lock
        self.mount = mount
        self.keyholder = keyholder
        self.log = log
    }

    public var status: Status { lock.status }

    public func subscribe(after position: MonitorPosition?) throws(ControlError) -> StatusSubscription {
        try lock.subscribe(after: position)
    }

    public func lock(now: Bool) -> Status {
        lock.lock(now: now)
    }

    public func unlock(_ kind: SecretKind, secret: Descriptor) throws(ControlError) -> Status {
        let secret = try Secret.read(from: secret)
        // Before the passcode is proven: that takes its time, and a lock may come meanwhile.
        let locks = lock.locks
        do throws(ControlError) {
            let keys = try derivation.withLock { _ throws(ControlError) in try keyholder.prove(kind, secret) }
            return try lock.unlock(with: keys, since: locks)
        } catch {
            log.notice("unlock refused: \(error)")
            throw error
        }
    }

    public func changePasscode(from old: Descriptor, to new: Descriptor) throws(ControlError) {
        let old = try Secret.read(from: old)
        let new = try Secret.read(from: new)
        do throws(ControlError) {
            try derivation.withLock { _ throws(ControlError) in try keyholder.changePasscode(from: old, to: new) }
        } catch {
            log.notice("change of the passcode refused: \(error)")
            throw error
        }
        log.notice("passcode changed")
    }

    public func explain(_ file: Descriptor) throws(ControlError) -> Explanation {
        try mount.explain(file, in: lock.status.state)
    }

    public func classes(ofInodes inodes: [UInt64]) -> [String] {
        mount.classes(ofInodes: inodes).map { $0?.name ?? "" }
    }

    public func unmount(lazily: Bool) throws(ControlError) {
        try unmounts.withShared { () throws(ControlError) in try mount.unmount(lazily: lazily) }
        log.info("unmounted on request", metadata: ["lazily": "\(lazily)"])
    }

    /// Returns when nobody is unmounting any more. The kernel ends the session first and then drops what it has cached of
    /// the files, which takes seconds when that is much: who has asked for it is to be answered all the same.
    func waitForUnmounts() { unmounts.withExclusive {} }
}
