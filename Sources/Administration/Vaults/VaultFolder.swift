public import Failure
import Posix
public import Store

/// The folder of an unmounted vault, which is locked for this process while the object exists.
public struct VaultFolder: Sendable {
    public let store: DirectoryStore
    private let lock: VaultLock

    /// - Throws: `vaultInUse` if another process has locked it.
    public init(_ vault: AbsolutePath, readOnly: Bool = false) throws(Failure) {
        do {
            store = try DirectoryStore(path: vault.path)
            lock = try VaultLock(of: store, readOnly: readOnly)
        } catch .EWOULDBLOCK {
            throw .vaultInUse
        } catch {
            throw .file(error, doing: "open the vault", path: vault.path)
        }
    }
}
