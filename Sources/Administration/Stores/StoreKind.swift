import Format
import Glibc
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
    /// Whether the vault was there before an overlay was laid over it: the overlay copies a file when it changes.
    public internal(set) var isBelowOverlay = false

    public init(name: String, source: Path = Path(bytes: [])) {
        self.name = name
        self.source = source
    }

    /// The kind of the file system that holds the root of a store. Asks the table of mounts, and of an overlay
    /// its lower layers.
    public init(of store: any Store) {
        guard let path = (try? store.root.path()).map({ Path(bytes: $0) }),
            let mount = (try? MountTable())?.mount(holding: path)
        else {
            self.init(name: "unknown")
            return
        }
        self.init(mount)
        isBelowOverlay = mount.hasBelow(path + "/\(BackingName.keybag)")
    }

    public init(_ mount: MountTable.Entry) { self.init(name: mount.type, source: mount.source) }

    /// Whether all programs reach it through this machine's kernel, as those of an exported folder do: then flock(2)
    /// keeps all of them apart, and a request waits for a device, not for a network. False for a kind that is not
    /// known: a file system in user space may lead anywhere.
    public var isLocal: Bool { Self.local.contains(name) }

    /// Whether the kernel tells of the changes that other programs make: fanotify(7) hears of what goes through this
    /// machine's kernel by a name, but not of what goes to a layer of an overlay, nor of writes through mappings.
    public var tellsChanges: Bool { Self.telling.contains(name) }

    private static let telling: Set = ["bcachefs", "btrfs", "ext2", "ext3", "ext4", "f2fs", "tmpfs", "xfs"]

    private static let local: Set = [
        "bcachefs", "btrfs", "erofs", "exfat", "ext2", "ext3", "ext4", "f2fs", "fuseblk", "hfsplus", "iso9660", "jfs",
        "msdos", "nilfs2", "ntfs", "ntfs3", "overlay", "ramfs", "reiserfs", "squashfs", "tmpfs", "udf", "vfat", "xfs",
        "zfs",
    ]
}

extension MountTable.Entry {
    /// Whether a lower layer of this overlay has the file, as far as this process sees the layers.
    ///
    /// Source: Documentation/filesystems/overlayfs.rst.
    fileprivate func hasBelow(_ path: Path) -> Bool {
        guard type == "overlay" else { return false }
        let rest = Array(path.bytes.dropFirst(mountPoint == "/" ? 0 : mountPoint.bytes.count))
        let layers = superOptions.flatMap { option -> [Substring] in
            guard let equals = option.firstIndex(of: "="), option.hasPrefix("lowerdir") else { return [] }
            return option[option.index(after: equals)...].split(separator: ":")
        }
        return layers.contains { (Path(String($0)) + Path(bytes: rest)).access(F_OK) == 0 }
    }
}
