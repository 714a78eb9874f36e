/// What a session asks of the kernel. The kernel may grant less: see `Connection`.
public struct Configuration: Sendable {
    /// The largest write, in bytes, and with it the size of each worker's buffer. libfuse 3.14 takes up to 1 MiB.
    public var maxWrite: Int
    /// How far the kernel may read ahead of a reader, in bytes.
    public var maxReadahead: Int
    /// How many requests that nobody waits for (readahead) the kernel may have under way at once.
    public var maxBackground: Int
    public var directoryEntries: DirectoryEntries
    public var privileges: Privileges
    public var accessControlLists: AccessControlLists
    public var cachedContents: CachedContents

    /// Whether a directory is listed with the attributes of its entries.
    public enum DirectoryEntries: Sendable {
        /// `readdir` only.
        case plain
        /// `readdirplus` always.
        case withAttributes
        /// `readdirplus` at first and as long as the attributes are used, else `readdir`.
        case adaptive
    }

    /// Who removes the set-ID bits and the capabilities of a file that is written, truncated or given away.
    public enum Privileges: Sendable {
        /// The kernel, which before each write(2) asks for the attribute security.capability and, where bits have to
        /// go, sends a `setattr` of the mode.
        case clearedByKernel
        /// The file system, which saves one request per write(2). It has to remove the bits and the attribute at every
        /// change of owner or group, and where `dropsPrivileges` is set on a write, a truncation or an open with
        /// O_TRUNC: the set-user-ID bit always, the set-group-ID bit if the group may execute.
        case clearedByFileSystem
    }

    /// Whether files have POSIX access control lists: the attributes system.posix_acl_access and
    /// system.posix_acl_default. Source: acl(5).
    public enum AccessControlLists: Sendable {
        /// The kernel refuses the attributes, and masks the modes of what is made.
        case none
        /// The kernel reads the attributes and judges by them, as with `default_permissions`. The rest is the file
        /// system's: the mode follows the list and the list the mode, and what is made in a directory inherits its
        /// default list, or else has its mode masked with the request's umask.
        case enforcedByKernel
    }

    /// What the kernel does before it answers read(2) from its page cache. Pages are dropped for a `Notifier` in any
    /// case.
    public enum CachedContents: Sendable {
        /// Nothing: what it has is good.
        case kept
        /// Where its attributes of the file are out of date, it asks for them with `getattr` and a handle, and holds
        /// nothing locked for as long as that takes. It drops the file's pages where the time of modification is
        /// another, which is also so after the file system's own writes.
        case checkedBeforeReads
    }

    public init(
        maxWrite: Int = 1 << 20, maxReadahead: Int = 1 << 20, maxBackground: Int = 64,
        directoryEntries: DirectoryEntries = .adaptive, privileges: Privileges = .clearedByKernel,
        accessControlLists: AccessControlLists = .none, cachedContents: CachedContents = .kept
    ) {
        self.maxWrite = maxWrite
        self.maxReadahead = maxReadahead
        self.maxBackground = maxBackground
        self.directoryEntries = directoryEntries
        self.privileges = privileges
        self.accessControlLists = accessControlLists
        self.cachedContents = cachedContents
    }
}

/// What the kernel and the library have agreed on.
public struct Connection: Hashable, Sendable {
    /// The version of the kernel's protocol.
    public let major: UInt32
    public let minor: UInt32
    /// In bytes.
    public let maxWrite: Int
    public let maxReadahead: Int
    /// Whether cached contents are dropped only when the file system says so. Without it (Linux before 5.2) the kernel
    /// never drops them on its own either.
    public let invalidatesExplicitly: Bool
    /// Whether `Configuration.Privileges.clearedByFileSystem` was asked for and granted.
    public let fileSystemClearsPrivileges: Bool
}
