import Control
import Crypto
import Failure
import Format
import Glibc
import Keybag
import Logging
import Mount
import Posix
import Vault

/// A vault's mount, as the daemon drives it.
final class VaultMount: MountedFileSystem {
    private let mount: ProtectedMount
    private let mountPoint: Path
    private let threads: Int
    private let log: Logger
    private let trouble: String?

    /// - Parameter remembersNothing: why nothing can be remembered of the vault's files.
    init(
        _ mount: ProtectedMount, at mountPoint: Path, threads: Int, remembersNothing trouble: String? = nil,
        log: Logger
    ) {
        self.trouble = trouble
        self.mount = mount
        self.mountPoint = mountPoint
        self.threads = threads
        self.log = log
    }

    /// Whether no other machine works with a shared vault any more, after the end of this mount.
    var isLastOfShared: Bool { mount.isLastOfShared }

    /// `st_dev` of the files in the mount.
    var device: UInt64 { mount.deviceNumber }

    /// Installs class keys and opens all classes; false if a rotation has begun since, so that they are the previous
    /// ones.
    func admit(_ keys: consuming ClassKeys) -> Bool { mount.admit(keys) }

    /// Called before `run`: rewraps files for the new keys while the keybag has previous ones.
    ///
    /// - Parameter finished: called when the previous ones are removed.
    func giveNewKeys(of keybag: OpenKeybag, finished: @escaping @Sendable () -> Void) {
        mount.giveNewKeys(
            while: { keybag.isRotating }, finish: { () throws(Failure) in try keybag.finishRotation() },
            finished: finished)
    }

    var rotation: Rotation? { mount.rotation.map { Rotation($0) } }

    func rotate() { mount.rotate() }

    /// Starts the threads that serve requests.
    ///
    /// - Throws: why a thread cannot be made; then no request is served.
    func start() throws(Errno) { try mount.start(threads: threads) }

    func run() {
        do {
            try mount.run()
        } catch {
            log.error("the mount has ended: \(error)")
        }
    }

    func setDeadline(_ deadline: Duration, _ depth: LockDepth) { mount.setDeadline(deadline, depth) }

    func moveDeadline(to deadline: Duration, _ depth: LockDepth) { mount.moveDeadline(to: deadline, depth) }

    func cancelDeadlines() { mount.cancelDeadlines() }

    func evict(_ depth: LockDepth) -> Eviction {
        let report = mount.evict(depth)
        return Eviction(duration: report.duration, inodes: report.inodes, passes: report.passes)
    }

    var classKeys: [ProtectionClass] { mount.classKeys }
    var openFiles: [ProtectionClass: Int] { mount.openFiles }
    var fileKeysInMemory: Int { mount.fileKeysInMemory }
    var waitingRequests: Int { mount.waitingRequests }
    func interruptWaiting() { mount.interruptWaiting() }
    func allowWaiting() { mount.allowWaiting() }
    var refusals: Refusals? { mount.refusals.map { Refusals($0) } }
    var evictionProgress: EvictionProgress? { mount.evictionProgress.map { EvictionProgress($0) } }

    func classes(ofInodes inodes: [UInt64]) -> [ProtectionClass?] { mount.classes(ofInodes: inodes) }

    func explain(_ file: Descriptor, _ name: Name?, in state: Status.State) throws(Failure) -> Explanation {
        do throws(VaultError) {
            return Explanation(try mount.explain(file, name), in: state)
        } catch {
            switch error {
            case .system(.ENOENT): throw .notInMount
            case .system(let errno): throw .failed(reason: "\(errno)")
            case .locked: throw .classLocked
            case .damaged(let reason): throw .damaged(reason: reason)
            case .unsupported(let reason): throw .unsupported(reason: reason)
            case .unseen(let reason), .stale(let reason): throw .failed(reason: reason)
            }
        }
    }

    var freshness: Freshness? {
        mount.freshnessSummary.map { Freshness($0) }
            ?? trouble.map { Freshness(isStrict: false, older: 0, hasLostJournal: false, trouble: $0) }
    }

    /// Calls `notice` when files were found that are older than what this machine has seen.
    func noticeStale(_ notice: @escaping @Sendable () -> Void) { mount.noticeStale(notice) }

    func accept(_ file: Descriptor?) throws(Failure) {
        do throws(VaultError) { try mount.accept(file) } catch {
            switch error {
            case .system(.ENOENT): throw .notInMount
            case .system(.EROFS): throw .readOnly
            case .system(let errno): throw .failed(reason: "\(errno)")
            case .locked: throw .classLocked
            case .damaged(let reason): throw .damaged(reason: reason)
            case .unsupported(let reason): throw .unsupported(reason: reason)
            case .unseen(let reason), .stale(let reason): throw .failed(reason: reason)
            }
        }
    }

    func takeUse() -> Bool { mount.takeUse() }

    var transport: Transport {
        switch mount.transport {
        case .ring: Transport(.ring)
        case .open: Transport(.device)
        case .device(.notWanted): Transport(.device, because: mount.freezes ? .freezes : .notWanted)
        case .device(.notSupported): Transport(.device, because: .notSupported)
        case .device(.switchedOff): Transport(.device, because: .switchedOff)
        case .device(.refused(.EPERM)): Transport(.device, because: .forbidden)
        case .device(.refused): Transport(.device, because: .refused)
        }
    }

    func forgetAllKeys() {
        if !SecureHeap.wipeEverything() { log.error("cannot wipe the keys before the end") }
    }

    /// Seconds until the process is ended after `disconnect`, if it has not ended by itself.
    private static let patienceForEnd: UInt32 = 10

    func disconnect() {
        // SIGALRM ends the process if a blocked thread holds a lock.
        alarm(Self.patienceForEnd)
        do { try mount.disconnect() } catch { log.warning("cannot end the requests that are under way: \(error)") }
    }

    func hurryToEnd() { mount.hurryToEnd() }

    var isReadOnly: Bool { mount.isReadOnly }

    func remounted(readOnly: Bool) {
        do {
            try mount.remounted(readOnly: readOnly)
        } catch {
            log.error("cannot make the vault durable: \(error)")
        }
    }

    func synchronize() {
        do {
            try mount.synchronize()
        } catch {
            log.error("cannot make the vault durable: \(error)")
        }
    }

    /// Removes a mount that no thread serves: any program that looks at it would hang.
    ///
    /// - Returns: `error`, or `mountLeftBehind` with it if the mount could not be removed.
    func unmountUnserved(because error: Failure) -> Failure {
        // If fusermount3 cannot be started, threads of this process may be about to end and free a process.
        for _ in 0..<100 {
            do throws(Errno) {
                try mount.unmount(lazily: true)
                return error
            } catch .EAGAIN {
                usleep(20_000)
            } catch { break }
        }
        return .mountLeftBehind(error, at: mountPoint)
    }

    func unmount(lazily: Bool) throws(Failure) {
        do throws(Errno) {
            try mount.unmount(lazily: lazily)
        } catch .EBUSY {
            throw .busy
        } catch {
            throw .failed(reason: "\(error)")
        }
    }
}

extension Rotation {
    fileprivate init(_ rotation: ProtectedMount.Rotation) {
        let progress = rotation.progress
        let phase: Phase =
            switch rotation.step {
            case .waiting: .waiting
            case .renewing: .renewing
            case .finishing: .finishing
            }
        self.init(
            phase: phase, done: min(progress.fraction, 1), files: Int(clamping: progress.files),
            renewed: Int(clamping: progress.renewed), failed: Int(clamping: progress.failed), failure: progress.failure)
    }
}

extension Refusals {
    fileprivate init(_ summary: RefusalSummary) {
        self.init(
            count: summary.count, lastReason: summary.lastReason, last: Duration(summary.last).seconds)
    }
}

extension Freshness {
    fileprivate init(_ summary: FreshnessSummary) {
        self.init(
            isStrict: summary.answer == .refuse, older: summary.stale,
            found: summary.found.map { Duration($0).seconds }, moment: summary.moment.map { Double($0) },
            hasLostJournal: summary.hasLostJournal, files: summary.paths.map(\.text))
    }
}

extension EvictionProgress {
    fileprivate init(_ progress: EvictionStep) {
        switch progress {
        case .flushing: self.init(phase: .flushing)
        case .invalidating(let left): self.init(phase: .invalidating, inodesToInvalidate: left)
        case .wiping: self.init(phase: .wiping)
        }
    }
}

extension MountEvent {
    func write(to log: Logger) {
        switch self {
        case .damage(let path, let reason, let stored):
            var metadata: Logger.Metadata = ["path": .stringConvertible(path), "reason": "\(reason)"]
            if let stored { metadata["stored"] = .stringConvertible("\(stored)" as Printable) }
            log.error("refused", metadata: metadata)
        case .lost(let path, let reason):
            log.error("not durable", metadata: ["path": .stringConvertible(path), "reason": "\(reason)"])
        case .trouble(let text, let first):
            log.warning("\(text.text)", metadata: first.map { ["first": "\($0)"] } ?? [:])
        case .stale(let path, let stale):
            var metadata: Logger.Metadata = [
                "path": .stringConvertible(path),
                "seen": "\(Timespec(seconds: Int64(stale.remembered.time), nanoseconds: 0).date)",
            ]
            switch stale.place {
            case .entry(_, let stored, _): metadata["stored"] = .stringConvertible("\(stored)" as Printable)
            // find(1) with -inum tells which backing file that is.
            case .inode(let number): metadata["inode"] = "\(number)"
            }
            if let written = stale.written {
                metadata["written"] = "\(Timespec(seconds: written, nanoseconds: 0).date)"
            }
            log.warning("\(stale.reason)", metadata: metadata)
        case .staleVault(let moment):
            if let moment {
                log.warning(
                    "the vault looks as it did in the past: older than what this machine has seen",
                    metadata: ["moment": "\(Timespec(seconds: moment, nanoseconds: 0).date)"])
            } else {
                log.warning(
                    "the journal is older than what this machine has seen, or gone: what was synced last may be missing"
                )
            }
        case .forbidden(let path, let reason):
            log.warning(
                "a class was not set", metadata: ["path": .stringConvertible(path), "reason": "\(reason)"])
        }
    }
}
