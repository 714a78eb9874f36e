/// A POSIX access control list, as stored in the attributes system.posix_acl_access and system.posix_acl_default.
///
/// Source: acl(5); linux/posix_acl_xattr.h.
public struct AccessControlList: Hashable, Sendable {
    /// The subject of an entry.
    public enum Tag: UInt16, Sendable {
        case owner = 0x01
        case user = 0x02
        case owningGroup = 0x04
        case group = 0x08
        case mask = 0x10
        case others = 0x20
    }

    public struct Entry: Hashable, Sendable {
        public let tag: Tag
        /// Read 4, write 2, execute 1.
        public var permissions: UInt32
        /// The ID of a named user or group; else `unnamed`.
        public let identifier: UInt32

        public static let unnamed = UInt32.max

        public init(_ tag: Tag, _ permissions: UInt32, _ identifier: UInt32 = unnamed) {
            self.tag = tag
            self.permissions = permissions
            self.identifier = identifier
        }
    }

    public static let accessAttribute = "system.posix_acl_access"
    public static let defaultAttribute = "system.posix_acl_default"

    public static let attributes = [accessAttribute, defaultAttribute]

    private static let version: UInt32 = 2
    private static let headerSize = 4
    private static let entrySize = 8

    /// In the order of acl(5): exactly one each of owner, owning group and others, and a mask if there are named
    /// entries.
    public private(set) var entries: [Entry]

    /// The list equivalent to the nine permission bits of a mode.
    public init(mode: UInt32) {
        entries = [Entry(.owner, mode >> 6 & 7), Entry(.owningGroup, mode >> 3 & 7), Entry(.others, mode & 7)]
    }

    /// Nil for an invalid list.
    ///
    /// Source: acl(5), "VALID ACLs".
    public init?(_ entries: [Entry]) {
        func count(_ tag: Tag) -> Int { entries.count { $0.tag == tag } }
        let isNamed = count(.user) + count(.group) > 0
        guard count(.owner) == 1, count(.owningGroup) == 1, count(.others) == 1, count(.mask) <= 1,
            !isNamed || count(.mask) == 1,
            zip(entries, entries.dropFirst()).allSatisfy({ $0.tag.rawValue <= $1.tag.rawValue }),
            entries.allSatisfy({ $0.permissions <= 7 })
        else { return nil }
        self.entries = entries
    }

    /// Nil for bytes that are not a valid list.
    public init?(decoding bytes: [UInt8]) {
        func number(at offset: Int, _ size: Int) -> UInt32 {
            (0..<size).reduce(0) { $0 | UInt32(bytes[offset + $1]) << (8 * UInt32($1)) }
        }
        guard bytes.count >= Self.headerSize, (bytes.count - Self.headerSize) % Self.entrySize == 0,
            number(at: 0, 4) == Self.version
        else { return nil }
        var entries: [Entry] = []
        for start in stride(from: Self.headerSize, to: bytes.count, by: Self.entrySize) {
            guard let tag = Tag(rawValue: UInt16(number(at: start, 2))) else { return nil }
            entries.append(Entry(tag, number(at: start + 2, 2), number(at: start + 4, 4)))
        }
        self.init(entries)
    }

    public var encoded: [UInt8] {
        func bytes(_ number: UInt32, _ size: Int) -> [UInt8] {
            (0..<size).map { UInt8(truncatingIfNeeded: number >> (8 * UInt32($0))) }
        }
        return bytes(Self.version, 4)
            + entries.flatMap { bytes(UInt32($0.tag.rawValue), 2) + bytes($0.permissions, 2) + bytes($0.identifier, 4) }
    }

    /// Whether the permission bits alone express it.
    public var isMode: Bool { entries.count == 3 }

    /// The permission bits of a file with this list. If there is a mask, it provides the group bits.
    public var mode: UInt32 {
        let group = hasMask ? permissions(of: .mask) : permissions(of: .owningGroup)
        return permissions(of: .owner) << 6 | group << 3 | permissions(of: .others)
    }

    /// The permission bits of a file that cannot have a list: the group gets what its own entry grants.
    public var modeWithoutList: UInt32 {
        let mask = hasMask ? permissions(of: .mask) : 7
        return mode & ~0o070 | (permissions(of: .owningGroup) & mask) << 3
    }

    /// Applies chmod(2).
    public mutating func change(toMode mode: UInt32) {
        set(.owner, mode >> 6 & 7)
        set(hasMask ? .mask : .owningGroup, mode >> 3 & 7)
        set(.others, mode & 7)
    }

    /// The list of a file created with `mode` in a directory with this default list.
    ///
    /// Source: acl(5), "OBJECT CREATION AND DEFAULT ACLs".
    public func inherited(mode: UInt32) -> AccessControlList {
        var list = self
        list.change(toMode: self.mode & mode)
        return list
    }

    private var hasMask: Bool { entries.contains { $0.tag == .mask } }

    private func permissions(of tag: Tag) -> UInt32 { entries.first { $0.tag == tag }!.permissions }

    private mutating func set(_ tag: Tag, _ permissions: UInt32) {
        entries[entries.firstIndex { $0.tag == tag }!].permissions = permissions
    }
}
