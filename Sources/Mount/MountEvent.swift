import Posix

/// An event for the daemon's log.
public enum MountEvent: Sendable {
    /// An object of the vault was refused: its path, relative to the mount's root as far as known, and the reason.
    case damage(path: Printable, reason: String)
    /// A write that was acknowledged to the kernel could not be made durable at close or at unmount.
    case lost(path: Printable, reason: String)
    /// A failure that was reported to no program.
    case trouble(Printable)
}
