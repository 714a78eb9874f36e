import Administration
import ArgumentParser
import Format
import Posix

extension Class {
    struct Get: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show the class of files and folders, and whether it was set or inherited.",
            discussion: """
                A folder's class is the default for new files in it. The command also works while the mount is locked. \
                Control characters and invisible characters of a name are shown as in C, such as \\n or \\u202e. With \
                -0 each line has the letter of the class, its name, "set" or "inherited", and the unchanged path, with \
                a tab between two fields and a NUL at the end.
                """)

        @Flag(
            name: [.customShort("0"), .customLong("null")],
            help: "For programs: unchanged paths, with a NUL after each line.")
        var isForPrograms = false

        @Argument(help: ArgumentHelp("Files or folders in a mount.", valueName: "path"))
        var paths: [String]

        func run() throws {
            let mounts = try MountTable()
            var table = Table()
            var failures = Failures()
            for path in paths {
                failures.collect { () throws(CommandError) in
                    let file = try inWords(try ClassedFile(path: path, in: mounts))
                    let (found, isExplicit): (ProtectionClass, Bool)
                    do throws(Errno) {
                        found = try file.protectionClass()
                        isExplicit = try file.isExplicit()
                    } catch {
                        throw CommandError(cannot: "read the class of", path, error)
                    }
                    let origin = isExplicit ? "set" : "inherited"
                    if isForPrograms {
                        Standard.output(record: [found.letter, found.name, origin, path])
                    } else {
                        table.add("\(found.letter)", "\(found.name)", "\(origin)", "\(path)")
                    }
                }
            }
            if !table.isEmpty { Standard.output(table.lines()) }
            try failures.end(of: paths.count)
        }
    }
}
