import Synchronization

/// What requests note about a file without its lock.
struct FileMarks: ~Copyable, Sendable {
    /// It may have file capabilities, which a write removes.
    let mayHaveCapabilities = Atomic(true)
    /// A header with the new length is written before a growth is acknowledged: see `File.keepLengths`.
    let keepsLengths = Atomic(false)
    /// Opening it has written its header.
    let hasChangedAtOpen = Atomic(false)
    /// It is older than what this machine has seen, and refused.
    let isRefused = Atomic(false)
    /// The second in which an access was last noted, 0 if none was.
    let noted = Atomic<Int64>(0)
}
