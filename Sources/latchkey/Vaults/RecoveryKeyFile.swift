import Crypto
import Glibc
import Posix

/// The file that takes the recovery key in the place of the terminal.
///
/// Made before the vault is, and never over another file: a vault whose recovery key went nowhere must not come to be.
struct RecoveryKeyFile {
    private let path: String
    private let file: Descriptor

    init(_ path: String) throws(CommandError) {
        self.path = path
        do {
            file = try Descriptor.open(path: path, O_WRONLY | O_CREAT | O_EXCL, mode: 0o600)
        } catch .EEXIST {
            throw Self.exists(path)
        } catch {
            throw CommandError(cannot: "make the file for the recovery key,", path, error)
        }
    }

    /// Refuses a file that exists, before anyone types anything.
    static func check(_ path: String?) throws(CommandError) {
        var status = stat()
        if let path, unsafe lstat(path, &status) == 0 { throw exists(path) }
    }

    private static func exists(_ path: String) -> CommandError {
        CommandError(.failed, "\(path) exists already, and may hold the recovery key of another vault")
    }

    /// Writes `text` and a newline, durably.
    func write(_ text: borrowing Secret) throws(CommandError) {
        do {
            try text.withBytes { bytes throws(Errno) in try file.write(bytes) }
            try unsafe file.write([UInt8(ascii: "\n")].span.bytes)
            try file.synchronize(dataOnly: false)
        } catch {
            throw CommandError(cannot: "write the recovery key to", path, error)
        }
    }

    /// Takes the empty file away.
    func remove() { _ = unsafe unlink(path) }
}
