import Administration
import Crypto
import Failure
import Glibc
import Posix

extension NewSecretFile {
    /// Writes a new secret to the file at `path`, or shows it if `path` is nil, then runs `take`, which gives it to the
    /// vault. If `take` fails, the file is removed, unless the vault may have taken the secret.
    static func handOut<Result: ~Copyable>(
        _ secret: borrowing Secret, to path: Path?, _ take: () throws(CommandError) -> Result
    ) throws(CommandError) -> Result {
        guard let path else {
            try show(secret)
            do throws(CommandError) { return try take() } catch {
                Standard.error(
                    error.isInDoubt
                        ? "Keep the recovery key above until latchkey slot test --recovery has shown "
                            + "whether it opens the vault."
                        : "The recovery key above opens nothing.")
                throw error
            }
        }
        let file = try inWords(try NewSecretFile(path))
        do throws(CommandError) {
            try inWords(try file.write(secret))
            return try take()
        } catch {
            // The vault may have taken it: then this file is the only copy.
            guard !error.isInDoubt else {
                Standard.error("Keep \(path) until latchkey slot test has shown whether it opens the vault.")
                throw error
            }
            file.remove()
            throw error
        }
    }

    /// Writes directly from locked memory to standard output, and throws if that fails.
    private static func show(_ text: borrowing Secret) throws(CommandError) {
        do throws(Errno) {
            let number = dup(STDOUT_FILENO)
            guard number >= 0 else { throw Errno.current }
            let output = Descriptor(owning: number)
            let heading = "The recovery key, shown this once. Write it down, and keep it away from this machine:"
            try unsafe output.write(Array("\(heading)\n\n    ".utf8).span.bytes)
            try text.withBytes { bytes throws(Errno) in try output.write(bytes) }
            try unsafe output.write(Array("\n\n".utf8).span.bytes)
        } catch {
            throw CommandError(.failed, "cannot show the recovery key: \(error)", try: "the same with a file for it")
        }
    }
}
