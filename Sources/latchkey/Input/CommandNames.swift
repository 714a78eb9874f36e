import ArgumentParser
import Posix

/// The names of the commands, as the grammar has them, and the likeliest one for a word that is none.
enum CommandNames {
    /// Throws if the words name a command that there is not.
    ///
    /// - Parameter words: the arguments of the program.
    static func check(_ words: [String]) throws(CommandError) {
        var command: any ParsableCommand.Type = Latchkey.self
        var path: [String] = []
        // The parser itself has this command.
        for word in words.first == "help" ? words.dropFirst() : words[...] {
            let children = command.configuration.subcommands
            guard !children.isEmpty, !word.isEmpty, !word.hasPrefix("-") else { return }
            guard let child = children.first(where: { names(of: $0).contains(word) }) else {
                throw unknown(word, after: path)
            }
            command = child
            path.append(child._commandName)
        }
    }

    /// All commands but hidden ones, each as the words by which it is called.
    static func all() -> [[String]] { all(below: Latchkey.self, []) }

    private static func all(below command: any ParsableCommand.Type, _ path: [String]) -> [[String]] {
        var found: [[String]] = []
        for child in command.configuration.subcommands where child.configuration.shouldDisplay {
            let own = path + [child._commandName]
            found.append(own)
            found += all(below: child, own)
        }
        return found
    }

    /// The command that the user may have meant; nil if none is close.
    static func suggestion(for word: String, after path: [String]) -> [String]? {
        let all = all()
        let word = word.lowercased()
        func meaning(_ synonym: String) -> [String]? {
            let known = (synonyms[synonym] ?? []).map { $0.split(separator: " ").map(String.init) }
            return known.first { all.contains($0) && $0.starts(with: path) }
        }
        // A command of another level only if it is the word, or nearly.
        let near = all.map { command -> (command: [String], distance: Int) in
            let isSibling = Array(command.dropLast()) == path
            return (command, distance(word, command.last ?? "") + (isSibling ? 0 : 1))
        }
        let nearest = near.min { $0.distance < $1.distance }
        if let meant = meaning(word) { return meant }
        if let nearest, nearest.distance <= 1 { return nearest.command }
        let longer = all.filter { Array($0.dropLast()) == path && $0.last?.hasPrefix(word) == true }
        if longer.count == 1 { return longer[0] }
        guard word.count > 3 else { return nil }
        let synonym = synonyms.keys.sorted().first { distance(word, $0) == 1 }
        if let meant = synonym.flatMap(meaning) { return meant }
        return nearest.flatMap { $0.distance <= 2 ? $0.command : nil }
    }

    /// What other programs call it. A command that there is not is passed over, so the likeliest comes first.
    static let synonyms: [String: [String]] = [
        "umount": ["unmount"], "eject": ["close", "unmount"], "close": ["unmount"], "stop": ["unmount"],
        "open": ["mount"], "decrypt": ["unlock"], "ls": ["list", "status", "slot list"], "list": ["status"],
        "info": ["status"], "ps": ["status"], "password": ["passwd"], "chpass": ["passwd"], "change": ["passwd"],
        "create": ["init"], "new": ["init"], "format": ["init"], "setup": ["init"], "check": ["fsck"],
        "verify": ["fsck"], "scrub": ["fsck"], "repair": ["fsck"], "destroy": ["erase"], "shred": ["erase"],
        "wipe": ["erase"], "key": ["slot"], "keys": ["slot list"], "protector": ["slot"], "rm": ["slot remove"],
        "delete": ["erase", "slot remove"], "rekey": ["rotate"], "reencrypt": ["rotate"], "benchmark": ["speed"],
        "bench": ["speed"], "watch": ["monitor"], "suspend": ["lock"],
        "probe": ["doctor"], "diagnose": ["doctor"], "statfs": ["doctor"],
    ]

    private static func names(of command: any ParsableCommand.Type) -> [String] {
        [command._commandName] + command.configuration.aliases
    }

    private static func unknown(_ word: String, after path: [String]) -> CommandError {
        let typed = (path + [word]).map { Path(argument: $0).printable }.joined(separator: " ")
        guard let meant = suggestion(for: word, after: path)?.joined(separator: " ") else {
            let help = (["latchkey help"] + path).joined(separator: " ")
            return CommandError(.usage, "unknown command \(typed)", try: "\(help)")
        }
        return CommandError(
            .usage, "unknown command \(typed): did you mean \(meant)?", try: "latchkey help \(meant)")
    }

    /// The least number of insertions, removals, replacements and swaps of neighbours that make one word the other.
    static func distance(_ one: String, _ other: String) -> Int {
        let (one, other) = (Array(one), Array(other))
        var rows = [Array(0...other.count)]
        for index in one.indices {
            var row = [index + 1]
            for place in other.indices {
                let isSame = one[index] == other[place]
                var least = min(rows[index][place + 1] + 1, row[place] + 1, rows[index][place] + (isSame ? 0 : 1))
                if index > 0, place > 0, one[index] == other[place - 1], one[index - 1] == other[place] {
                    least = min(least, rows[index - 1][place - 1] + 1)
                }
                row.append(least)
            }
            rows.append(row)
        }
        return rows[one.count][other.count]
    }
}
