import Administration
import ArgumentParser
import Glibc
import Migration
import Posix

/// What `protect` and `unprotect` have in common.
struct MigrationArguments: ParsableArguments {
    @Flag(help: "Ask nothing but the passcode.")
    var yes = false

    @Flag(help: "Go back from a run that was interrupted.")
    var undo = false

    @Option(
        help: ArgumentHelp(
            "Write the digest of each file to this new file, 0600, as sha256sum does. It names all files.",
            valueName: "file"))
    var digests: Path?

    @Flag(help: "Write plan, progress and end as JSON, one object on each line, and the rest to standard error.")
    var json = false

    var engine: MigrationOptions {
        var options = MigrationOptions()
        options.threads = min(8, max(2, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))))
        return options
    }

    /// Makes the file for the digests, before anything else is done.
    func makeDigests() throws(CommandError) {
        guard let digests else { return }
        do throws(Errno) {
            _ = try Descriptor.open(path: digests, O_WRONLY | O_CREAT | O_EXCL, mode: 0o600)
        } catch { throw CommandError(cannot: "make", digests, error) }
    }

    /// Writes the digests of the copies, which are those of the originals.
    func write(_ outcome: MigrationOutcome, to path: Path?) throws(CommandError) {
        guard let path else { return }
        do throws(Errno) {
            let file = try Descriptor.open(path: path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, mode: 0o600)
            try unsafe file.write(outcome.manifests.after.span.bytes)
            try file.synchronize(dataOnly: false)
        } catch { throw CommandError(cannot: "write", path, error) }
    }

    func tell(_ outcome: MigrationOutcome, _ survey: Survey, _ seconds: Double) {
        let (before, after) = (
            MigrationReport.digest(outcome.manifests.before), MigrationReport.digest(outcome.manifests.after)
        )
        Standard.output(
            """
            Moved \(Amount.of(survey.files + survey.others, "file")) in \(Amount.time(seconds)), each read back from the disk.
            Digest of all files, before: \(before)
                                  after: \(after)
            """)
    }
}

extension Terminal {
    /// Asks a question with two answers. An empty line is the usual one.
    func yes(_ question: Printable, usually: Bool) throws(CommandError) -> Bool {
        while true {
            let answer: String
            do throws(SecretReader.Failure) {
                answer = try text(prompt: "\(question.text) [\(usually ? "Y/n" : "y/N")] ").lowercased()
            } catch {
                if case .empty = error { return usually }
                throw CommandError(.failed, "nothing was answered; nothing was done")
            }
            switch answer {
            case "": return usually
            case "y", "yes": return true
            case "n", "no": return false
            default: continue
            }
        }
    }
}
