public import Posix
public import Vault

/// What stopped a migration. Everything that was moved before stays moved; run again, it goes on.
public struct MigrationError: Error {
    /// The entry, from the folder on; nil if it concerns none.
    public let path: Path?
    /// "copy", "read back" and the like.
    public let doing: String
    public let error: VaultError

    init(_ path: TreePath?, _ doing: String, _ error: VaultError) {
        self.path = path?.path
        self.doing = doing
        self.error = error
    }
}

/// What a migration tells while it runs.
public enum MigrationEvent: Sendable {
    /// Two versions are there: the one at the destination got another name.
    case setAside(Path, as: Path)
    /// The file stays where it is for now: a program writes to it.
    case busy(Path)
    case unreadable(Path, Errno)
    /// It cannot be renamed, as with the flag +i, and stays where it is.
    case unmovable(Path, Errno)
    /// In this folder of the vault lies something whose name does not decrypt, or that is no part of the vault.
    case stranger(Path, Name)
    /// An original that an interrupted run had taken away was written to since, and is back.
    case putBack(Path)
}

/// How a migration ended.
public struct MigrationOutcome: Sendable {
    /// Whether all is at the destination.
    public internal(set) var isComplete = false
    public internal(set) var isStopped = false
    /// Entries that stayed where they are, the first thousand.
    public internal(set) var left: [MigrationEvent] = []
    public internal(set) var leftCount = 0
    /// Of the whole migration: what `sha256sum` prints for each file, as it was read and as it was read back.
    public internal(set) var manifests: (before: [UInt8], after: [UInt8]) = ([], [])
}
