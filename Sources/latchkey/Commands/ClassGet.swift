import Administration
import ArgumentParser
import Control
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

                --json writes a list with an object for each PATH whose class could be read: path, pathBase64 (its bytes, \
                only if they are not UTF-8; path is escaped then), class (the long name), isExplicit (whether it was \
                set). Fields may be added.
                """
                    + Examples.of(
                        "latchkey class get ~/private ~/private/note", "latchkey class get --json ~/private/note"))

        @Flag(
            name: [.customShort("0"), .customLong("null")],
            help: "For programs: unchanged paths, with a NUL after each line.")
        var isForPrograms = false

        @Flag(help: "Write JSON.")
        var json = false

        @Argument(help: ArgumentHelp("Files or folders in a mount.", valueName: "path"))
        var paths: [Path]

        func validate() throws {
            if json, isForPrograms { throw ValidationError("--json and -0 exclude each other.") }
        }

        func run() throws {
            let mounts = try MountTable()
            var table = Table()
            var classes: [ClassOfPath] = []
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
                    if json {
                        classes.append(ClassOfPath(path, class: found.name, isExplicit: isExplicit))
                    } else if isForPrograms {
                        Standard.output(record: [found.letter, found.name, origin], path)
                    } else {
                        table.add("\(found.letter)", "\(found.name)", "\(origin)", "\(path)")
                    }
                }
            }
            if json { Standard.output(try JSON.text(classes)) }
            if !table.isEmpty { Standard.output(table.lines()) }
            try failures.end(of: paths.count)
        }
    }
}

/// The class of one file or folder, for scripts.
private struct ClassOfPath: Encodable {
    let path: String
    let pathBase64: String?
    let `class`: String
    let isExplicit: Bool

    init(_ path: Path, class: String, isExplicit: Bool) {
        (self.path, pathBase64) = PathInJSON.pair(path)
        (self.class, self.isExplicit) = (`class`, isExplicit)
    }
}
