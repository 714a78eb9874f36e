import Daemon
import Posix
import Store

/// The folder of a vault that is not mounted, kept from other processes for as long as the object is there.
struct VaultFolder {
    let store: DirectoryStore
    private let lock: VaultLock

    init(_ vault: AbsolutePath, readOnly: Bool = false) throws(CommandError) {
        do {
            store = try DirectoryStore(path: vault.text)
            lock = try VaultLock(of: store, readOnly: readOnly)
        } catch .EWOULDBLOCK {
            throw CommandError(
                .failed, "the vault \(vault.text) is mounted already, or another latchkey is at work in it",
                try: "latchkey status")
        } catch {
            throw CommandError(cannot: "open the vault", vault.text, error)
        }
    }
}
