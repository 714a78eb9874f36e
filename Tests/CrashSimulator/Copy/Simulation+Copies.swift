import Store
import TestSupport

/// A way to make copies, and what is promised of them.
enum CopyRule: String, CaseIterable {
    /// In any order: what did not change since everything was persisted.
    case anyOrder = "in any order"
    /// The journal first: what was synced before the copy and did not change since.
    case journalFirst = "the journal first"
}

extension Simulation {
    /// Copies a recorded vault while it is in use, at one moment after the other, and checks what the copies show when
    /// they are opened.
    ///
    /// - Parameters:
    ///   - rule: the way in which they are made.
    ///   - promised: the rule whose promise must hold.
    /// - Returns: the report, and the number of unchanged files that the copies had to have.
    func copies(
        of recorded: RecordedVault, _ rule: CopyRule, promising promised: CopyRule
    ) throws -> (report: Report, unchanged: Int) {
        var report = Report()
        var unchanged = 0
        var random = SeededRandom(seed)
        let records = recorded.records
        let promise = recorded.promise
        let persisted = recorded.ledger.entries.filter { if case .synchronizeAll = $0.act { true } else { false } }
            .map(\.end)
        let begins = (0..<budget).map { _ in Int.random(in: (persisted.first ?? 0)...records.count, using: &random) }
        var source = LiveDisk(records, found: recorded.found)
        let folder = try StateFolder()
        var evidence = Evidence("\(name)-\(rule.rawValue)-\(promised.rawValue)")
        for begin in begins.sorted() {
            source.advance(by: begin - source.count)
            let order: Copier.Order =
                rule == .journalFirst ? .journalFirst : [.folderByFolder, .anyFile].randomElement(using: &random)!
            var copier = Copier(of: source, order, SeededRandom(random.next()))
            copier.run()
            let quiet = promised == .journalFirst ? begin : persisted.last { $0 <= begin }!
            let expected = CopyPromise(promise, quietSince: quiet, to: copier.end)
            unchanged += expected.unchangedFiles
            try folder.hold(copier.copy)
            let seed = report.states % 3 == 0 ? random.next() : nil
            let violations = recorded.keys.check(folder, usingWith: seed, sparing: expected.wasChanged) {
                expected.violations(in: $0)
            }
            report.crashes += 1
            report.add(violations, at: begin)
            if !violations.isEmpty {
                try evidence.keep(
                    copier.copy, "copied from record \(begin) to \(copier.end), quiet since \(quiet)", violations)
            }
        }
        return (report, unchanged)
    }
}
