import Format
import Glibc
import Posix
import Store

/// Keeps a vault to one process: the flock(2) on its `lk.lock`, held for as long as the object is there.
///
/// Whoever writes to a vault takes it first. The kernel lets go of it when the process ends, in whatever way.
public final class VaultLock: Sendable {
    private let file: Descriptor

    /// - Throws: `EWOULDBLOCK` if another process has the vault.
    public init(of store: any Store) throws(Errno) {
        let name: Name = "lk.lock"
        do {
            file = try store.open(name, in: store.root, O_RDWR | O_CREAT, mode: 0o600)
        } catch .EROFS {
            // Nobody can write to it, but two who read may disagree about the keybag's replacement.
            file = try store.open(name, in: store.root, O_RDONLY)
        }
        try store.lockExclusively(file)
    }
}
