import Synchronization
import Vault

/// Findings that wait for their repair; others are reported at once. Their number is bounded, and the next run repairs
/// those beyond it.
///
/// Thread-safe.
final class PendingFindings: Sendable {
    /// This many findings take some tens of MiB.
    static let usualLimit = 100_000

    private struct State {
        var findings: [Finding] = []
        /// Counted apart. Notes are findings in `lost+found`: what is there already must not keep other findings from
        /// their repair.
        var weights = (damage: 0, note: 0)
    }

    private let limit: Int
    private let found: @Sendable (Finding) -> Void
    private let state = Mutex(State())

    init(limit: Int, _ found: @escaping @Sendable (Finding) -> Void) {
        self.limit = limit
        self.found = found
    }

    func add(_ finding: Finding) {
        guard RepairWork.isRepairable(finding) else { return found(finding) }
        // Ten ranges take about as much memory as the other fields of a finding.
        let weight = 1 + (finding.lost?.ranges.count ?? 0) / 10
        let isPending = state.withLock { state in
            let count = finding.severity == .note ? \State.weights.note : \State.weights.damage
            guard state[keyPath: count] < limit else { return false }
            state[keyPath: count] += weight
            state.findings.append(finding)
            return true
        }
        guard !isPending else { return }
        var finding = finding
        finding.repair = .failed("too many at once: repair it with the next run")
        found(finding)
    }

    func tell(_ finding: Finding) { found(finding) }

    func take() -> [Finding] {
        state.withLock { state in
            defer { state = State() }
            return state.findings
        }
    }
}
