import Control
import Failure
import Format
import FoundationEssentials
import Keybag
import Posix
import Synchronization
import Vault
import VaultCheck

/// The report for scripts: one object, each finding on a line of its own. Its fields: docs/FSCK.md.
final class FsckJSON: FsckReport {
    private let vault: Path
    /// The last finding: it is written with the next one, when it is known whether a comma follows. A leaf: no other
    /// lock is taken under it. Lock order: docs/ARCHITECTURE.md.
    private let last = Mutex<Printable?>(nil)

    /// - Parameter vault: the absolute path of the vault.
    init(_ vault: Path) { self.vault = vault }

    func begin(_ opened: CheckedVault) {
        begin(volume: opened.volume)
    }

    private func begin(volume: String?) {
        var head: [Printable] = ["\"vault\": \(Self.text(PathInJSON.text(vault)))"]
        if let bytes = PathInJSON.base64(vault) { head.append("\"vaultBase64\": \(Self.text(bytes))") }
        if let volume { head.append("\"volume\": \(Self.text(volume))") }
        Standard.output("{ \(head.joined(separator: ", ")),\n  \"findings\": [")
    }

    func cannotOpen(_ error: Failure) -> any Error {
        let error = CommandError(error, of: vault)
        guard error.code == .damaged else { return error }
        begin(volume: nil)
        add(
            FindingFields(
                severity: "damage", kind: "keybag", backingPath: BackingName.keybag, reason: error.message.text))
        end(FsckSummary(damaged: 1))
        return Ended(code: .damaged)
    }

    func found(_ finding: Finding) {
        add(FindingFields(finding))
    }

    private func add(_ finding: FindingFields) {
        last.withLock { last in
            if let last { Standard.output("    \(last),") }
            last = Self.text(finding)
        }
    }

    /// Ends the list of findings, and writes the object's other fields.
    private func end(_ summary: FsckSummary) {
        last.withLock { last in
            if let last { Standard.output("    \(last)") }
        }
        Standard.output("  ],\n  \(Printable(verbatim: String(Self.text(summary).text.dropFirst())))")
    }

    func end(_ outcome: FsckOutcome) {
        end(FsckSummary(outcome))
    }

    static func text(_ value: some Encodable) -> Printable {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Only strings and numbers, which can always be encoded.
        return (try? encoder.encode(value)).map { JSON.printable($0) } ?? "null"
    }
}

/// A finding's fields in JSON.
struct FindingFields: Encodable {
    struct Range: Encodable {
        var offset: UInt64
        var length: UInt64
    }

    var severity: String
    var kind: String
    var path: String?
    /// Only for a name that is not UTF-8.
    var pathBase64: String?
    var backingPath: String
    var backingPathBase64: String?
    var reason: String
    var lost: [Range]?
    var lostBytes: UInt64?
    var repaired: Bool?
    var repair: String?

    init(severity: String, kind: String, backingPath: String, reason: String) {
        self.severity = severity
        self.kind = kind
        self.backingPath = backingPath
        self.reason = reason
    }

    init(_ finding: Finding) {
        self.init(
            severity: finding.severity.rawValue, kind: finding.kind.rawValue,
            backingPath: String(decoding: finding.backingPath, as: UTF8.self), reason: finding.reason.text)
        backingPathBase64 = Self.base64(finding.backingPath)
        path = finding.path.map { String(decoding: $0, as: UTF8.self) }
        pathBase64 = finding.path.flatMap(Self.base64)
        lost = finding.lost?.ranges.map { Range(offset: $0.lowerBound, length: UInt64($0.count)) }
        lostBytes = finding.lost?.byteCount
        switch finding.repair {
        case .done(let text): (repaired, repair) = (true, text.text)
        case .failed(let text): (repaired, repair) = (false, text.text)
        case nil: break
        }
    }

    private static func base64(_ bytes: [UInt8]) -> String? {
        String(validating: bytes, as: UTF8.self) == nil ? Data(bytes).base64EncodedString() : nil
    }
}

/// The fields after the findings.
struct FsckSummary: Encodable {
    var clean: Bool
    var complete: Bool
    var contentsClasses: [String]
    var damaged: Int
    var leftovers = 0
    var notes = 0
    var repaired = 0
    var files = 0
    var folders = 0
    var bytesRead: UInt64 = 0
    var filesNotRead = 0
    var seconds = 0.0

    /// The summary for a vault that does not open.
    init(damaged: Int) {
        clean = false
        complete = false
        contentsClasses = []
        self.damaged = damaged
    }

    init(_ outcome: FsckOutcome) {
        let progress = outcome.progress
        clean = progress.damaged == 0
        complete = outcome.isComplete && progress.unchecked == 0
        contentsClasses = outcome.readsContents ? outcome.classes : []
        damaged = progress.damaged
        leftovers = progress.orphans
        notes = progress.notes
        repaired = progress.repaired
        files = progress.files
        folders = progress.directories
        bytesRead = progress.bytes
        filesNotRead = outcome.readsContents ? progress.lockedFiles : progress.files
        seconds = (outcome.seconds * 1000).rounded() / 1000
    }
}
