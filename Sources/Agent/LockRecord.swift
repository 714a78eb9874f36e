import LockSources
import Posix
import Synchronization

/// What the agent has heard and done since it began; written to its report after each change.
///
/// Thread-safe.
final class LockRecord: Sendable {
    /// A leaf: no other lock is taken under it. Lock order: docs/ARCHITECTURE.md.
    private let report: Mutex<AgentReport>
    private let files: AgentFiles
    /// Writes the report: its disk may not answer, and a lock does not wait for that.
    private let writer: OnDemandWorker
    private let log: @Sendable (Printable) -> Void

    init(_ report: AgentReport, _ files: AgentFiles, log: @escaping @Sendable (Printable) -> Void) throws(Errno) {
        writer = try OnDemandWorker()
        self.report = Mutex(report)
        self.files = files
        self.log = log
        write()
    }

    /// Starts the thread that writes the report.
    func start() throws(Errno) { try writer.start { [self] in write() } }

    func change(_ body: (inout AgentReport) -> Void) {
        report.withLock { body(&$0) }
        writer.wake()
    }

    private func write() {
        do throws(Errno) { try files.write(report.withLock { $0 }) } catch {
            log("cannot write the report that status shows: \(error)")
        }
    }

    func fired(_ source: LockSource, at time: Double, _ result: Printable) {
        change { report in
            report[source].lastFired = time
            report[source].lastResult = result.text
        }
    }

    /// - Parameter problem: nil if the sources can be heard again.
    func set(_ problem: String?, of sources: [LockSource]) {
        change { report in for source in sources { report[source].problem = problem } }
    }
}
