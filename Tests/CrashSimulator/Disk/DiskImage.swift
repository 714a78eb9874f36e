public import Posix
public import TestStores

/// The whole contents of a disk at one moment: its inodes, and the names that lead to them from the root.
///
/// A value type, so that thousands of states share their common parts. Inodes without a name are kept: a file may be
/// durable before its name is. The only time that is kept is a regular file's stamp.
public struct DiskImage: Hashable, Sendable {
    public enum Kind: Hashable, Sendable {
        case regular
        case directory
        case symbolicLink(target: [UInt8])
        /// `mode` includes the type.
        case special(mode: UInt32, device: UInt64)
    }

    public struct Inode: Hashable, Sendable {
        public let kind: Kind
        /// Permission bits.
        public var mode: UInt32
        public var user: UInt32?
        public var group: UInt32?
        public var attributes: [String: [UInt8]] = [:]
        /// The modification time of a regular file if a program has set it to a whole second; nil if the clock set it.
        public var stamp: Timespec?
        /// Of a regular file.
        public var bytes = FileBytes()
        /// Of a directory.
        public var entries: [Name: RecordedInode] = [:]

        public init(_ kind: Kind, mode: UInt32) {
            self.kind = kind
            self.mode = mode
        }
    }

    public var inodes: [RecordedInode: Inode] = [.root: Inode(.directory, mode: 0o700)]

    public init() {}

    mutating func apply(_ change: InodeChange, to inode: RecordedInode) {
        switch change {
        case .mode(let mode): inodes[inode]?.mode = mode
        case .owner(let user, let group):
            if let user { inodes[inode]?.user = user }
            if let group { inodes[inode]?.group = group }
        case .attribute(let name, let value): inodes[inode]?.attributes[name] = value
        case .stamp(let stamp): inodes[inode]?.stamp = stamp
        }
    }
}

enum InodeChange: Hashable, Sendable {
    case mode(UInt32)
    case owner(user: UInt32?, group: UInt32?)
    /// Nil removes the attribute.
    case attribute(String, [UInt8]?)
    /// Nil: the contents were changed, or the clock's time was set.
    case stamp(Timespec?)
}
