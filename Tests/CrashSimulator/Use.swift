import Format
import Posix
import TestSupport
import Vault

/// Uses a vault after a crash: a vault that reads must also take changes, and keep them over the next crash.
struct Use {
    private let vault: Vault
    private var random: SeededRandom
    private(set) var violations: [Violation] = []
    /// The current contents of each file.
    private(set) var contents: [FileIdentifier: [UInt8]] = [:]
    private var left = 8
    /// Files that are not used, those included of which a copy has made several.
    private var spared: Set<FileIdentifier> = []

    init(
        of vault: Vault, _ root: Directory, _ observation: Observation, seed: UInt64,
        sparing spared: (FileIdentifier) -> Bool
    ) {
        self.vault = vault
        random = SeededRandom(seed)
        for folder in observation.folders.values {
            for case .file(let file) in folder.entries.values where spared(file.identifier) || observation.isSplit(file)
            {
                self.spared.insert(file.identifier)
            }
        }
        use(root, at: "", observation)
        do throws(VaultError) {
            try vault.makeDirectory("lately made", in: root, Ownership(mode: 0o755, user: 0, group: 0))
            try vault.removeDirectory("lately made", in: root)
        } catch { violations.append(Violation(.stuck, "mkdir: \(error)")) }
    }

    private mutating func use(_ directory: Directory, at path: String, _ observation: Observation) {
        let entries = observation.folders[directory.identifier]?.entries ?? [:]
        for (name, entry) in entries.sorted(by: { $0.key.bytes.lexicographicallyPrecedes($1.key.bytes) }) {
            guard left > 0 else { return }
            let path = "\(path)/\(name)"
            do throws(VaultError) {
                switch entry {
                case .directory:
                    use(try vault.openDirectory(name, in: directory), at: path, observation)
                case .file(let file):
                    // One of several names.
                    guard let bytes = file.bytes, contents[file.identifier] == nil, !spared.contains(file.identifier)
                    else { continue }
                    left -= 1
                    let opened = try vault.openFile(name, in: directory)
                    // As open(2) does.
                    try opened.loadKey()
                    try opened.prepareToWrite()
                    try use(opened, at: path, bytes)
                default: continue
                }
            } catch { violations.append(Violation(.stuck, "\(path): \(error)")) }
        }
    }

    private mutating func use(_ file: File, at path: String, _ bytes: [UInt8]) throws(VaultError) {
        var expected = bytes
        for _ in 0..<4 {
            let new = random.bytes([1, 200, 5000].randomElement(using: &random)!)
            switch Int.random(in: 0..<6, using: &random) {
            case 0: try file.synchronize(dataOnly: true)
            case 1: try file.synchronize(dataOnly: false)
            case 2, 3:
                do { try unsafe file.write(new.span.bytes, at: UInt64(expected.count)) }
                expected += new
            case 4:
                let offset = Int.random(in: 0...expected.count, using: &random)
                do { try unsafe file.write(new.span.bytes, at: UInt64(offset)) }
                if expected.count < offset + new.count {
                    expected = expected.first(expected.count, of: offset + new.count)
                }
                expected.overwrite(at: offset, with: new)
            default:
                let size = Int.random(in: 0...expected.count + 100, using: &random)
                try file.truncate(to: UInt64(size))
                expected = expected.first(min(size, expected.count), of: size)
            }
        }
        if try file.wholeContents() != expected {
            violations.append(Violation(.stuck, "\(path): not what was written"))
        }
        try file.synchronize(dataOnly: true)
        contents[file.identifier] = expected
    }

    /// What the next opening fails to find of these changes.
    func violations(in observation: Observation) -> [Violation] {
        var violations = observation.violations.map { Violation(.stuck, "next time: \($0.kind.rawValue): \($0.what)") }
        for folder in observation.folders.values {
            for case .file(let file) in folder.entries.values {
                guard let expected = contents[file.identifier], let bytes = file.bytes else { continue }
                if bytes == expected { continue }
                violations.append(Violation(.stuck, "next time: a file in \(folder.path) is not what was synced"))
            }
        }
        return violations
    }
}
