/// What may stand at the cursor of a command line that is not finished.
struct Completion: Equatable {
    /// What the shell adds by itself: it knows how to list and quote paths.
    enum Paths: String, Equatable { case none, directories, files }

    struct Candidate: Equatable {
        var word: String
        var meaning = ""
    }

    /// What only this machine can tell.
    enum Source: Equatable {
        case mounts
        /// The names of the configuration.
        case names
        case mountsAndNames
        /// Of the vault at this place; of the only mount if nil.
        case slots(of: String?)
    }

    var paths = Paths.none
    var candidates: [Candidate] = []
    var source: Source?
    /// Stands before every candidate: `--option=`.
    var prefix = ""

    /// - Parameters:
    ///   - words: the words behind the program's name, without the shell's quotes.
    ///   - index: of the word at the cursor, which ends there.
    init(_ grammar: Grammar, words: [String], at index: Int) {
        let current = words.indices.contains(index) ? words[index] : ""
        var line = CommandLinePrefix(grammar.command)
        guard words.prefix(index).allSatisfy({ line.accept($0) }) else { return }
        if let option = line.openOption {
            offerValues(of: option, of: line.path, words, at: index)
        } else if !line.onlyObjects, current.hasPrefix("--"), let equals = current.firstIndex(of: "=") {
            guard let option = line.command.option(String(current[..<equals])), option.kind == .option else { return }
            offerValues(of: option, of: line.path, words, at: index)
            prefix = String(current[...equals])
            candidates = candidates.map { Candidate(word: prefix + $0.word, meaning: $0.meaning) }
        } else if !line.onlyObjects, current.hasPrefix("-") {
            offerOptions(line)
        } else if let commands = line.command.subcommands {
            offer(commands)
        } else if let object = line.nextObject {
            offerValues(of: object, of: line.path, words, at: index)
        } else if !line.onlyObjects {
            offerOptions(line)
        }
    }

    private mutating func offer(_ commands: [Grammar.Command]) {
        candidates = commands.filter(\.shouldDisplay).map {
            Candidate(word: $0.commandName, meaning: $0.abstract ?? "")
        }
    }

    private mutating func offerOptions(_ line: CommandLinePrefix) {
        let left = line.command.options.filter { $0.isRepeating || line.given.isDisjoint(with: $0.spellings) }
        candidates = left.compactMap { option in
            option.spellings.first { $0.hasPrefix("--") }.map { Candidate(word: $0, meaning: option.abstract ?? "") }
                ?? option.spellings.first.map { Candidate(word: $0, meaning: option.abstract ?? "") }
        }
    }

    /// Every command names its values in the same way, so that a new command completes without a list of its own.
    private mutating func offerValues(
        of argument: Grammar.Argument, of path: [String], _ words: [String], at index: Int
    ) {
        let alternatives = (argument.valueName ?? "").split(separator: "|").map(String.init)
        let values = argument.allValues ?? (alternatives.count > 1 ? alternatives : [])
        guard values.isEmpty else {
            candidates = values.map { Candidate(word: $0) }
            return
        }
        switch argument.valueName {
        case "vault", "dir":
            paths = .directories
            guard argument.kind == .positional else { return }
            switch (path.first, argument.valueName) {
            // A new vault, and an empty folder.
            case ("init", _), ("mount", "dir"): break
            case ("mount", _): source = .names
            default: source = .mountsAndNames
            }
        case "name" where path.first == "close":
            paths = .directories
            source = .mountsAndNames
        case "name" where path.first == "open":
            source = .names
        case "path", "file", "command":
            paths = .files
        case "number" where path == ["slot", "remove"]:
            source = .slots(of: words.dropFirst(index + 1).first { !$0.isEmpty && !$0.hasPrefix("-") })
        default:
            break
        }
    }
}

/// The words before the cursor, as the parser would read them.
struct CommandLinePrefix {
    private(set) var command: Grammar.Command
    /// The commands up to here.
    private(set) var path: [String] = []
    /// Options that were given.
    private(set) var given: Set<String> = []
    /// An option whose value comes next.
    private(set) var openOption: Grammar.Argument?
    /// Behind `--`.
    private(set) var onlyObjects = false
    private var objects = 0

    init(_ root: Grammar.Command) { command = root }

    /// The object that comes next; nil if the command takes no further one.
    var nextObject: Grammar.Argument? {
        let all = command.positionals
        if objects < all.count { return all[objects] }
        return all.last.flatMap { $0.isRepeating ? $0 : nil }
    }

    /// Takes the next word; false if the program would not.
    mutating func accept(_ word: String) -> Bool {
        if openOption != nil {
            openOption = nil
            return true
        }
        if !onlyObjects, word.hasPrefix("-"), word != "-" {
            if word == "--" {
                onlyObjects = true
                return true
            }
            let name = word.hasPrefix("--") ? String(word.prefix { $0 != "=" }) : String(word.prefix(2))
            guard let option = command.option(name) else { return false }
            given.formUnion(option.spellings)
            if option.kind == .option, name == word { openOption = option }
            return true
        }
        if command.subcommands != nil {
            // `help` names another command: the words behind it are read as that one's.
            guard let child = command.child(word) else { return false }
            if word == "help", path.isEmpty { return true }
            command = child
            path.append(word)
            return true
        }
        guard let object = nextObject else { return false }
        objects += 1
        if object.takesTheRest { onlyObjects = true }
        return true
    }
}
