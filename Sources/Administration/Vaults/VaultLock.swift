import Format
import Glibc
import Posix
import Store

/// Locks a vault for one process: the flock(2) on its `lk.lock`, held while the object exists.
///
/// A process takes it before it writes to a vault. The kernel releases it when the process ends, in whatever way. Lock
/// order: docs/ARCHITECTURE.md.
public final class VaultLock: Sendable {
    private let file: Descriptor?
    /// What came of the lock.
    enum Outcome: Sendable {
        case held
        /// The store cannot lock, or there is nothing to lock.
        case none
        /// Another process has the lock, or the server of a store has not yet noticed that its machine is gone.
        case refused
    }

    let outcome: Outcome

    /// - Parameters:
    ///   - readOnly: changes nothing. If the file is missing, as in a copy of a vault, no other process is locked out.
    ///   - needsLock: whether it is an error if the store cannot lock, or another process has the lock.
    /// - Throws: `EWOULDBLOCK` if another process has the lock, and it is needed.
    public init(of store: any Store, readOnly: Bool = false, needsLock: Bool = true) throws(Errno) {
        do {
            file = try Self.open(in: store, readOnly: readOnly)
        } catch .ENOENT where readOnly {
            file = nil
        }
        guard let file else {
            outcome = .none
            return
        }
        do throws(Errno) {
            try store.lockExclusively(file)
            outcome = .held
        } catch {
            switch error {
            case .EWOULDBLOCK where !needsLock: outcome = .refused
            case .ENOSYS where !needsLock, .EOPNOTSUPP where !needsLock, .ENOLCK where !needsLock: outcome = .none
            default: throw error
            }
        }
    }

    private static func open(in store: any Store, readOnly: Bool) throws(Errno) -> Descriptor {
        let name = Name(stringLiteral: BackingName.lock)
        // O_NONBLOCK: a FIFO that an attacker has put there must not block this process.
        if readOnly { return try store.open(name, in: store.root, O_RDONLY | O_NONBLOCK) }
        do {
            return try store.open(name, in: store.root, O_RDWR | O_CREAT | O_NONBLOCK, mode: 0o600)
        } catch .EROFS {
            // No process can write to it, but two readers could disagree about an interrupted replacement of the
            // keybag.
            do { return try store.open(name, in: store.root, O_RDONLY | O_NONBLOCK) } catch .ENOENT { throw .EROFS }
        }
    }
}
