import Format
import Glibc
import Posix
import Store

/// Keeps a vault to one process: the flock(2) on its `lk.lock`, held for as long as the object is there.
///
/// Whoever writes to a vault takes it first. The kernel lets go of it when the process ends, in whatever way.
public final class VaultLock: Sendable {
    private let file: Descriptor?

    /// - Parameter readOnly: changes nothing: where the file is missing, as in a copy of a vault, nobody else is kept out.
    /// - Throws: `EWOULDBLOCK` if another process has the vault.
    public init(of store: any Store, readOnly: Bool = false) throws(Errno) {
        do {
            file = try Self.open(in: store, readOnly: readOnly)
        } catch .ENOENT where readOnly {
            file = nil
        }
        if let file { try store.lockExclusively(file) }
    }

    private static func open(in store: any Store, readOnly: Bool) throws(Errno) -> Descriptor {
        let name = Name(stringLiteral: BackingName.lock)
        // Non-blocking: something that somebody planted there must not stop us.
        if readOnly { return try store.open(name, in: store.root, O_RDONLY | O_NONBLOCK) }
        do {
            return try store.open(name, in: store.root, O_RDWR | O_CREAT | O_NONBLOCK, mode: 0o600)
        } catch .EROFS {
            // Nobody can write to it, but two who read may disagree about the keybag's replacement.
            do { return try store.open(name, in: store.root, O_RDONLY | O_NONBLOCK) } catch .ENOENT { throw .EROFS }
        }
    }
}
