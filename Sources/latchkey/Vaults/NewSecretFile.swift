import Crypto
import Glibc
import Posix

/// The file that takes a new recovery key in the place of the terminal, or a new key file.
///
/// Made before the vault knows the key, and never over another file: a vault whose recovery key went nowhere must not come
/// to be.
struct NewSecretFile {
    private let path: String
    private let file: Descriptor

    init(_ path: String) throws(CommandError) {
        self.path = path
        do {
            file = try Descriptor.open(path: path, O_WRONLY | O_CREAT | O_EXCL, mode: 0o600)
        } catch .EEXIST {
            throw Self.exists(path)
        } catch {
            throw CommandError(cannot: "make the file for the key,", path, error)
        }
    }

    /// Refuses a file that exists, before anyone types anything.
    static func check(_ path: String?) throws(CommandError) {
        var status = stat()
        if let path, unsafe lstat(path, &status) == 0 { throw exists(path) }
    }

    /// Refuses a place in the vault: whoever copies that would have the key with it.
    static func check(_ path: String, liesOutside vault: AbsolutePath) throws(CommandError) {
        guard try AbsolutePath(ofPerhapsMissing: path).isInside(vault) else { return }
        throw CommandError(.failed, "\(path) lies in the vault, and would go wherever a copy of that goes")
    }

    private static func exists(_ path: String) -> CommandError {
        CommandError(.failed, "\(path) exists already, and may hold the key of another vault")
    }

    /// Writes `text` and a newline, durably.
    func write(_ text: borrowing Secret) throws(CommandError) {
        do {
            try text.withBytes { bytes throws(Errno) in try file.write(bytes) }
            try unsafe file.write([UInt8(ascii: "\n")].span.bytes)
            try file.synchronize(dataOnly: false)
        } catch {
            throw CommandError(cannot: "write the key to", path, error)
        }
    }

    /// Takes the empty file away.
    func remove() { _ = unsafe unlink(path) }

    /// Writes a new secret to the file at `path`, or shows it if that is nil, and then has the vault take it: if that fails,
    /// the file is gone again, unless nobody can tell whether the vault has taken it.
    static func handOut<Result: ~Copyable>(
        _ secret: borrowing Secret, to path: String?, _ take: () throws(CommandError) -> Result
    ) throws(CommandError) -> Result {
        guard let path else {
            try show(secret)
            do throws(CommandError) { return try take() } catch {
                Standard.error(
                    error.isInDoubt
                        ? "Keep the recovery key above until latchkey slot test --recovery has told whether it opens the vault."
                        : "The recovery key above opens nothing.")
                throw error
            }
        }
        let file = try NewSecretFile(path)
        do throws(CommandError) {
            try file.write(secret)
            return try take()
        } catch {
            // The vault may have taken it: then it is the only one there is.
            guard !error.isInDoubt else {
                Standard.error("Keep \(path) until latchkey slot test has told whether what is in it opens the vault.")
                throw error
            }
            file.remove()
            throw error
        }
    }

    /// Straight from locked memory to standard output, whose failure is heard of.
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
