import Posix

/// Something that the daemon's log should say.
public enum MountEvent: Sendable {
    /// An object of the vault was refused: where, relative to the mount's root as far as known, and why.
    case damage(path: Printable, reason: String)
    /// A write that the kernel was promised could not be made durable when a file was closed or the mount ended.
    case lost(path: Printable, reason: String)
    /// Something went wrong that no program was told of.
    case trouble(Printable)
}
