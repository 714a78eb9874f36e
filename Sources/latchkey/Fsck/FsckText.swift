import Keybag
import Synchronization
import Vault

/// The report for people: what was found on standard output, what to do next behind it.
final class FsckText: FsckReport {
    /// As it was typed.
    private let vault: String

    init(_ vault: String) { self.vault = vault }

    func begin(_ opened: CheckedVault) {}

    func cannotOpen(_ error: KeybagError) -> any Error {
        let error = CommandError(error, of: vault)
        guard error.code == .damaged else { return error }
        return CommandError(
            .damaged, error.message,
            try: "cp BACKUP/lk.keybag \(vault.quoted)   (from a backup since the passcode was last changed)")
    }

    func found(_ finding: Finding) {
        Standard.output(Self.text(finding))
    }

    static func text(_ finding: Finding) -> String {
        let backing = PrintablePath(finding.backingPath).text
        let path = finding.path.map { PrintablePath($0).text }
        var lines = ["\(finding.severity.rawValue): \(path ?? backing): \(finding.reason)"]
        if let lost = finding.lost {
            let shown = lost.ranges.prefix(10).map { "\($0.lowerBound)-\($0.upperBound - 1)" }
            let more = lost.ranges.count > shown.count || !lost.isComplete ? ", and more" : ""
            lines.append("  lost bytes: " + shown.joined(separator: ", ") + more)
        }
        if path != nil { lines.append("  in the vault: \(backing)") }
        return lines.joined(separator: "\n")
    }

    func end(_ outcome: FsckOutcome) {
        for line in Self.summary(outcome, vault) { Standard.output(line) }
    }

    static func summary(_ outcome: FsckOutcome, _ vault: String) -> [String] {
        let progress = outcome.progress
        var counts: [String] = []
        if progress.damaged > 0 { counts.append("\(Amount.count(progress.damaged)) damaged") }
        if progress.leftovers > 0 { counts.append(Amount.of(progress.leftovers, "leftover")) }
        if progress.notes > 0 { counts.append(Amount.of(progress.notes, "note")) }
        let found = counts.isEmpty ? "nothing wrong" : counts.joined(separator: ", ")
        let checked = "\(Amount.of(progress.files, "file")) and \(Amount.of(progress.directories, "folder"))"
        var lines = [
            "\(vault): \(found); \(checked) checked in \(Amount.time(outcome.seconds))"
                + (outcome.isComplete ? "." : ", then interrupted: the rest was not looked at.")
        ]
        if !outcome.readsContents {
            lines.append("Contents were not read.")
        } else if progress.lockedFiles > 0 {
            let classes = outcome.classes.joined(separator: ", ")
            lines.append(
                "Contents were read of class \(classes) alone, not of \(Amount.of(progress.lockedFiles, "file")).")
            lines.append("  try: latchkey fsck --unlock \(vault.quoted)")
        } else {
            lines.append("All contents were read: \(Amount.bytes(progress.bytes)).")
        }
        return lines
    }
}
