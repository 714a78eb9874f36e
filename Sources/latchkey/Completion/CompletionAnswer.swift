import Administration
import Control
import Glibc
import Keybag
import Posix
import Store
import VaultNames

/// Answers a shell: `latchkey ---complete INDEX WORD...`.
///
/// The first line says which paths the shell adds; each further line is a candidate and, behind a tab, its meaning. An
/// answer never has an error: at a prompt it would stand between the words.
enum CompletionAnswer {
    static let request = "---complete"

    static func write(_ arguments: [String]) {
        // Ends a process that waits for a file system that does not answer.
        signal(SIGALRM, SIG_DFL)
        alarm(2)
        guard let index = arguments.first.flatMap({ Int($0) }), index >= 0, let grammar = Grammar.ofThisProgram()
        else { return }
        let words = Array(arguments.dropFirst())
        let completion = Completion(grammar, words: words, at: index)
        let current = words.indices.contains(index) ? words[index] : ""
        var lines = [completion.paths.rawValue]
        for candidate in completion.candidates + found(completion.source) {
            // A word with a line end or another hidden character cannot be handed over in a line.
            guard candidate.word.utf8.starts(with: current.utf8),
                !candidate.word.unicodeScalars.contains(where: \.isHidden)
            else { continue }
            let meaning = Printable(candidate.meaning.prefix { $0 != "." && $0 != "\n" }).text
            lines.append(meaning.isEmpty ? candidate.word : "\(candidate.word)\t\(meaning)")
        }
        Standard.output(Printable(verbatim: lines.joined(separator: "\n")))
    }

    private static func found(_ source: Completion.Source?) -> [Completion.Candidate] {
        switch source {
        case .mounts:
            mounts.compactMap { mount in
                mount.mountPoint.text.map {
                    Completion.Candidate(word: $0, meaning: "mount of \(mount.source.printable)")
                }
            }
        case .names: names
        case .mountsAndNames: names + found(.mounts)
        case .slots(let place): slots(of: place)
        case nil: []
        }
    }

    /// None if the configuration is wrong.
    private static var names: [Completion.Candidate] {
        ((try? NamedVaults.load())?.vaults ?? []).map {
            Completion.Candidate(word: $0.name.text, meaning: "vault in \($0.folder)")
        }
    }

    /// This user's mounts, by the kernel's table alone: no daemon is asked.
    private static var mounts: [MountTable.Entry] {
        let user = geteuid()
        return ((try? MountTable())?.entries ?? []).filter {
            $0.isLatchkey && (user == 0 || $0.user == nil || $0.user == user)
        }
    }

    private static func slots(of place: String?) -> [Completion.Candidate] {
        let vault: Path
        if let place, let named = (try? NamedVaults.load())?[place] {
            vault = named.folderPath
        } else if let place {
            let path = AbsolutePath(lexically: Path(place)).path
            let mount = mounts.filter { path.isInside($0.mountPoint) }.last
            vault = mount?.source ?? path
        } else {
            guard let only = mounts.first, mounts.count == 1 else { return [] }
            vault = only.source
        }
        guard let store = try? DirectoryStore(path: vault), let keybag = try? OpenKeybag.inspect(store) else {
            return []
        }
        return keybag.slots.map { slot in
            let worded = Slot(slot)
            return Completion.Candidate(
                word: "\(worded.id)", meaning: worded.name.isEmpty ? worded.kind : "\(worded.kind), \(worded.name)")
        }
    }
}
