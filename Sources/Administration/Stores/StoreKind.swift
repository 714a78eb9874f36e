public import Posix
public import Store

/// The file system in which a vault lies, by its name, and whether other machines reach it past this one.
///
/// Source: proc_pid_mountinfo(5), statfs(2).
public struct StoreKind: Hashable, Sendable {
    /// As the table of mounts has it: `ext4`, `fuse.sshfs`; `unknown` if it is not there.
    public let name: String
    /// The source that the file system names, such as a device, a host or an address.
    public let source: Path

    public init(name: String, source: Path = Path(bytes: [])) {
        self.name = name
        self.source = source
    }

    /// The kind of the file system that holds the root of a store. Asks the table of mounts only.
    public init(of store: any Store) {
        let mount = (try? store.root.path()).flatMap { path in
            (try? MountTable())?.mount(holding: Path(bytes: path))
        }
        if let mount { self.init(mount) } else { self.init(name: "unknown") }
    }

    public init(_ mount: MountTable.Entry) { self.init(name: mount.type, source: mount.source) }

    /// Whether all programs reach it through this machine's kernel, as those of an exported folder do: then flock(2)
    /// keeps all of them apart, and a request waits for a device, not for a network. False for a kind that is not
    /// known: a file system in user space may lead anywhere.
    public var isLocal: Bool { Self.local.contains(name) }

    private static let local: Set = [
        "bcachefs", "btrfs", "erofs", "exfat", "ext2", "ext3", "ext4", "f2fs", "fuseblk", "hfsplus", "iso9660", "jfs",
        "msdos", "nilfs2", "ntfs", "ntfs3", "overlay", "ramfs", "reiserfs", "squashfs", "tmpfs", "udf", "vfat", "xfs",
        "zfs",
    ]
}
