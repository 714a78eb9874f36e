import Administration
import ArgumentParser
import Glibc
import Posix

/// `latchkey conflicts list`
struct ListConflicts: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the versions that were put aside, in a mount or a folder of it.",
        discussion: """
            With --json: a list of objects. Fields: path, of (the file that it is a version of, which may be missing), \
            size (in bytes), modified (seconds since 1970). A path that is not UTF-8 is escaped, and pathBase64 or \
            ofBase64 has its bytes. Fields may be added.
            """ + Examples.of("latchkey conflicts list ~/private"))

    @Flag(help: "Write JSON.")
    var json = false

    @Argument(
        help: ArgumentHelp("A mount, a folder in it, or a vault's name. (default: all mounts)", valueName: "path"))
    var paths: [Path] = []

    func run() throws {
        var walk = ConflictWalk()
        let places =
            try paths.isEmpty
            ? mounts()
            : paths.map { (path) throws(CommandError) in
                let word = try VaultWord(path)
                return word.named?.point ?? path
            }
        for place in places { walk.search(place) }
        if json { Standard.output(try JSON.text(walk.found)) } else { show(walk.found) }
        try walk.failures.end(of: places.count + walk.failures.count)
    }

    private func mounts() throws(CommandError) -> [Path] {
        try inWords(try MountTable()).entries.filter { $0.isLatchkey && $0.user == geteuid() }.map(\.mountPoint)
    }

    private func show(_ conflicts: [Conflict]) {
        guard !conflicts.isEmpty else { return Standard.output("No version is put aside.") }
        for conflict in conflicts {
            Standard.output(
                "\(conflict.path)\n  a version of \(conflict.original), \(Amount.bytes(conflict.size)), changed \(Clock.date(conflict.modified))"
            )
        }
        Standard.output(
            """

              try: latchkey conflicts take FILE   (it takes the name, and the version that has it goes)
              try: latchkey conflicts drop FILE   (it goes)
            """)
    }
}
