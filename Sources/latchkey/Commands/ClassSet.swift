import Administration
import ArgumentParser
import Format
import Posix

extension Class {
    struct Set: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Set the class of files and folders.",
            discussion: """
                A folder's class is the default for what is created in it afterwards; -R also sets the class of \
                everything below the folder. After an error the command goes on and counts it; the exit code is 4 if \
                any error was because of the lock. An interrupted -R continues when it is run again; with --rekey, \
                files that have got their new key since are skipped.

                --json writes an object: class (the long name), count (files and folders visited), set and failed \
                (how many of them). Fields may be added.
                """
                    + Examples.of(
                        "latchkey class set complete ~/private/diary", "latchkey class set -R B ~/private/mail"))

        @Flag(name: [.customShort("R"), .customLong("recursive")], help: "Also set the class of everything below.")
        var isRecursive = false

        @Flag(
            help: """
                Also give files with contents a new key, by replacing each file with a copy: then no key that a weaker \
                class has ever wrapped opens them. Not for files with several hard links.
                """)
        var rekey = false

        @Flag(help: "Write JSON.")
        var json = false

        @Argument(
            help: ArgumentHelp(
                "A long name, or a letter from A to D.",
                valueName: "class"))
        var argument: ClassArgument

        @Argument(help: ArgumentHelp("Files or folders in a mount.", valueName: "path"))
        var paths: [Path]

        func run() throws {
            let mounts = try MountTable()
            let work = ClassSetting(argument.protectionClass, recursive: isRecursive, rekey: rekey)
            try work.run(on: paths, in: mounts)
            if json {
                Standard.output(try JSON.text(work.result))
            } else if isRecursive || paths.count > 1 {
                Standard.output("\(work.summary)")
            }
            try work.failures.end(of: work.count)
        }
    }
}
