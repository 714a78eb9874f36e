import Crypto
import Format
import Keybag
import Posix

/// Why an operation on the encrypted tree failed.
public enum VaultError: Error, Hashable, Sendable {
    /// The error of the backing store.
    case system(Errno)
    /// The class key that the operation needs is not in memory.
    case locked
    /// What lies in the vault is not what was written there; the text says how it differs, for the log.
    case damaged(String)
    /// A later version of latchkey has written what lies there; the text says what.
    case unsupported(String)
    /// The store does not show a change that it has answered with success. The text says so, for the log.
    case unseen(String)

    /// The file is older than what this machine has seen, and such files are refused; the text says how.
    case stale(String)

    /// The error that a program gets from the mount.
    public var errno: Errno {
        switch self {
        case .system(let errno): errno
        case .locked: .ENOKEY
        case .damaged, .unsupported, .unseen, .stale: .EIO
        }
    }

    /// The store has no room.
    var isFullDisk: Bool { self == .system(.ENOSPC) || self == .system(.EDQUOT) }

    /// There is no such name, or no directory that can be entered.
    public var isAbsence: Bool { self == .system(.ENOENT) || self == .system(.ENOTDIR) || self == .system(.ELOOP) }

    package init(_ error: CryptoError, damaged what: String) {
        switch error {
        case .notAuthentic: self = .damaged(what)
        case .secureMemory: self = .system(.ENOMEM)
        case .invalidInput, .library: self = .system(.EIO)
        }
    }

    init(_ error: KeyRingError) {
        switch error {
        case .keyUnavailable: self = .locked
        case .notAuthentic: self = .damaged("the file key does not unwrap")
        case .crypto(let error): self.init(error, damaged: "the file key does not unwrap")
        }
    }
}

/// Runs calls to the backing store; an error becomes a `VaultError`.
@inline(__always)
package func backing<Result: ~Copyable>(_ body: () throws(Errno) -> Result) throws(VaultError) -> Result {
    do { return try body() } catch { throw .system(error) }
}

/// Runs a cipher; if authentication fails, `what` is the text of the damage.
@inline(__always)
package func authentic<Result: ~Copyable>(
    _ what: @autoclosure () -> String, _ body: () throws(CryptoError) -> Result
) throws(VaultError) -> Result {
    do { return try body() } catch { throw VaultError(error, damaged: what()) }
}

extension VaultError {
    package var isDamage: Bool {
        if case .damaged = self { true } else { false }
    }
}
