import Failure
import Synchronization

/// The locked folder of a vault that is being made, until it is released.
final class HeldFolder: Sendable {
    /// A leaf: no other lock is taken under it. Lock order: docs/ARCHITECTURE.md.
    private let folder: Mutex<VaultFolder?>

    init(_ folder: VaultFolder) { self.folder = Mutex(folder) }

    /// The folder, which stays locked at least as long as the caller keeps it.
    func current() throws(Failure) -> VaultFolder {
        guard let folder = folder.withLock({ $0 }) else { throw .vaultInUse }
        return folder
    }

    /// Gives up the lock and closes its file.
    func release() { folder.withLock { $0 = nil } }
}
