public import Failure
import Glibc
import Posix

/// The folder of a new vault: empty, and removed again if the vault is not made and the folder did not exist before.
public struct FreshFolder: Sendable {
    public let path: AbsolutePath
    /// The path as it was given, for failures.
    let given: String
    private let isMissing: Bool

    /// Refuses a folder that is not empty; changes nothing yet.
    public init(_ given: String) throws(Failure) {
        self.given = given
        path = try AbsolutePath(ofPerhapsMissing: given)
        if let mount = try MountTable().mount(holding: path.text), mount.isLatchkey {
            throw .liesInMount(path: given, mountPoint: mount.mountPoint)
        }
        if path.isVault { throw .alreadyAVault }
        let entries: [DirectoryEntry]
        do {
            entries = try Descriptor.open(path: path.text, O_RDONLY | O_DIRECTORY).entries()
            isMissing = false
        } catch {
            switch error {
            case .ENOENT: (entries, isMissing) = ([], true)
            case .ENOTDIR: throw .notAFolder(path: given)
            default: throw .file(error, doing: "look into", path: given)
            }
        }
        guard entries.isEmpty else { throw .notEmpty(path: given) }
    }

    /// Makes the folder with mode 0700, if it is missing.
    public func make() throws(Failure) {
        guard isMissing, unsafe mkdir(path.text, 0o700) != 0 else { return }
        throw .file(Errno.current, doing: "make the folder", path: path.text)
    }

    /// Removes the folder if `make` made it.
    public func remove() {
        if isMissing { _ = unsafe rmdir(path.text) }
    }
}
