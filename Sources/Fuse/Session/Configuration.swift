/// What a session asks the kernel for. The kernel may grant less: see `Connection`.
public struct Configuration: Sendable {
    /// The largest write, in bytes, and so the size of each worker's buffer. The kernel takes up to 1 MiB.
    public var maxWrite: Int
    /// By which way requests come.
    public var transport = Transport.device
    /// The largest readahead of the kernel, in bytes.
    public var maxReadahead: Int
    /// How many requests that no program waits for (readahead) the kernel may have under way at once.
    public var maxBackground: Int
    public var directoryEntries: DirectoryEntries
    public var privileges: Privileges
    public var accessControlLists: AccessControlLists
    public var cachedContents: CachedContents
    public var locks = Locks.byKernel
    /// Whether a file that is opened with `Opened.directIO` can be mapped by several processes: since Linux 6.6.
    public var mapsDirectIO = false
    /// Whether requests that would change something are answered with EROFS.
    public var isReadOnly: Bool

    public enum Transport: Sendable {
        /// read(2) and write(2) on /dev/fuse.
        case device
        /// Memory that the kernel and this process share, by io_uring, where the kernel has it; otherwise /dev/fuse.
        case ring
    }

    /// Which side has the locks of fcntl(2) and flock(2).
    public enum Locks: Sendable {
        /// The kernel: programs on other machines do not see them.
        case byKernel
        /// The file system: `FileSystem.lock`.
        case byFileSystem
    }

    /// The memory for one request in a ring. The kernel refuses less than its largest request or answer.
    package var ringPayload: Int { max(maxWrite, 8192) }
    /// A test makes so many of the first ones too short, which the kernel refuses after it has offered rings.
    package var shortSlotsForTest = 0

    /// Whether listings of directories include the attributes of the entries.
    public enum DirectoryEntries: Sendable {
        /// Only `readdir`.
        case plain
        /// Always `readdirplus`.
        case withAttributes
        /// `readdirplus` first and while the attributes are used, otherwise `readdir`.
        case adaptive
    }

    /// Which side removes the set-ID bits and the capabilities of a file that is written, truncated or changes its
    /// owner.
    public enum Privileges: Sendable {
        /// The kernel. Before each write(2) it asks for the attribute security.capability and, if bits must be cleared,
        /// sends a `setattr` of the mode.
        case clearedByKernel
        /// The file system, which saves one request per write(2). It must remove the bits and the attribute at every
        /// change of owner or group, and if `dropsPrivileges` is set on a write, a truncation or an open with O_TRUNC:
        /// the set-user-ID bit always, the set-group-ID bit if the group may execute.
        case clearedByFileSystem
    }

    /// Whether files have POSIX access control lists: the attributes system.posix_acl_access and
    /// system.posix_acl_default. Source: acl(5).
    public enum AccessControlLists: Sendable {
        /// The kernel refuses the attributes, and applies the umask to the modes of new files.
        case none
        /// The kernel reads the attributes and enforces them, as with `default_permissions`. The file system keeps mode
        /// and list consistent. It gives a new file the default list of its directory or, if there is none, masks its
        /// mode with the request's umask.
        case enforcedByKernel
    }

    /// What the kernel does before it answers read(2) from its page cache. A `Notifier` drops pages in either case.
    public enum CachedContents: Sendable {
        /// Nothing: cached pages are valid.
        case kept
        /// If its attributes of the file are out of date, the kernel asks for them by `getattr` with a handle, and
        /// holds no lock meanwhile. If the time of modification differs, it drops the file's pages; this also happens
        /// after the file system's own writes.
        case checkedBeforeReads
    }

    public init(
        maxWrite: Int = 1 << 20, maxReadahead: Int = 1 << 20, maxBackground: Int = 64,
        directoryEntries: DirectoryEntries = .adaptive, privileges: Privileges = .clearedByKernel,
        accessControlLists: AccessControlLists = .none, cachedContents: CachedContents = .kept,
        isReadOnly: Bool = false
    ) {
        self.maxWrite = maxWrite
        self.maxReadahead = maxReadahead
        self.maxBackground = maxBackground
        self.directoryEntries = directoryEntries
        self.privileges = privileges
        self.accessControlLists = accessControlLists
        self.cachedContents = cachedContents
        self.isReadOnly = isReadOnly
    }
}

/// What the kernel and this code have agreed on.
public struct Connection: Hashable, Sendable {
    /// The version of the kernel's protocol.
    public let major: UInt32
    public let minor: UInt32
    /// In bytes.
    public let maxWrite: Int
    public let maxReadahead: Int
    /// Whether cached contents are dropped only at the file system's request. Without it (Linux before 5.2), the kernel
    /// never drops them on its own either.
    public let invalidatesExplicitly: Bool
    /// Whether `Configuration.Privileges.clearedByFileSystem` was requested and granted.
    public let fileSystemClearsPrivileges: Bool
    /// Whether the kernel knows `Notifier.expireEntry`: since 7.38, Linux 6.2.
    public var expiresEntries: Bool { minor >= 38 }
    /// Whether the kernel knows `Notifier.expireAllEntries`: since 7.44, Linux 6.16.
    public var expiresAllEntries: Bool { minor >= 44 }
}
