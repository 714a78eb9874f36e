import Administration
import ArgumentParser
import Control
import Format
import Glibc
import Posix

/// `latchkey explain`: what protects a file, and which operations work now.
struct Explain: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Explain what protects a file: its class, its key, what is possible now and why not.",
        discussion: """
            Works while locked. With --ciphertext also on files inside a vault that is not mounted. --json writes a \
            list with an object for each PATH: path, kind, class, isExplicit, directoryClass, wrappedBy, \
            hasKeyInMemory, actions (name, allowed, reason), backingPath, state, warnings (sentences, where the \
            classes of a database and of SQLite's files beside it do not go together), damage (reasons, refusals, \
            first and last in seconds since 1970, isWhole: nothing can be read; only if some was noticed since the \
            mount), older (verdict: older, back or conflict; seen and written, in seconds since 1970; only if this machine \
            has seen a newer version); and ciphertext (fields, \
            header, block in hexadecimal). A path that is not UTF-8 is escaped, and pathBase64 or backingPathBase64 \
            has its bytes.
            """ + Examples.of("latchkey explain ~/private/note", "latchkey explain --ciphertext ~/private/note"))

    @Flag(help: "Show the file's header and first block as they are on disk: what a thief sees.")
    var ciphertext = false

    @Flag(help: "Write JSON.")
    var json = false

    @Argument(help: ArgumentHelp("Files or folders in a mount, or in a vault.", valueName: "path"))
    var paths: [Path]

    func run() throws {
        var failures = Failures()
        var reports: [FileReport] = []
        for (index, path) in paths.enumerated() {
            failures.collect { () throws(CommandError) in
                let report = try FileReport(of: path, withCiphertext: ciphertext)
                if json {
                    reports.append(report)
                } else {
                    if index > 0 { Standard.output("") }
                    Standard.output(report.text)
                }
            }
        }
        if json { Standard.output(try JSON.text(reports)) }
        try failures.end(of: paths.count)
    }
}

/// What `explain` has found out about one path.
struct FileReport: Encodable {
    private let path: Path
    private let explanation: Explanation?
    private let backingPath: Path
    /// Nil without a mount.
    private let vault: Path?
    private let ciphertext: Ciphertext?
    private let warnings: [String]

    init(of path: Path, withCiphertext: Bool) throws(CommandError) {
        self.path = path
        let (folder, name): (Descriptor, Name)
        // Nil if the mount refuses to look it up; the folder tells why.
        let file: Descriptor?
        let device: UInt64
        do throws(Errno) {
            (folder, name) = try Descriptor.parent(of: path)
            do throws(Errno) { file = try folder.open(name, O_PATH | O_NOFOLLOW) } catch {
                guard error == .EIO else { throw error }
                file = nil
            }
            device = try (file ?? folder).status().device
        } catch {
            throw CommandError(cannot: "open", path, error)
        }
        if let entry = try inWords(try MountTable()).latchkeyMount(device: device) {
            let mount = try PathArgument.mount(of: entry.mountPoint)
            do {
                let found =
                    if let file { try mount.client.explain(file) } else { try mount.client.explain(folder, name) }
                explanation = found
                vault = mount.status.vault
                warnings = found.kind == .file ? DatabaseWarnings.all(about: name, in: folder) : []
                backingPath = (mount.status.vault.asFolder + found.backingPath).trimmingTrailingSlashes
            } catch {
                throw CommandError(error, at: entry.mountPoint)
            }
        } else {
            guard file != nil else { throw CommandError(cannot: "open", path, .EIO) }
            vault = nil
            try Self.checkVault(around: path, withCiphertext: withCiphertext)
            explanation = nil
            warnings = []
            backingPath = path
        }
        ciphertext = withCiphertext ? try Ciphertext(of: backingPath) : nil
    }

    /// Without a mount only ciphertext can be shown, and only of a file in a vault.
    private static func checkVault(around path: Path, withCiphertext: Bool) throws(CommandError) {
        let absolute = AbsolutePath(lexically: path)
        // Its ciphertext is there without a keybag, too.
        guard PathArgument.vault(around: absolute) != nil || PathArgument.lostKeybag(around: absolute, path) != nil
        else {
            throw CommandError(
                .notFound, "\(path) is neither in a Latchkey mount nor in a vault", try: "latchkey status")
        }
        guard withCiphertext else {
            throw CommandError(
                .notFound, "\(path) lies in a vault, where everything is ciphertext",
                try: "latchkey explain --ciphertext \(path.quoted)", "latchkey status")
        }
    }

    private enum Key: String, CodingKey { case path, pathBase64, backingPath, backingPathBase64, warnings, ciphertext }

    /// The explanation's fields are encoded beside the others, not in an object of their own.
    func encode(to encoder: any Encoder) throws {
        try explanation?.encode(to: encoder)
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(PathInJSON.text(path), forKey: .path)
        try container.encodeIfPresent(PathInJSON.base64(path), forKey: .pathBase64)
        try container.encode(PathInJSON.text(backingPath), forKey: .backingPath)
        try container.encodeIfPresent(PathInJSON.base64(backingPath), forKey: .backingPathBase64)
        if explanation != nil { try container.encode(warnings, forKey: .warnings) }
        try container.encodeIfPresent(ciphertext, forKey: .ciphertext)
    }

    var text: Printable {
        var parts: [Printable] = []
        if let explanation { parts.append(text(explanation)) }
        if let ciphertext { parts.append(ciphertext.text) }
        return parts.joined(separator: "\n\n")
    }

    private func text(_ found: Explanation) -> Printable {
        var table = Table()
        table.add("kind", "\(found.kind == .link ? "symbolic link" : found.kind.rawValue)")
        if found.class == nil, found.damage?.isWhole == true {
            table.add("class", "unknown")
        } else if let name = found.class {
            table.add("class", "\(named(name)), \(found.isExplicit ? "set on it" : "inherited")")
        } else {
            table.add("class", "-, only files and folders have one; its name is encrypted all the same")
        }
        if let key = found.wrappedBy { table.add("wrapped by", "\(key)") }
        if found.kind == .file { table.add("file key", found.hasKeyInMemory ? "in memory" : "not in memory") }
        table.add("lock state", "\(found.state.rawValue)")
        if let damage = found.damage { table.add("damage", lines(on: damage)) }
        if let older = found.older { table.add("older", lines(on: older)) }
        table.add("possible now", found.actions.filter(\.allowed).map { "\($0.name)" })
        table.add(
            "not now",
            found.actions.filter { !$0.allowed }.map { "\($0.name)\($0.reason.map { ": \($0)" } ?? "")" })
        table.add("backing file", "\(backingPath)")
        if let own = found.class, let folder = found.directoryClass, own != folder, found.kind == .file {
            table.add("note", "\(Self.note(on: own, isExplicit: found.isExplicit, in: folder))")
        }
        for warning in warnings { table.add("warning", "\(warning)") }
        return "\(path)\n\(table.lines(indent: 2))"
    }

    /// What is damaged, since when, and what can be done.
    private func lines(on damage: Explanation.Damage) -> [Printable] {
        let reasons = damage.reasons.joined(separator: ", ")
        let found = "noticed \(Clock.date(damage.first))"
        var lines: [Printable] = [
            damage.isWhole ? "it cannot be read: \(reasons)" : "parts cannot be read: \(reasons)",
            damage.refusals > 1
                ? "\(found), refused \(damage.refusals) times, last \(Clock.date(damage.last))" : "\(found)",
            "to restore it, mount a backup of the vault read-only beside this one, and copy it from there;",
            "in the backup, its backing file has the same path",
        ]
        if let vault {
            lines.append("what else is damaged, and what can be repaired, when the vault is not mounted,")
            lines.append("try: latchkey fsck --unlock \(vault.quoted)")
        }
        return lines
    }

    /// What was seen when, and what can be done.
    private func lines(on older: Explanation.Older) -> [Printable] {
        let seen = Clock.date(older.seen)
        let accept: Printable = "if that is right, try: latchkey accept \(path.quoted)"
        guard let written = older.written.map(Clock.date) else {
            return ["\(older.what);", "this machine saw what is newer, or its removal, \(seen)", accept]
        }
        let what: [Printable] =
            switch older.verdict {
            case .older: ["this version was written \(written);", "this machine saw a newer one \(seen)"]
            case .back: ["it was removed or renamed \(seen),", "and is back in the version of \(written)"]
            case .conflict:
                [
                    "this version was written \(written);",
                    "this machine saw another one, changed apart from it, \(seen)",
                ]
            }
        return what + [accept]
    }

    /// What becomes of the class of a file whose folder gives new files another one.
    private static func note(on own: String, isExplicit: Bool, in folder: String) -> String {
        let isStricter =
            switch (ProtectionClass(attributeValue: own), ProtectionClass(attributeValue: folder)) {
            case (let own?, let folder?): own.isStricter(than: folder)
            default: false
            }
        let start = "new files in its folder get \(ProtectionClassName(folder).text); this one keeps its own class"
        return isExplicit || isStricter
            ? "\(start), also when a program saves it by a rename over it, but not when one saves it as a new file"
            : "\(start) until a program saves it as a new file"
    }

    private func named(_ name: String) -> String {
        ProtectionClassName(name).text
    }
}
