import Control
import Failure
import Glibc
import Logging
import Posix
import Synchronization

/// The thread that hears the signals and the deadline, and looks whether anybody uses the mount and whether it is in
/// the tree.
///
/// SIGUSR1 locks, with the grace. SIGTERM, SIGINT and SIGHUP unmount: in the ordinary way, or lazily if the mount is in
/// use, and then it locks, with the grace, and the daemon goes on for its last user. So it is where another program has
/// taken the mount out of the tree. A second signal makes durable what was written, and ends at once.
public final class SignalThread: Sendable {
    private let signals: SignalDescriptor
    private let lock: MountLock
    private let mount: any MountedFileSystem
    private let log: Logger
    /// The time without use after which it locks.
    private let idleLimit: Duration?
    private let watch: MountWatch?
    // A thread apart: umount(2) waits for the file system, and the deadline does not.
    private let unmounter: OnDemandWorker
    /// Ends the process; another thing in tests.
    private let exit: @Sendable () -> Void

    public static let handled: [Int32] = [SIGUSR1, SIGTERM, SIGINT, SIGHUP]

    /// - Parameter signals: blocks `handled`; made before any thread is.
    init(
        signals: SignalDescriptor, unmounter: OnDemandWorker, lock: MountLock, mount: any MountedFileSystem,
        log: Logger,
        idleLimit: Duration? = nil, watch: MountWatch? = nil, exit: @escaping @Sendable () -> Void
    ) {
        self.signals = signals
        self.unmounter = unmounter
        self.lock = lock
        self.mount = mount
        self.log = log
        self.idleLimit = idleLimit
        self.watch = watch
        self.exit = exit
    }

    public func start() throws(Errno) {
        try unmounter.start { self.unmount() }
        try startThread { self.run() }
    }

    private func run() {
        var isEnding = false
        var idle = idleLimit.map { IdleWatch(limit: $0, now: BootClock.now) }
        var watched = watch
        while true {
            do {
                let ready = try Poll.readable(
                    [lock.deadline, signals.descriptor], changing: watched.map { [$0.descriptor] } ?? [],
                    timeout: idle?.interval)
                look(&idle)
                if ready.contains(0) { lock.deadlinePassed() }
                if ready.contains(1) { take(try signals.next(), isEnding: &isEnding) }
                if ready.contains(2), watched?.isGone == true {
                    log.notice("the mount has left the tree: it locks, and ends with its last user")
                    lock.noteDetached()
                    watched = nil
                }
            } catch {
                // Without this thread nothing would end the grace.
                fatalError("cannot wait for signals: \(error)")
            }
        }
    }

    private func look(_ watch: inout IdleWatch?) {
        guard watch != nil else { return }
        let isUnlocked = lock.status.state == .unlocked
        guard watch!.look(wasUsed: mount.takeUse(), isUnlocked: isUnlocked, now: BootClock.now) else { return }
        log.notice("locking: nobody has used the mount")
        lock.lock(now: false)
    }

    private func take(_ signal: Int32, isEnding: inout Bool) {
        if signal == SIGUSR1 {
            log.notice("locking: signal SIGUSR1")
            lock.lock(now: false)
        } else if isEnding {
            log.warning("ending at once: a second signal", metadata: ["signal": "\(signal)"])
            mount.synchronize()
            exit()
        } else {
            isEnding = true
            log.notice("unmounting", metadata: ["signal": "\(signal)"])
            unmounter.wake()
        }
    }

    private func unmount() {
        do throws(Failure) {
            try mount.unmount(lazily: false)
        } catch {
            log.notice("the mount is in use: it locks, and ends with its last user: \(error)")
            lock.lock(now: false)
            do throws(Failure) {
                try mount.unmount(lazily: true)
            } catch {
                log.error("cannot unmount: \(error)")
            }
        }
    }
}
