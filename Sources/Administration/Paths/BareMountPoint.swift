import Glibc
public import Posix

/// The folder on which a vault is mounted, as it is without the mount. A program that saves into it after an unmount
/// would leave plaintext there, so it can be closed: it has mode 0 then. Modes do not bind root, so for root it has the
/// immutable flag, where the file system knows that.
///
/// A mount covers the folder: its mode and flags do not apply to what is mounted on it.
public struct BareMountPoint: Sendable {
    /// Also leads to the folder while it is covered.
    private let folder: Descriptor
    private let wasClosed: Bool
    /// Before it was closed.
    private let mode: UInt32

    /// The mode of a closed folder while `isEmpty` looks into it; a kill may leave it. No folder of a user has it: the
    /// sticky bit is of no use where only the owner reads.
    private static let readable: UInt32 = 0o1500

    /// Whether the folder is closed for this user, and is this user's own.
    public static func isClosed(_ path: Path) -> Bool {
        guard let point = try? BareMountPoint(path), let status = try? point.folder.status() else { return false }
        return point.wasClosed && status.owner == geteuid()
    }

    /// Source: open(2), O_PATH, which needs no permission for the folder itself.
    public init(_ path: Path) throws(Errno) {
        folder = try Descriptor.open(path: path, O_PATH | O_DIRECTORY)
        mode = try folder.status().permissions & 0o7777
        wasClosed = [0, Self.readable].contains(mode & 0o1777)
    }

    /// Whether nothing is in it. A closed folder is opened for its owner's reading alone meanwhile, unless this process
    /// has root's rights to look into it as it is.
    public func isEmpty() throws(Errno) -> Bool {
        do throws(Errno) { return try folder.reopen(O_RDONLY | O_DIRECTORY).entries().isEmpty } catch {
            guard error == .EACCES, try folder.status().permissions & 0o777 == 0 || wasClosed else { throw error }
        }
        // Root in a unit without CAP_DAC_OVERRIDE. Nothing came into it since it got the flag, and then it was empty.
        if try folder.isImmutable() { return true }
        try folder.setMode(Self.readable)
        let result: Result<Bool, Errno>
        do throws(Errno) {
            result = .success(try folder.reopen(O_RDONLY | O_DIRECTORY).entries().isEmpty)
        } catch { result = .failure(error) }
        try folder.setMode(0)
        return try result.get()
    }

    /// Lets its owner mount on it: fusermount3 demands that he may write to it. Root may mount on any folder.
    public func prepare() throws(Errno) {
        if wasClosed, geteuid() != 0 { try folder.setMode(0o700) }
    }

    /// After a mount that failed: as it was.
    public func restore() throws(Errno) {
        if geteuid() != 0 { try folder.setMode(wasClosed ? 0 : mode) }
    }

    /// Makes it an ordinary folder of its owner again. Nothing may be mounted on it.
    public func open() throws(Errno) {
        if geteuid() == 0, try folder.isImmutable() {
            try folder.reopen(O_RDONLY | O_DIRECTORY).setImmutable(false)
        }
        if try folder.status().permissions & 0o700 != 0o700 { try folder.setMode(0o700) }
    }

    /// Closes it; a mount may cover it already.
    public func close() throws(Errno) {
        if geteuid() == 0 {
            if try folder.isImmutable() { return }
            do throws(Errno) { return try folder.reopen(O_RDONLY | O_DIRECTORY).setImmutable() } catch {
                // Not every file system has the flag, and not every root in a container or a unit may set it.
                guard [.ENOTTY, .EOPNOTSUPP, .EPERM, .EINVAL, .EACCES].contains(error) else { throw error }
            }
        }
        try folder.setMode(0)
    }
}
