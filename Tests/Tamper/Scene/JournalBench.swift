import Format
import Glibc
import Posix
import Store
import TestStores
import Vault

/// A vault whose daemon has died with writes that are durable in the journal alone.
final class JournalBench {
    /// The folder as the daemon left it, and as it was some time before.
    private(set) var current = BackingImage()
    private(set) var earlier = BackingImage()
    private let scene: TamperScene
    private let folder: BackingFolder
    private let extent: Bench.Extent
    /// The contents of each file after each write, the last state last. Empty: not made yet.
    private var states: [String: [[UInt8]]] = [:]
    private var index = 0
    private(set) var tally = Tally()

    enum Expectation {
        case refusal
        case right
        /// Each file as it was after one of its writes.
        case earlier
        /// The same as another attempt showed.
        case same([String: Seen])
    }

    var journal: [UInt8] { current.bytes("lk.journal") }

    init(_ scene: TamperScene, _ extent: Bench.Extent) throws {
        self.scene = scene
        self.extent = extent
        folder = try BackingFolder()
        try folder.hold(scene.current)
        let (vault, root) = try open(isReadOnly: false)
        // As a daemon that is killed.
        defer { vault.abandon() }
        for path in TamperScene.classes.map({ "\($0.letter)/8193" }) {
            guard case .file(let file) = scene.written[path]! else { continue }
            states[path] = [file.blocks.flatMap { $0! }]
        }
        for round in 1...2 {
            for path in states.keys.sorted() where !path.hasSuffix("new") { try rewrite(path, round, vault, root) }
            if round == 1 {
                for letter in TamperScene.classes.map(\.letter) { try make("\(letter)/new", vault, root) }
                earlier = try folder.image()
            }
        }
        current = try folder.image()
        try folder.hold(current, afresh: true)
    }

    private func open(isReadOnly: Bool) throws -> (vault: Vault, root: Directory) {
        let vault = Vault(
            store: UnallocatingStore(try DirectoryStore(path: Path(folder.path))), keys: scene.keys,
            ring: scene.ring, traits: TamperScene.traits, isReadOnly: isReadOnly, journalSize: .smallest)
        return (vault, try vault.openRoot())
    }

    private func locate(_ path: String, _ vault: Vault, _ root: Directory) throws -> (Directory, Name) {
        let parts = path.split(separator: "/").map { Name(bytes: $0.utf8)! }
        return (try vault.openDirectory(parts[0], in: root), parts[1])
    }

    /// Overwrites durable blocks and appends behind them; then syncs.
    private func rewrite(_ path: String, _ round: Int, _ vault: Vault, _ root: Directory) throws {
        let (parent, name) = try locate(path, vault, root)
        let file = try vault.openFile(name, in: parent)
        var bytes = states[path]!.last!
        let written = [UInt8](of: path, version: 10 + round, count: 300)
        for start in [0, bytes.count] {
            try unsafe file.write(written.span.bytes, at: UInt64(start))
            bytes.replaceSubrange(start..<min(bytes.count, start + 300), with: written)
            states[path]!.append(bytes)
        }
        try file.synchronize(dataOnly: true)
    }

    private func make(_ path: String, _ vault: Vault, _ root: Directory) throws {
        let (parent, name) = try locate(path, vault, root)
        let ownership = Ownership(mode: 0o644, user: getuid(), group: getgid())
        let file = try vault.createFile(name, in: parent, ownership, parent.record.defaultClass)
        let bytes = [UInt8](of: path, version: 1, count: 5000)
        try unsafe file.write(bytes.span.bytes, at: 0)
        try file.synchronize(dataOnly: true)
        states[path] = [[], bytes]
    }

    // MARK: Tries

    func attempt(
        _ what: @autoclosure () -> String, expecting expected: Expectation, _ change: (inout BackingImage) -> Void
    ) throws {
        defer { index += 1 }
        guard extent.wants(index) else { return }
        var image = current
        change(&image)
        try folder.hold(image)
        tally.count(outcome(look(isReadOnly: true), expected), what())
        guard tally.tries % 16 == 1 else { return }
        tally.count(outcome(look(isReadOnly: false), expected), what() + ", opened to write")
        try folder.hold(image, afresh: true)
    }

    /// Leaves an entry as a crash may leave one that was never durable: missing.
    func attemptOrphan(_ path: String, _ change: (inout BackingImage, String) -> Void) throws {
        defer { index += 1 }
        guard extent.wants(index) else { return }
        var image = current
        change(&image, scene.backing(path))
        for isReadOnly in [true, false] {
            Bench.progress.add(1, ordering: .relaxed)
            try folder.hold(image, afresh: true)
            let (vault, root) = try open(isReadOnly: isReadOnly)
            let seen = VaultReader(vault, root: root).see(path)
            if !isReadOnly { try vault.close() }
            tally.count(seen == .missing ? .documented : .violation(seen.summary), "/\(path)")
        }
        try folder.hold(current, afresh: true)
    }

    /// What a changed vault shows, for a comparison with other attempts.
    func reference(_ change: (inout BackingImage) -> Void) throws -> [String: Seen] {
        var image = current
        change(&image)
        try folder.hold(image)
        return look(isReadOnly: true)
    }

    private func look(isReadOnly: Bool) -> [String: Seen] {
        Bench.progress.add(1, ordering: .relaxed)
        do {
            let (vault, root) = try open(isReadOnly: isReadOnly)
            let reader = VaultReader(vault, root: root)
            defer { if !isReadOnly { try? vault.close() } }
            return Dictionary(uniqueKeysWithValues: states.keys.map { ($0, reader.see($0)) })
        } catch {
            let refusal = VaultReader.refusal(error)
            return Dictionary(uniqueKeysWithValues: states.keys.map { ($0, refusal) })
        }
    }

    private func outcome(_ seen: [String: Seen], _ expected: Expectation) -> Tally.Outcome {
        switch expected {
        case .refusal:
            let other = seen.first { $0.value != .refused }
            return other.map { .violation("/\($0.key) is \($0.value.summary)") } ?? .refused
        case .same(let reference):
            if let other = seen.first(where: { $0.value != reference[$0.key] }) {
                return .violation("/\(other.key) is \(other.value.summary), not \(reference[other.key]!.summary)")
            }
        case .right, .earlier: break
        }
        var outcome = Tally.Outcome.right
        for (path, seen) in seen {
            switch standing(of: path, seen) {
            case nil: return .violation("/\(path) is \(seen.summary), which it never was")
            case .right?: break
            case let other?: outcome = other
            }
        }
        if case .right = expected, outcome != .right { return .violation("not all is there that was written") }
        return outcome
    }

    /// Nil if the file was never like that.
    private func standing(of path: String, _ seen: Seen) -> Tally.Outcome? {
        let states = states[path]!
        switch seen {
        case .file(let file):
            let whole = file.blocks.contains { $0 == nil } ? nil : file.blocks.flatMap { $0! }
            guard let whole, let state = states.lastIndex(of: whole) else { return nil }
            return state == states.count - 1 ? .right : .documented
        case .missing, .refused: return states[0].isEmpty ? .documented : nil
        default: return nil
        }
    }
}
