public import Crypto
public import Failure
import Glibc
public import Posix

/// The file that a new recovery key or key file is written to, instead of the terminal.
///
/// Made before the vault gets the key, and never over another file: a vault must not come into being with a recovery
/// key that was lost.
public struct NewSecretFile: Sendable {
    private let path: Path
    private let file: Descriptor

    public init(_ path: Path) throws(Failure) {
        self.path = path
        do {
            file = try Descriptor.open(path: path, O_WRONLY | O_CREAT | O_EXCL, mode: 0o600)
        } catch .EEXIST {
            throw .secretFileExists(path: path)
        } catch {
            throw .file(error, doing: "make the file for the key,", path: path)
        }
    }

    /// Refuses a file that exists, before the user is asked for anything.
    public static func check(_ path: Path?) throws(Failure) {
        var status = stat()
        if let path, path.linkStatus(&status) == 0 { throw .secretFileExists(path: path) }
    }

    /// Refuses a path in the vault: a copy of the vault would contain its key.
    public static func check(_ path: Path, liesOutside vault: AbsolutePath) throws(Failure) {
        guard try AbsolutePath(ofPerhapsMissing: path).isInside(vault) else { return }
        throw .secretInVault(path: path)
    }

    /// Writes `text` and a newline, durably.
    public func write(_ text: borrowing Secret) throws(Failure) {
        do {
            try text.withBytes { bytes throws(Errno) in try file.write(bytes) }
            try unsafe file.write([UInt8(ascii: "\n")].span.bytes)
            try file.synchronize(dataOnly: false)
        } catch {
            throw .file(error, doing: "write the key to", path: path)
        }
    }

    /// Removes the empty file.
    public func remove() { _ = path.unlink() }
}
