import Control
import Failure
import Glibc
import Logging
import Posix
import Synchronization

/// The thread that waits for signals and the deadline, and checks whether the mount is used and is still in the tree.
///
/// SIGUSR1 locks, with the grace period. SIGTERM, SIGINT and SIGHUP unmount. If the mount is in use, it is unmounted
/// lazily and locked with the grace period, and the daemon goes on until the last use ends. The same happens if another
/// program has detached the mount. A second SIGTERM or SIGINT makes all written data durable and ends the process at
/// once, or after some seconds if the vault's disk does not answer. SIGHUP does not count: at the end of a login
/// systemd sends it together with SIGTERM, in any order.
public final class SignalThread: Sendable {
    private let signals: SignalDescriptor
    private let lock: MountLock
    private let mount: any MountedFileSystem
    private let log: Logger
    /// The time without use after which the mount locks itself.
    private let idleLimit: Duration?
    private let watch: MountWatch?
    // A separate thread: umount(2) may wait for the file system, and must not delay the deadline.
    private let unmounter: OnDemandWorker
    // Likewise for the vault's disk, at the end.
    private let ender: OnDemandWorker
    // A separate thread too: it waits for the vault's disk.
    private let remounter: OnDemandWorker?
    /// Ends the process; tests replace it.
    private let exit: @Sendable () -> Void

    public static let handled: [Int32] = [SIGUSR1, SIGTERM, SIGINT, SIGHUP]

    /// - Parameter signals: blocks `handled`; it must be made before any thread.
    init(
        signals: SignalDescriptor, unmounter: OnDemandWorker, ender: OnDemandWorker,
        remounter: OnDemandWorker? = nil, lock: MountLock, mount: any MountedFileSystem, log: Logger,
        idleLimit: Duration? = nil, watch: MountWatch? = nil, exit: @escaping @Sendable () -> Void
    ) {
        self.signals = signals
        self.unmounter = unmounter
        self.ender = ender
        self.remounter = remounter
        self.lock = lock
        self.mount = mount
        self.log = log
        self.idleLimit = idleLimit
        self.watch = watch
        self.exit = exit
    }

    public func start() throws(Errno) {
        try unmounter.start { self.unmount() }
        try ender.start {
            self.mount.hurryToEnd()
            self.mount.synchronize()
            // A thread that the disk does not answer keeps the memory of the process that has ended.
            self.mount.forgetAllKeys()
            self.exit()
        }
        try remounter?.start { self.followRemount() }
        try startThread { self.run() }
    }

    /// What was asked for by signals that end the mount.
    private enum Ending { case no, hungUp, asked }

    private func run() {
        var ending = Ending.no
        var idle = idleLimit.map { IdleWatch(limit: $0, now: BootClock.now) }
        var watched = watch
        while true {
            do {
                let ready = try Poll.readable(
                    [lock.deadline, signals.descriptor], changing: watched.map { [$0.descriptor] } ?? [],
                    timeout: idle?.interval)
                look(&idle)
                if ready.contains(0) { lock.deadlinePassed() }
                if ready.contains(1) { take(try signals.next(), ending: &ending) }
                if ready.contains(2) { lookAtPlace(&watched) }
            } catch {
                // Without this thread the grace period would never end.
                fatalError("cannot wait for signals: \(error)")
            }
        }
    }

    private func look(_ watch: inout IdleWatch?) {
        guard watch != nil else { return }
        let isUnlocked = lock.status.state == .unlocked
        guard watch!.look(wasUsed: mount.takeUse(), isUnlocked: isUnlocked, now: BootClock.now) else { return }
        log.notice("locking: the mount was idle")
        lock.lock(now: false)
    }

    private func lookAtPlace(_ watched: inout MountWatch?) {
        switch watched?.place {
        case nil: break
        case .gone:
            log.notice("the mount was detached: it locks, and ends when no program uses its files")
            lock.noteDetached()
            watched = nil
        case .mounted: remounter?.wake()
        }
    }

    private func followRemount() {
        guard case .mounted(let readOnly)? = watch?.place, readOnly != mount.isReadOnly else { return }
        log.notice(readOnly ? "remounted read-only" : "remounted for writing")
        mount.remounted(readOnly: readOnly)
    }

    private func take(_ signal: Int32, ending: inout Ending) {
        if signal == SIGUSR1 {
            log.notice("locking: signal SIGUSR1")
            lock.lock(now: false)
        } else if ending == .asked, signal != SIGHUP {
            log.warning("ending at once: a second signal", metadata: ["signal": "\(signal)"])
            // On another thread: the disk may not answer, and this one serves the deadline.
            ender.wake()
        } else {
            let isFirst = ending == .no
            if signal != SIGHUP { ending = .asked } else if isFirst { ending = .hungUp }
            guard isFirst else { return }
            log.notice("unmounting", metadata: ["signal": "\(signal)"])
            unmounter.wake()
        }
    }

    /// Without use of the mount it ends; else it locks, and ends later.
    func unmount() {
        do throws(Failure) {
            try mount.unmount(lazily: false)
        } catch {
            log.notice("the mount is in use: it locks, and ends when no program uses its files: \(error)")
            lock.lockToEnd()
            do throws(Failure) {
                try mount.unmount(lazily: true)
            } catch {
                log.error("cannot unmount: \(error)")
                lock.goOn()
            }
        }
    }
}
