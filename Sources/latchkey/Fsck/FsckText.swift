import Failure
import Format
import Keybag
import Posix
import Synchronization
import Vault
import VaultCheck

/// The report for people: findings on standard output, then what to do next.
final class FsckText: FsckReport {
    /// The path as it was typed.
    private let vault: Path
    private let folder: Path
    private let isUnlocked: Bool
    /// The kinds of findings that were not repaired, and of those that were. A leaf: no other lock is taken under it.
    /// Lock order: docs/ARCHITECTURE.md.
    private let seen = Mutex((left: Set<Finding.Kind>(), repaired: Set<Finding.Kind>()))

    init(_ vault: Path, at folder: Path, isUnlocked: Bool) {
        self.vault = vault
        self.folder = folder
        self.isUnlocked = isUnlocked
    }

    func begin(_ opened: CheckedVault) {}

    func cannotOpen(_ error: Failure) -> any Error {
        if case .olderKeybag = error { return CommandError(error, of: vault) }
        let error = CommandError(error, of: vault)
        guard error.code == .damaged else { return error }
        return CommandError(
            .damaged, error.message,
            try: "cp BACKUP/\(BackingName.keybag) \(folder.quoted)   "
                + "(from a backup since the passcode was last changed)")
    }

    func found(_ finding: Finding) {
        seen.withLock { seen in
            guard finding.severity == .damage else { return }
            if case .done = finding.repair {
                seen.repaired.insert(finding.kind)
            } else {
                seen.left.insert(finding.kind)
            }
        }
        Standard.output(Self.text(finding))
    }

    static func text(_ finding: Finding) -> Printable {
        let backing = Printable(bytes: finding.backingPath)
        let path = finding.path.map { Printable(bytes: $0) }
        var lines: [Printable] = ["\(finding.severity): \(path ?? backing): \(finding.reason)"]
        if let lost = finding.lost {
            let shown = lost.ranges.prefix(10).map { "\($0.lowerBound)-\($0.upperBound - 1)" }
            let more = lost.ranges.count > shown.count || !lost.isComplete ? ", and more" : ""
            lines.append("  lost bytes: \(shown.joined(separator: ", "))\(more)")
        }
        if path != nil { lines.append("  in the vault: \(backing)") }
        switch finding.repair {
        case .done(let what): lines.append("  repaired: \(what)")
        case .failed(let why): lines.append("  not repaired: \(why)")
        case nil: break
        }
        return lines.joined(separator: "\n")
    }

    func end(_ outcome: FsckOutcome) {
        let (left, repaired) = seen.withLock { ($0.left, $0.repaired) }
        for line in summary(outcome) + advice(left, repaired, outcome) { Standard.output(line) }
    }

    private func summary(_ outcome: FsckOutcome) -> [Printable] {
        let progress = outcome.progress
        var counts: [String] = []
        if progress.damaged > 0 { counts.append("\(Amount.count(progress.damaged)) damaged") }
        if progress.orphans > 0 { counts.append(Amount.of(progress.orphans, "orphan")) }
        if progress.notes > 0 { counts.append(Amount.of(progress.notes, "note")) }
        if outcome.repairs, !counts.isEmpty { counts.append("\(Amount.count(progress.repaired)) repaired") }
        let nothing = outcome.isComplete ? "nothing wrong" : "nothing wrong so far"
        let found = counts.isEmpty ? nothing : counts.joined(separator: ", ")
        let checked = "\(Amount.of(progress.files, "file")) and \(Amount.of(progress.directories, "folder"))"
        let end = outcome.isComplete ? "." : "; the rest was not looked at."
        var lines: [Printable] = ["\(vault): \(found); \(checked) checked in \(Amount.time(outcome.seconds))\(end)"]
        if !outcome.readsContents {
            lines.append("Contents were not read.")
        } else if progress.lockedFiles > 0 {
            let classes = outcome.classes.joined(separator: ", ")
            let files = Amount.of(progress.lockedFiles, "file")
            lines.append("Contents were read of class \(classes) alone, not those of \(files).")
            lines.append("  try: latchkey fsck --unlock \(vault.quoted)")
        } else if progress.unchecked > 0 || progress.damaged > 0 {
            lines.append("Contents were read of all that could be opened: \(Amount.bytes(progress.bytes)).")
        } else if outcome.isComplete {
            lines.append("All contents were read: \(Amount.bytes(progress.bytes)).")
        }
        return lines
    }

    /// What to type next, the safest first.
    private func advice(
        _ left: Set<Finding.Kind>, _ repaired: Set<Finding.Kind>, _ outcome: FsckOutcome
    ) -> [Printable] {
        let typed = vault.quoted
        var lines: [Printable] = []
        if !repaired.subtracting([.journal, .keybag]).isEmpty {
            lines.append("What was moved is in lost+found in the mount; its REPORT.txt says what it was.")
        }
        if repaired.contains(.contents), !outcome.salvages {
            lines.append(
                "  try: latchkey fsck --repair --salvage --unlock \(typed)   (copies with zeros for what is lost)")
        }
        if left.contains(.directory) {
            lines.append(
                "A folder's \(BackingName.directoryRecord) from a backup, however old, brings back the names in it, "
                    + "if the folder still has its name.")
        }
        if left.contains(.unreadable) {
            lines.append("The disk does not read everything: make a copy of it before anything else.")
        }
        let isRepairable = left.contains { ![.unreadable, .keybag].contains($0) }
        if !outcome.repairs, isRepairable || left.contains(.keybag) {
            lines.append("  try: cp -a \(typed) COPY   (first: a repair changes the vault)")
        }
        // The keys of all classes allow more repairs.
        if !outcome.repairs || !isUnlocked, isRepairable || left.contains(.keybag) {
            lines.append("  try: latchkey fsck --repair --unlock \(typed)")
        }
        return lines
    }
}
