import Glibc
import Posix
import Synchronization
import Vault

/// A check on threads of its own, while this one shows how far it is and minds signals.
struct FsckRun {
    private let opened: CheckedVault
    private let readsContents: Bool
    private let repairs: Bool
    private let salvages: Bool
    private let report: any FsckReport

    init(
        _ opened: CheckedVault, readsContents: Bool, repairs: Bool, salvages: Bool, _ report: any FsckReport
    ) {
        self.opened = opened
        self.readsContents = readsContents
        self.repairs = repairs
        self.salvages = salvages
        self.report = report
    }

    func run() throws(CommandError) -> FsckOutcome {
        let clock = ContinuousClock()
        let start = clock.now
        let (report, screen) = (report, Screen())
        let found: @Sendable (Finding) -> Void = { finding in screen.write { report.found(finding) } }
        let check: Check
        let work: @Sendable () throws(VaultError) -> Void
        if repairs {
            let repair = Repair(
                of: opened.vault, contents: readsContents, salvages: salvages, threads: Self.threads,
                estimatesProgress: screen.hasBar, found: found)
            check = repair.check
            work = { () throws(VaultError) in try repair.run() }
        } else {
            let plain = Check(
                of: opened.vault, contents: readsContents, threads: Self.threads, estimatesProgress: screen.hasBar,
                needsPreviousKeybag: opened.hasPreviousKeybag, found: found)
            check = plain
            work = { () throws(VaultError) in try plain.run() }
        }
        report.begin(opened)
        if opened.hasPreviousKeybag { check.report(.previousKeybag(isPutBack: repairs)) }
        do throws(Errno) {
            _ = try ProcessLimits.raiseOpenFiles()
            let signals = try SignalDescriptor(blocking: [SIGINT, SIGTERM, SIGHUP])
            let thread = try BackgroundWork(work)
            var signal: Int32?
            while true {
                let ready = try Poll.readable(
                    [thread.ended, signals.descriptor], timeout: screen.hasBar ? .milliseconds(100) : nil)
                if ready.contains(0) { break }
                if ready.contains(1) {
                    let next = try signals.next()
                    // Asked twice: a disk that does not answer may keep the check from ending.
                    if signal != nil { FsckOutcome.die(of: next) }
                    signal = next
                    check.cancel()
                }
                screen.show(check.progress, after: clock.now - start)
            }
            screen.write {}
            return FsckOutcome(
                progress: check.progress, seconds: (clock.now - start) / .seconds(1), signal: signal,
                error: thread.error,
                readsContents: readsContents, repairs: repairs, salvages: salvages,
                classes: opened.readableClasses)
        } catch { throw CommandError(.failed, "cannot check the vault: \(error)") }
    }

    /// More than there are processors: most wait for the disk, which does better with several reads to choose from.
    private static var threads: Int { 2 * max(2, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))) }
}

/// Runs a check or a repair on a thread, and says when it has ended.
private final class BackgroundWork: Sendable {
    /// Readable at the end.
    let ended: Descriptor
    private let result = Mutex<VaultError?>(nil)

    var error: VaultError? { result.withLock { $0 } }

    init(_ work: @escaping @Sendable () throws(VaultError) -> Void) throws(Errno) {
        let pipe = try Pipe()
        ended = pipe.readEnd
        // Closed by the thread's end, and so is the pipe.
        let writeEnd = Mutex<Descriptor?>(pipe.writeEnd)
        try startThread { [self] in
            do throws(VaultError) { try work() } catch { result.withLock { $0 = error } }
            writeEnd.withLock { $0 = nil }
        }
    }
}
