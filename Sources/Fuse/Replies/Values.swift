import Posix

/// An inode as a lookup finds it. Each answered entry counts as one lookup, which the kernel undoes by `forget`.
public struct Entry: Sendable {
    public var node: NodeID
    /// Distinguishes inodes that had the same number at different times.
    public var generation: UInt64
    public var status: FileStatus
    /// Seconds for which the kernel may answer stat(2) without asking.
    public var attributeTimeout: Double
    /// Seconds for which the kernel may resolve the name without asking.
    public var entryTimeout: Double

    public init(
        node: NodeID, generation: UInt64 = 0, status: FileStatus, attributeTimeout: Double, entryTimeout: Double
    ) {
        self.node = node
        self.generation = generation
        self.status = status
        self.attributeTimeout = attributeTimeout
        self.entryTimeout = entryTimeout
    }
}

/// The metadata of an inode, and the seconds for which the kernel may answer stat(2) from it.
public struct Attributes: Sendable {
    public var status: FileStatus
    public var timeout: Double

    public init(status: FileStatus, timeout: Double) {
        self.status = status
        self.timeout = timeout
    }
}

/// The attributes of an inode for statx(2).
public struct ExtendedAttributes: Sendable {
    public var attributes: Attributes
    /// The birth time, if known.
    public var birthTime: Timespec?

    public init(_ attributes: Attributes, birthTime: Timespec?) {
        self.attributes = attributes
        self.birthTime = birthTime
    }
}

/// An opened file or directory.
public struct Opened: Sendable {
    public var handle: HandleID
    /// Pages of the file in the page cache stay valid.
    public var keepCache: Bool
    /// Reads and writes bypass the page cache. The kernel refuses shared writable mappings.
    public var directIO: Bool
    /// The kernel sends no `flush` when a descriptor is closed.
    public var noFlush: Bool
    /// The kernel may cache the answers to `readdir` (directories only).
    public var cacheListing: Bool

    public init(
        handle: HandleID, keepCache: Bool = false, directIO: Bool = false, noFlush: Bool = false,
        cacheListing: Bool = false
    ) {
        self.handle = handle
        self.keepCache = keepCache
        self.directIO = directIO
        self.noFlush = noFlush
        self.cacheListing = cacheListing
    }
}

/// A file created and opened in one step. Counts as one lookup, like an `Entry`.
public struct Created: Sendable {
    public var entry: Entry
    public var opened: Opened

    public init(entry: Entry, opened: Opened) {
        self.entry = entry
        self.opened = opened
    }
}

/// The changes of `setattr`; nil leaves a field unchanged.
public struct AttributeChanges: Sendable {
    /// Permission bits and type.
    public var mode: UInt32?
    public var owner: UInt32?
    public var group: UInt32?
    /// In bytes.
    public var size: Int64?
    public var accessed: TimeChange
    public var modified: TimeChange
    public var changed: Timespec?
    /// The set-user-ID and set-group-ID bits and the file's capabilities must be removed with this change, because the
    /// caller lacks CAP_FSETID. Only under `Configuration.Privileges.clearedByFileSystem`.
    public var dropsPrivileges: Bool
}

/// The origin of a write.
public struct WriteFlags: OptionSet, Sendable {
    public let rawValue: UInt32

    public init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// Written back from the page cache (a dirty page of a mapping), not by write(2). The request's user and process
    /// are meaningless then, and the handle is any writable one.
    public static let page = WriteFlags(rawValue: 1)
    /// As `AttributeChanges.dropsPrivileges`.
    public static let dropsPrivileges = WriteFlags(rawValue: 2)
    /// The descriptor has O_APPEND. The kernel has chosen the offset by the length that it knows.
    public static let append = WriteFlags(rawValue: 4)
}
