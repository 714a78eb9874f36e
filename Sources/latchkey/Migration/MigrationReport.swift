import Control
import Crypto
import Glibc
import Migration
import Posix

/// What a migration says to a person, or, with --json, to a program: one object on each line.
struct MigrationReport: Sendable {
    let isJSON: Bool
    let screen = Screen()

    func tell(_ event: MigrationEvent) {
        screen.write {
            if isJSON {
                let (kind, path, other) = Self.parts(event)
                tell(kind, path, other)
            } else {
                Standard.error(Self.text(event))
            }
        }
    }

    func show(_ progress: MigrationProgress, of survey: Survey, seconds: Double) {
        let fraction = Self.fraction(progress, of: survey)
        let left = fraction > 0.01 ? seconds / fraction - seconds : nil
        guard isJSON else {
            let entries = survey.files + survey.others
            let percent = Int(fraction * 100)
            let end = left.map { ", \(Amount.time($0)) left" } ?? ""
            return screen.show(
                """
                \(percent) %: \(Amount.count(progress.entries)) of \(Amount.count(entries)) entries, \
                \(Amount.bytes(UInt64(max(0, progress.bytes))))\(end)
                """)
        }
        screen.write {
            Self.write(
                Line(
                    event: "progress", entries: progress.entries, allEntries: survey.files + survey.others,
                    bytes: progress.bytes, allBytes: survey.bytes, secondsLeft: left, fraction: fraction))
        }
    }

    func end(_ outcome: MigrationOutcome, seconds: Double) {
        guard isJSON else { return }
        screen.write {
            Self.write(
                Line(
                    event: outcome.isComplete ? "end" : "interrupted", seconds: seconds,
                    digestBefore: Self.digest(outcome.manifests.before),
                    digestAfter: Self.digest(outcome.manifests.after)))
        }
    }

    /// A small file costs about as much time as so many bytes of a large one.
    private static func fraction(_ progress: MigrationProgress, of survey: Survey) -> Double {
        let each = 65_536.0
        let all = Double(survey.bytes) + Double(survey.files + survey.others) * each
        let done = Double(progress.bytes) + Double(progress.entries) * each
        return all > 0 ? min(done / all, 1) : 1
    }

    /// What `find . -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum` prints in the folder.
    static func digest(_ manifest: [UInt8]) -> String {
        unsafe sha256(manifest.span.bytes).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    static func text(_ event: MigrationEvent) -> Printable {
        switch event {
        case .setAside(let path, let other):
            "latchkey: \(path): two versions are there; the one that was moved earlier is now \(other)"
        case .busy(let path):
            "latchkey: \(path): a program has it open for writing, or has just changed it; it stays for now"
        case .unreadable(let path, let error): "latchkey: \(path): cannot be read: \(error); it stays where it is"
        case .unmovable(let path, let error): "latchkey: \(path): cannot be moved: \(error); it stays where it is"
        case .stranger(let path, let name):
            "latchkey: the vault has something in \(path.isEmpty ? "its root" : path) whose name cannot be read: \(name)"
        case .putBack(let path): "latchkey: \(path): was changed after it was copied; it is back in its place"
        }
    }

    private static func parts(_ event: MigrationEvent) -> (String, Path, Path?) {
        switch event {
        case .setAside(let path, let other): ("set-aside", path, other)
        case .busy(let path): ("busy", path, nil)
        case .unreadable(let path, _): ("unreadable", path, nil)
        case .putBack(let path): ("put-back", path, nil)
        case .unmovable(let path, _): ("unmovable", path, nil)
        case .stranger(let path, _): ("stranger", path, nil)
        }
    }

    private struct Line: Encodable {
        var event: String
        var path: String?
        var pathBase64: String?
        var `as`: String?
        var asBase64: String?
        var entries: Int?
        var allEntries: Int?
        var bytes: Int64?
        var allBytes: Int64?
        var secondsLeft: Double?
        /// From 0 to 1, of the time that it takes as a whole.
        var fraction: Double?
        var seconds: Double?
        var needed: UInt64?
        var free: UInt64?
        var overwrites: Bool?
        var direction: String?
        var step: String?
        /// Of `recovery-key`: whether it opens something.
        var opens: Bool?
        /// Of `startup`: whether the vault is mounted at each login.
        var isEnabled: Bool?
        var name: String?
        var message: String?
        var advice: [String]?
        var process: Int?
        var program: String?
        var digestBefore: String?
        var digestAfter: String?
    }

    /// - Parameter overwrites: whether the originals are overwritten before they are removed.
    func plan(_ plan: MigrationPlan, of folder: Path, overwrites: Bool) {
        guard isJSON else { return }
        for path in plan.linkedOutside { tell("linked-outside", path) }
        var line = Line(
            event: "plan", allEntries: plan.survey.files + plan.survey.others, allBytes: plan.survey.bytes,
            seconds: plan.seconds, needed: plan.needed, free: plan.free, overwrites: overwrites)
        (line.path, line.pathBase64) = PathInJSON.pair(folder)
        Self.write(line)
    }

    /// A run of `folder` was interrupted.
    func unfinished(_ record: MigrationRecord, of folder: Path) {
        guard isJSON else { return }
        var line = Line(event: "unfinished", direction: record.direction.rawValue, step: record.step.rawValue)
        (line.path, line.pathBase64) = PathInJSON.pair(folder)
        Self.write(line)
    }

    /// A vault is mounted on `folder`, or is to be.
    func protected(_ folder: Path, by name: String?) {
        guard isJSON else { return }
        var line = Line(event: "protected", name: name)
        (line.path, line.pathBase64) = PathInJSON.pair(folder)
        Self.write(line)
    }

    /// Where the recovery key is, and whether it opens anything yet, or any more.
    func recoveryKey(in file: Path?, opens: Bool) {
        guard isJSON, let file else { return }
        var line = Line(event: "recovery-key", opens: opens)
        (line.path, line.pathBase64) = PathInJSON.pair(file)
        Self.write(line)
    }

    /// The originals are kept in a folder, or the device key for another vault.
    func kept(_ what: String, _ path: Path) { if isJSON { tell(what, path) } }

    /// What happens with the vault at the next login.
    func startup(_ name: String, isEnabled: Bool) {
        guard isJSON else { return }
        Self.write(Line(event: "startup", isEnabled: isEnabled, name: name))
    }

    /// The vault is there again, and not mounted.
    func closed(_ name: String) {
        guard isJSON else { return }
        Self.write(Line(event: "closed", name: name))
    }

    /// Programs have files open for writing.
    func writers(_ writers: [OpenWriters.Writer]) {
        guard isJSON else { return }
        for writer in writers {
            var line = Line(event: "writer", process: writer.process, program: "\(Printable(writer.name))")
            (line.path, line.pathBase64) = PathInJSON.pair(writer.file)
            Self.write(line)
        }
    }

    private func tell(_ event: String, _ path: Path, _ other: Path? = nil) {
        var line = Line(event: event)
        (line.path, line.pathBase64) = PathInJSON.pair(path)
        if let other { (line.as, line.asBase64) = PathInJSON.pair(other) }
        Self.write(line)
    }

    /// The standard output of a command with --json: from the first use on, all that is written for people, also by
    /// programs that this one starts, goes to standard error.
    private static let records: Descriptor? = {
        let number = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3)
        guard number >= 0, dup2(STDERR_FILENO, STDOUT_FILENO) >= 0 else { return nil }
        return Descriptor(owning: number)
    }()

    /// Before anything is written.
    private static func begin(asJSON isJSON: Bool) {
        guard isJSON else { return }
        _ = records
        // A window that has ended leaves no folder half protected.
        Standard.goOnWithoutReader()
    }

    /// Runs a command, and writes its error as JSON too.
    static func reporting(asJSON isJSON: Bool, _ body: () throws -> Void) throws {
        begin(asJSON: isJSON)
        do { try body() } catch let error as CommandError {
            if isJSON {
                write(Line(event: "error", message: error.message.text, advice: error.advice.map { $0.text }))
            }
            throw error
        }
    }

    private static func write(_ line: Line) {
        // Such a line always encodes. Without a reader the files are still moved.
        guard let records, let text = try? JSON.line(line) else { return }
        let bytes = Array("\(text.text)\n".utf8)
        try? unsafe records.write(bytes.span.bytes)
    }
}
