import ArgumentParser
import Format
import Posix

extension Class {
    struct Get: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show the class of files and folders, and whether it was set or inherited.",
            discussion: "A folder's class is the default for what is created in it. Answers while locked, too.")

        @Argument(help: ArgumentHelp("Files or folders in a mount.", valueName: "path"))
        var paths: [String]

        func run() throws {
            let mounts = try MountTable()
            var table = Table()
            var failures = Failures()
            for path in paths {
                failures.collect { () throws(CommandError) in
                    let file = try ClassedFile(path: path, in: mounts)
                    do throws(Errno) {
                        let found = try file.protectionClass()
                        let isExplicit = try file.isExplicit()
                        table.add(found.letter, found.name, isExplicit ? "set" : "inherited", path)
                    } catch {
                        throw CommandError(cannot: "read the class of", path, error)
                    }
                }
            }
            if !table.isEmpty { Standard.output(table.lines()) }
            try failures.end(of: paths.count)
        }
    }
}
