public import Failure
import Posix
public import Store

/// The folder of an unmounted vault, which this process holds while the object exists.
public struct VaultFolder: Sendable {
    public let store: any Store
    private let hold: VaultHold

    /// - Throws: `vaultInUse` if another process holds it, `claimed` if that is one of another machine.
    public init(
        _ vault: AbsolutePath, readOnly: Bool = false, _ options: ClaimOptions = ClaimOptions()
    ) throws(Failure) {
        let folder: DirectoryStore
        do { folder = try DirectoryStore(path: vault.path) } catch {
            throw .file(error, doing: "open the vault", path: vault.path)
        }
        hold = try VaultHold(folder, at: vault.path, readOnly: readOnly, makesLock: !readOnly, options)
        store = hold.store
    }
}
