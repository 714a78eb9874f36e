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
                the lock.
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

        private var protectionClass: ProtectionClass { argument.protectionClass }

        func run() throws {
            let mounts = try MountTable()
            var failures = Failures()
            var count = 0
            for path in paths {
                do {
                    visit(try ClassedFile(path: path, in: mounts), &count, &failures)
                } catch {
                    count += 1
                    failures.add(error)
                }
            }
            if isRecursive || paths.count > 1 {
                let done = count - failures.count
                Standard.output("\(protectionClass.name): \(done) of \(count) set")
            }
            try failures.end(of: count)
        }

        /// Sets the class of `file`, then of what is below it.
        private func visit(_ file: ClassedFile, _ count: inout Int, _ failures: inout Failures) {
            count += 1
            failures.collect { () throws(CommandError) in try set(file) }
            guard isRecursive, file.status.kind == .directory else { return }
            let names: [Name]
            do {
                names = try file.children()
            } catch {
                failures.add(CommandError(cannot: "list", file.path, error))
                return
            }
            for name in names {
                do {
                    let child = try ClassedFile(name, in: file)
                    // Another file system mounted below is not ours to change.
                    guard child.hasClass, child.status.device == file.status.device else { continue }
                    visit(child, &count, &failures)
                } catch {
                    failures.add(CommandError(cannot: "open", file.path.asFolder + name.description, error))
                }
            }
        }

        private func set(_ file: ClassedFile) throws(CommandError) {
            do {
                try file.setClass(protectionClass)
            } catch .EPERM {
                throw CommandError(.failed, "cannot set the class of \(file.path): only its owner can")
            } catch .ENOKEY {
                throw CommandError(
                    .locked, "cannot set the class of \(file.path): the key that it needs is locked away",
                    try: "latchkey unlock \(file.path.quoted)")
            } catch {
                throw CommandError(cannot: "set the class of", file.path, error)
            }
            guard rekey, file.status.kind == .regular, file.status.size > 0 else { return }
            do {
                try Rekeying(file).run()
            } catch {
                throw explain(error, file.path)
            }
        }

        private func explain(_ failure: Rekeying.Failure, _ path: String) -> CommandError {
            switch failure {
            case .severalLinks:
                CommandError(
                    .failed,
                    "\(path) has its new class but keeps its key: it has several hard links, which a copy would part")
            case .changedMeanwhile:
                CommandError(
                    .failed, "\(path) has its new class but keeps its key: a program changed it meanwhile",
                    try: "latchkey class set --rekey \(protectionClass.letter) \(path.quoted)")
            case .io(let error):
                CommandError(cannot: "give a new key to", path, error)
            }
        }
    }
}
