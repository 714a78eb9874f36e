import Administration
import Posix

extension StoreReport {
    /// For people.
    var text: Printable {
        var table = Table()
        table.add("vault", isVault ? mountPoint.map { "mounted at \($0)" } ?? "not mounted" : "none yet")
        table.add("store", "\(Printable(facts.kind.engine))\(of)")
        table.add("reached", facts.kind.isLocal ? "through this machine only" : "perhaps by other machines, too")
        for feature in StoreFeature.allCases { table.add("\(feature.label)", "\(answer(feature))") }
        let findings = facts.findings.map { finding -> Printable in
            "  \(finding.severity.rawValue): \(Printable(line: finding.sentence))"
        }
        let heading: Printable = findings.isEmpty ? "A vault can do there all that it promises." : "What follows:"
        return "\(folder)\n\(table.lines(indent: 2))\n" + ([heading] + findings).joined(separator: "\n")
    }

    private var of: Printable {
        let source = facts.kind.source
        let name: Printable = facts.kind.name == facts.kind.engine ? "" : " (\(Printable(facts.kind.name)))"
        return source.isEmpty ? name : "\(name) of \(source)"
    }

    private func answer(_ feature: StoreFeature) -> Printable {
        let fact = facts[feature]
        let words: Printable =
            switch fact.answer {
            case .yes: "yes"
            case .no: "no"
            case .number(let number): Self.amount(number, feature)
            case .unknown: "unknown"
            }
        return fact.errno.map { "\(words) (\($0.name))" } ?? words
    }

    private static func amount(_ number: Int64, _ feature: StoreFeature) -> Printable {
        switch feature {
        case .timeGrain: number < 1_000_000_000 ? "\(number) ns" : "\(number / 1_000_000_000) s"
        case .cacheSeconds: "\(number) s"
        default: "\(Amount.of(Int(clamping: number), "byte"))"
        }
    }
}

extension StoreFeature {
    /// What stands before the answer.
    fileprivate var label: String {
        switch self {
        case .inodeOfOpenFile: "inode number of an open file is its name's"
        case .inodeAfterRename: "inode number stays after a rename"
        case .inodeAfterReopening: "inode number stays when opened again"
        case .listing: "listing a folder"
        case .exclusiveCreate: "exclusive create"
        case .renameOver: "rename over a name"
        case .hardLinks: "hard links"
        case .inodeOfHardLinks: "hard links share an inode number"
        case .symbolicLinks: "symbolic links"
        case .symbolicLinkRenameOver: "rename over a symbolic link is seen"
        case .caseSensitive: "a and A differ"
        case .nameBytes: "longest name"
        case .renameOpenFile: "rename of an open file"
        case .openFileAfterReplacement: "an open file stays itself when replaced"
        case .randomWrites: "writes at any offset"
        case .syncFile: "fsync of a file"
        case .syncFolder: "fsync of a folder"
        case .readAfterUnlink: "reading a removed file that is open"
        case .namelessFiles: "files without a name (O_TMPFILE)"
        case .holes: "holes take no space"
        case .seekHole: "SEEK_HOLE finds holes"
        case .punchHole: "punching holes"
        case .userAttributes: "extended attributes (user.*)"
        case .attributeBytes: "largest extended attribute"
        case .setTimes: "setting times"
        case .timeGrain: "grain of times"
        case .flock: "flock"
        case .descriptionLocks: "OFD locks"
        case .sharedLocks: "other machines see locks"
        case .lastingInodes: "inode numbers stay after a remount"
        case .cacheSeconds: "cache, by default"
        case .syncReachesStore: "fsync reaches the store"
        case .lasting: "files stay when the machine goes off"
        }
    }
}
