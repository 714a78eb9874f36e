import Administration
import ArgumentParser
import Control
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
            classes of a database and of SQLite's files beside it do not go together); and ciphertext (fields, \
            header, block in hexadecimal).
            """)

    @Flag(help: "Show the file's header and first block as they are on disk: what a thief sees.")
    var ciphertext = false

    @Flag(help: "Write JSON.")
    var json = false

    @Argument(help: ArgumentHelp("Files or folders in a mount, or in a vault.", valueName: "path"))
    var paths: [String]

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
    private let path: String
    private let explanation: Explanation?
    private let backingPath: String
    private let ciphertext: Ciphertext?
    private let warnings: [String]

    init(of path: String, withCiphertext: Bool) throws(CommandError) {
        self.path = path
        let (folder, name): (Descriptor, Name)
        let file: Descriptor
        let device: UInt64
        do {
            (folder, name) = try Descriptor.parent(of: path)
            file = try folder.open(name, O_PATH | O_NOFOLLOW)
            device = try file.status().device
        } catch {
            throw CommandError(cannot: "open", path, error)
        }
        if let entry = try inWords(try MountTable()).latchkeyMount(device: device) {
            let mount = try PathArgument.mount(of: entry.mountPoint)
            do {
                let found = try mount.client.explain(file)
                explanation = found
                warnings = found.kind == .file ? DatabaseWarnings.all(about: name, in: folder) : []
                backingPath = (mount.status.vault.asFolder + found.backingPath).trimmingTrailingSlashes
            } catch {
                throw CommandError(error, at: entry.mountPoint)
            }
        } else {
            try Self.checkVault(around: path, withCiphertext: withCiphertext)
            explanation = nil
            warnings = []
            backingPath = path
        }
        ciphertext = withCiphertext ? try Ciphertext(of: backingPath) : nil
    }

    /// Without a mount only ciphertext can be shown, and only of a file in a vault.
    private static func checkVault(around path: String, withCiphertext: Bool) throws(CommandError) {
        guard PathArgument.vault(around: AbsolutePath(lexically: path)) != nil else {
            throw CommandError(
                .notFound, "\(path) is neither in a Latchkey mount nor in a vault", try: "latchkey status")
        }
        guard withCiphertext else {
            throw CommandError(
                .notFound, "\(path) lies in a vault, where everything is ciphertext",
                try: "latchkey explain --ciphertext \(path.quoted)", "latchkey status")
        }
    }

    private enum Key: String, CodingKey { case path, backingPath, warnings, ciphertext }

    /// The explanation's fields are encoded beside the others, not in an object of their own.
    func encode(to encoder: any Encoder) throws {
        try explanation?.encode(to: encoder)
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(path, forKey: .path)
        try container.encode(backingPath, forKey: .backingPath)
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
        if let name = found.class {
            table.add("class", "\(named(name)), \(found.isExplicit ? "set on it" : "inherited when it was made")")
        } else {
            table.add("class", "-, only files and folders have one; its name is encrypted all the same")
        }
        if let key = found.wrappedBy { table.add("wrapped by", "\(key)") }
        if found.kind == .file { table.add("file key", found.hasKeyInMemory ? "in memory" : "not in memory") }
        table.add("lock state", "\(found.state.rawValue)")
        table.add("possible now", found.actions.filter(\.allowed).map { "\($0.name)" })
        table.add(
            "not now",
            found.actions.filter { !$0.allowed }.map { "\($0.name)\($0.reason.map { ": \($0)" } ?? "")" })
        table.add("backing file", "\(backingPath)")
        if let own = found.class, let folder = found.directoryClass, own != folder, found.kind == .file {
            table.add("note", "new files in its folder get \(named(folder)); this one keeps its own class")
        }
        for warning in warnings { table.add("warning", "\(warning)") }
        return "\(path)\n\(table.lines(indent: 2))"
    }

    private func named(_ name: String) -> String {
        ProtectionClassName(name).text
    }
}
