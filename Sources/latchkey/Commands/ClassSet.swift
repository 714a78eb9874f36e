import Administration
import ArgumentParser
import Format
import Posix

extension Class {
    struct Set: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Set the class of files and folders.",
            discussion: """
                On a folder it is the default for what is created in it from then on; -R sets it on everything below \
                as well. Errors do not stop the rest: they are counted, and the exit code is 4 if any was because of \
                the lock. Interrupted, and given once more, -R goes on where it was; with --rekey, what has got its \
                new key since is left alone.
                """)

        @Flag(name: [.customShort("R"), .customLong("recursive")], help: "Folders with everything below them.")
        var isRecursive = false

        @Flag(
            help: """
                Give files with contents a new key too, by a copy that takes their place: then no key that a weaker \
                class once wrapped opens them. Not for files with several hard links.
                """)
        var rekey = false

        @Argument(
            help: ArgumentHelp(
                "A long name, or a letter from A to D.",
                valueName: "class"))
        var argument: ClassArgument

        @Argument(help: ArgumentHelp("Files or folders in a mount.", valueName: "path"))
        var paths: [String]

        func run() throws {
            let mounts = try MountTable()
            let work = ClassSetting(argument.protectionClass, recursive: isRecursive, rekey: rekey)
            try work.run(on: paths, in: mounts)
            if isRecursive || paths.count > 1 { Standard.output("\(work.summary)") }
            try work.failures.end(of: work.count)
        }
    }
}
