public import Failure
import Posix
public import Store

/// The folder of a vault that is not mounted, kept from other processes for as long as the object is there.
public struct VaultFolder: Sendable {
    public let store: DirectoryStore
    private let lock: VaultLock

    /// - Throws: `vaultInUse` where another process has it.
    public init(_ vault: AbsolutePath, readOnly: Bool = false) throws(Failure) {
        do {
            store = try DirectoryStore(path: vault.text)
            lock = try VaultLock(of: store, readOnly: readOnly)
        } catch .EWOULDBLOCK {
            throw .vaultInUse
        } catch {
            throw .file(error, doing: "open the vault", path: vault.text)
        }
    }
}
