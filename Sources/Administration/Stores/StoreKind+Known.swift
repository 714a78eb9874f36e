import Posix

// What is known of a kind of store by its name, from its documents and from tries with two clients.

extension StoreKind {
    /// The program or protocol that serves the store: `sshfs` for `fuse.sshfs`. Some name themselves only in the
    /// source.
    public var engine: String {
        guard name == "fuse" || name.hasPrefix("fuse.") else { return name }
        if name != "fuse" { return String(name.dropFirst("fuse.".count)) }
        if source.hasPrefix("mfs#") { return "moosefs" }
        if source.hasPrefix("http://") || source.hasPrefix("https://") { return "davfs2" }
        return name
    }

    /// Whether it does all that POSIX asks of a file system, on each machine: then nothing need be tried.
    public var isComplete: Bool { Self.complete.contains(name) }

    private static let complete: Set = [
        "bcachefs", "btrfs", "ext2", "ext3", "ext4", "f2fs", "jfs", "nilfs2", "overlay", "ramfs", "reiserfs", "tmpfs",
        "xfs", "zfs",
    ]

    /// The features that the kind answers.
    var known: [StoreFeature: StoreFact] {
        if isLocal {
            let lasts: StoreFact = name == "tmpfs" || name == "ramfs" ? .no : .yes
            return [
                .sharedLocks: .yes, .lastingInodes: lasts, .cacheSeconds: .number(0), .syncReachesStore: .yes,
                .lasting: lasts,
            ]
        }
        guard let row = Self.table[engine] else { return [:] }
        return [
            .sharedLocks: row.locks, .lastingInodes: row.inodes,
            .cacheSeconds: row.cache.map { StoreFact.number($0) } ?? .unknown, .syncReachesStore: row.sync,
            .lasting: .yes,
        ]
    }

    private struct Row {
        /// Whether other clients see locks.
        var locks: StoreFact
        /// Whether inode numbers survive a remount.
        var inodes: StoreFact
        /// In seconds: the longer one of the defaults for attributes and for names.
        var cache: Int?
        var sync: StoreFact
    }

    private static let table: [String: Row] = [
        "9p": Row(locks: .unknown, inodes: .yes, cache: nil, sync: .unknown),
        "ceph": Row(locks: .yes, inodes: .yes, cache: 0, sync: .yes),
        "cifs": Row(locks: .yes, inodes: .unknown, cache: 1, sync: .yes),
        "davfs2": Row(locks: .no, inodes: .no, cache: 60, sync: .no),
        "glusterfs": Row(locks: .yes, inodes: .yes, cache: 1, sync: .yes),
        "moosefs": Row(locks: .yes, inodes: .yes, cache: 1, sync: .yes),
        "mfs": Row(locks: .yes, inodes: .yes, cache: 1, sync: .yes),
        "nfs": Row(locks: .unknown, inodes: .yes, cache: 60, sync: .yes),
        "nfs4": Row(locks: .yes, inodes: .yes, cache: 60, sync: .yes),
        "rclone": Row(locks: .no, inodes: .unknown, cache: 300, sync: .no),
        "s3fs": Row(locks: .no, inodes: .no, cache: 900, sync: .yes),
        "smb3": Row(locks: .yes, inodes: .unknown, cache: 1, sync: .yes),
        "smbnetfs": Row(locks: .no, inodes: .no, cache: nil, sync: .unknown),
        "sshfs": Row(locks: .no, inodes: .no, cache: 20, sync: .unknown),
        "virtiofs": Row(locks: .unknown, inodes: .yes, cache: nil, sync: .yes),
    ]
}
