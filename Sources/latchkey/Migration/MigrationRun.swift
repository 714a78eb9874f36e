import Glibc
import Migration
import Posix
import Synchronization

/// Runs a migration on a thread of its own, while this thread shows the progress and waits for signals.
struct MigrationRun {
    let migration: Migration
    let survey: Survey
    let report: MigrationReport
    private let stop: StopFlag

    /// Set by a signal: the migration ends after the file under way.
    final class StopFlag: Sendable {
        private let isSet = Atomic(false)
        func set() { isSet.store(true, ordering: .relaxed) }
        var value: Bool { isSet.load(ordering: .relaxed) }
    }

    init(_ migration: Migration, _ survey: Survey, _ report: MigrationReport, _ stop: StopFlag) {
        self.migration = migration
        self.survey = survey
        self.report = report
        self.stop = stop
    }

    /// - Returns: how it ended, and the signal that has interrupted it.
    func run() throws(CommandError) -> (outcome: MigrationOutcome, seconds: Double, signal: Int32?) {
        let clock = ContinuousClock()
        let start = clock.now
        let held = Held(migration)
        var signal: Int32?
        let work: BackgroundWork<MigrationError>
        do throws(Errno) {
            let signals = try SignalDescriptor(blocking: Interruption.signals)
            work = try BackgroundWork<MigrationError> { () throws(MigrationError) in try held.run() }
            while true {
                let ready = try Poll.readable([work.ended, signals.descriptor], timeout: .milliseconds(250))
                if ready.contains(0) { break }
                if ready.contains(1) {
                    let next = try signals.next()
                    // A second signal ends the process at once: the next run goes on from there.
                    if signal != nil { Interruption.die(of: next) }
                    signal = next
                    stop.set()
                }
                report.show(migration.progress, of: survey, seconds: (clock.now - start) / .seconds(1))
            }
        } catch { throw CommandError(.failed, "cannot run the migration: \(error)") }
        report.screen.write {}
        if let error = work.error { throw CommandError(error) }
        guard let outcome = held.outcome else { throw CommandError(.failed, "the migration has not ended") }
        let seconds = (clock.now - start) / .seconds(1)
        report.end(outcome, seconds: seconds)
        return (outcome, seconds, signal)
    }

    /// The migration, used by one thread at a time: this one waits while the other one runs it.
    private final class Held: @unchecked Sendable {
        private let migration: Migration
        private(set) var outcome: MigrationOutcome?

        init(_ migration: Migration) { self.migration = migration }

        func run() throws(MigrationError) { outcome = try migration.run() }
    }
}

extension CommandError {
    /// What stopped a migration.
    init(_ error: MigrationError) {
        let subject: Printable = error.path.map { $0.isEmpty ? " the folder itself" : " \($0)" } ?? ""
        switch error.error {
        case .system(.ENOSPC), .system(.EDQUOT):
            self.init(
                .failed,
                "there is no space left to \(error.doing)\(subject): nothing is lost, and what was moved stays moved",
                try: "the same again, when there is more space", "the same with --undo   (to go back)")
        case .damaged(let reason), .unseen(let reason), .unsupported(let reason), .stale(let reason):
            self.init(.damaged, "cannot \(error.doing)\(subject): \(reason)")
        case .locked: self.init(.locked, "cannot \(error.doing)\(subject): the key of its class is missing")
        case .system(let errno): self.init(.failed, "cannot \(error.doing)\(subject): \(errno)")
        }
    }
}
