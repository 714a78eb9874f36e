import TestSupport
import Testing

/// What happens to a file's backing file without the daemon's knowledge while it is mounted.
enum BackingDamage: String, CaseIterable, CustomTestStringConvertible {
    case removed, replacedByAnother, replacedByForeign, replacedByFolder, replacedByLink, replacedByFIFO, emptied,
        truncated
    case renamed

    var testDescription: String { rawValue }

    /// - Parameter other: the backing file of another file of the vault.
    func happen(to backing: String, other: String) throws {
        let script =
            switch self {
            case .removed: "rm \"$1\""
            case .replacedByAnother: "cp -a \"$2\" \"$1.x\"; mv \"$1.x\" \"$1\""
            case .replacedByForeign: "rm \"$1\"; head -c 20000 /dev/urandom > \"$1\""
            case .replacedByFolder: "rm \"$1\"; mkdir \"$1\"; echo x > \"$1/x\""
            case .replacedByLink: "rm \"$1\"; ln -s \"$2\" \"$1\""
            case .replacedByFIFO: "rm \"$1\"; mkfifo \"$1\""
            case .emptied: ": > \"$1\""
            case .truncated: "truncate -s 4000 \"$1\""
            case .renamed: "mv \"$1\" \"$1.old\""
            }
        try run("sh", ["-euc", script, "sh", backing, other]).succeeded()
    }
}

/// A file whose backing file is damaged, and what the kernel and daemon know of it at that moment.
struct Victim {
    enum Knowledge: String, CaseIterable {
        /// Not looked up since the mount.
        case unknown
        /// Looked up by stat(2) just before.
        case known
        /// Open in a program that has read its first block.
        case open
        /// Written to by a program that has synced nothing.
        case written
    }

    let damage: BackingDamage
    let knowledge: Knowledge
    let number: Int

    static let all = BackingDamage.allCases.enumerated().flatMap { index, damage in
        Knowledge.allCases.enumerated().map { number, knowledge in
            Victim(damage: damage, knowledge: knowledge, number: index * Knowledge.allCases.count + number)
        }
    }

    var name: String { "\(damage)-\(knowledge)" }
    var contents: [UInt8] { [UInt8](seed: number + 10, count: 20_000) }
}
