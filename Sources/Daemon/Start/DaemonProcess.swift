import Control
import Crypto
public import Failure
import Glibc
import Logging
import Posix

/// The process that mounts a vault and serves it until it is unmounted.
public enum DaemonProcess {
    /// Mounts, reports the result on the readiness descriptor, serves, and returns when the mount has ended.
    ///
    /// Must run in the main thread of a process that does nothing else, before any other thread is started: it blocks
    /// signals, forbids core files and raises limits.
    ///
    /// - Throws: why it did not start; the readiness descriptor gets the same.
    public static func run(_ configuration: Configuration) throws(Failure) {
        do throws(Failure) {
            let signals = try prepareProcess()
            let sink = try Failure.when("open the log") { () throws(Errno) in try LogSink(configuration) }
            let writer = try Failure.makingThreads { () throws(Errno) in
                try LogWriter(to: sink, journal: JournalSocket(for: configuration.log, configuration))
            }
            defer { writer.flush() }
            var log = Logger(label: "latchkey") { _ in DaemonLog(writer: writer) }
            log.logLevel = configuration.logLevel
            // A detached daemon is not the process that the manager has started.
            let manager = configuration.isDetached ? nil : ServiceManager()
            let mount = try RunningMount.start(
                configuration, signals: signals, log: log, logFile: writer.statusFile, manager: manager
            ) {
                writer.flush()
                _exit(1)
            }
            log.notice(
                "mounted",
                metadata: [
                    "vault": .stringConvertible(configuration.vault.printable),
                    "at": .stringConvertible(configuration.mountPoint.printable),
                ])
            if configuration.isDetached { detach() }
            if let readiness = configuration.readiness,
                !Readiness.ready(warnings: mount.storeWarnings, hasOlderKeybag: mount.hasOlderKeybag)
                    .write(to: readiness), configuration.isDetached
            {
                log.notice("the command that has started this daemon has ended: unmounting")
                mount.abandon()
            }
            manager?.ready(at: configuration.mountPoint, mount.state)
            mount.run { manager?.stopping() }
        } catch {
            if let readiness = configuration.readiness { Readiness.failed(error).write(to: readiness) }
            throw error
        }
    }

    /// Must run before the process holds any secret and starts any thread.
    private static func prepareProcess() throws(Failure) -> SignalDescriptor {
        // A write to a closed socket, terminal or log then fails with EPIPE.
        signal(SIGPIPE, SIG_IGN)
        // A detached daemon was executed as /proc/self/exe; ps(1) would show that as its name.
        ProcessName.set("latchkey")
        // The kernel has already applied the umask of the program that creates a file in the mount.
        umask(0)
        // The kernel may know a million nodes, and forget them all at once.
        ProcessLimits.boundArenas()
        let signals = try Failure.when("block signals") { () throws(Errno) in
            try ProcessLimits.forbidDumps()
            _ = try ProcessLimits.raiseLockedMemory()
            return try SignalDescriptor(blocking: SignalThread.handled)
        }
        do { try SecureHeap.initialize() } catch { throw .crypto(error) }
        return signals
    }

    /// Leaves the terminal, its session and the working folder.
    private static func detach() {
        // Fails for a session leader, which has left the old session already.
        setsid()
        _ = unsafe chdir("/")
        guard let null = try? Descriptor.open(path: "/dev/null", O_RDWR) else { return }
        for stream in 0...2 as ClosedRange<Int32> { dup2(null.number, stream) }
    }
}
