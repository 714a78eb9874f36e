public import Failure
import Glibc
public import Posix
import Store

/// The folder of a new vault: empty, and removed again if the vault is not made and the folder did not exist before.
public struct FreshFolder: Sendable {
    public let path: AbsolutePath
    /// The path as it was given, for failures.
    let given: Path
    private let isMissing: Bool

    /// Refuses a folder that is not empty; changes nothing yet.
    public init(_ given: Path) throws(Failure) {
        self.given = given
        path = try AbsolutePath(ofPerhapsMissing: given)
        if let mount = try MountTable().mount(holding: path.path), mount.isLatchkey {
            throw .liesInMount(path: given, mountPoint: mount.mountPoint)
        }
        if path.isVault { throw .alreadyAVault }
        // Not over the files of a vault whose keybag may be found again.
        if let lost = path.lostKeybag(as: given) { throw lost }
        let entries: [DirectoryEntry]
        do {
            entries = try Descriptor.open(path: path.path, O_RDONLY | O_DIRECTORY).entries()
            isMissing = false
        } catch {
            switch error {
            case .ENOENT: (entries, isMissing) = ([], true)
            case .ENOTDIR: throw .notAFolder(path: given)
            default: throw Self.failure(listing: path, given, error)
            }
        }
        guard entries.isEmpty else { throw .notEmpty(path: given) }
    }

    /// Why a folder cannot be listed. Some file systems in user space list none on some kernels.
    static func failure(listing path: AbsolutePath, _ given: Path, _ error: Errno) -> Failure {
        guard [.EINVAL, .ENOSYS, .EOPNOTSUPP].contains(error), let store = try? DirectoryStore(path: path.path) else {
            return .file(error, doing: "look into", path: given)
        }
        return StoreKind(of: store).refusal(for: StoreFinding(.noListing, error))
    }

    /// Makes the folder with mode 0700, if it is missing.
    public func make() throws(Failure) {
        guard isMissing, path.path.mkdir(0o700) != 0 else { return }
        throw .file(Errno.current, doing: "make the folder", path: path.path)
    }

    /// Removes the folder if `make` made it.
    public func remove() {
        if isMissing { _ = path.path.rmdir() }
    }
}
