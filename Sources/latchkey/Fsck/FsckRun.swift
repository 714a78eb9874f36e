import Glibc
import Posix
import Synchronization
import Vault
import VaultCheck

/// Runs a check on threads of its own, while this thread shows the progress and waits for signals.
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
                estimatesProgress: screen.isTerminal, found: found)
            check = repair.check
            work = { () throws(VaultError) in try repair.run() }
        } else {
            let plain = Check(
                of: opened.vault, contents: readsContents, threads: Self.threads, estimatesProgress: screen.isTerminal,
                needsPreviousKeybag: opened.hasPreviousKeybag, found: found)
            check = plain
            work = { () throws(VaultError) in try plain.run() }
        }
        do throws(Errno) {
            _ = try ProcessLimits.raiseOpenFiles()
            // First, so that a signal cannot interrupt a report that has begun.
            let signals = try SignalDescriptor(blocking: Interruption.signals)
            if opened.hasOlderKeybag {
                Standard.error(
                    "latchkey: warning: the keybag is older than the newest one that this machine has seen")
            }
            report.begin(opened)
            if opened.hasPreviousKeybag { check.report(.previousKeybag(isPutBack: repairs)) }
            let thread = try BackgroundWork<VaultError>(work)
            var signal: Int32?
            while true {
                let ready = try Poll.readable(
                    [thread.ended, signals.descriptor], timeout: screen.isTerminal ? .milliseconds(100) : nil)
                if ready.contains(0) { break }
                if ready.contains(1) {
                    let next = try signals.next()
                    // A second signal ends the process at once: a disk that does not answer may block the check.
                    if signal != nil { Interruption.die(of: next) }
                    signal = next
                    check.cancel()
                }
                screen.show("\(ProgressBar(check.progress, seconds: (clock.now - start) / .seconds(1)).text)")
            }
            screen.write {}
            return FsckOutcome(
                progress: check.progress, seconds: (clock.now - start) / .seconds(1), signal: signal,
                error: thread.error,
                readsContents: readsContents, repairs: repairs, salvages: salvages,
                classes: opened.readableClasses)
        } catch { throw CommandError(.failed, "cannot check the vault: \(error)") }
    }

    /// More than there are processors: most threads wait for the disk, which is faster with several reads queued.
    private static var threads: Int { 2 * max(2, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))) }
}
