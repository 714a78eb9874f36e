public import Posix
public import Vault

/// An event for the daemon's log.
public enum MountEvent: Sendable {
    /// An object of the vault was refused: its path, relative to the mount's root as far as known, the reason, and the
    /// name of its backing file, if known.
    case damage(path: Printable, reason: String, stored: Name?)
    /// A write that was acknowledged to the kernel could not be made durable at close or at unmount.
    case lost(path: Printable, reason: String)
    /// A failure that was reported to no program, and the first file or folder that it concerns, with its name.
    case trouble(Printable, first: String? = nil)
    /// A file is older than what this machine has seen.
    case stale(path: Printable, StaleObject)
    /// The whole vault looks as it did at a moment, in seconds since 1970; or, if that is nil, its journal is older
    /// than what this machine has seen, and what was in it is missed.
    case staleVault(since: Int64?)
    /// The policy does not allow a class: where it was to be set, and why not.
    case forbidden(path: Printable, reason: String)
}
