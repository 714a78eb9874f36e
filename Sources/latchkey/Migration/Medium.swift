import Administration
import Failure
import Glibc
import Posix

/// Whether overwriting a file removes what lies on the medium.
///
/// Source: sysfs, /sys/dev/block/MAJOR:MINOR/queue/rotational, and the same of its parent for a partition.
struct Medium {
    /// The file system's name, as in the table of mounts.
    let fileSystem: String
    /// Nil if it is not known, as of a network's file system.
    let isRotational: Bool?
    private let journalsData: Bool

    /// The file systems that write over a block in its place.
    private static let inPlace: Set<String> = ["ext2", "ext3", "ext4", "vfat", "jfs", "reiserfs"]

    init(of folder: Path) throws(CommandError) {
        let mount = try inWords(try MountTable()).mount(holding: folder)
        fileSystem = mount?.type ?? "unknown"
        journalsData = mount?.superOptions.contains("data=journal") ?? false
        isRotational = mount.flatMap { mount in
            let device = mount.device
            // makedev(3), the other way round.
            let major = device >> 8 & 0xfff | device >> 32 & ~0xfff
            let numbers = "\(major):\(device & 0xff | device >> 12 & 0xffff_ff00)"
            for path in ["/sys/dev/block/\(numbers)/queue/rotational", "/sys/dev/block/\(numbers)/../queue/rotational"]
            {
                if let bytes = try? Descriptor.open(path: path, O_RDONLY).bytes(atMost: 8) {
                    return bytes.first == UInt8(ascii: "1")
                }
            }
            return nil
        }
    }

    var isOverwrittenInPlace: Bool { isRotational == true && Self.inPlace.contains(fileSystem) && !journalsData }

    /// What becomes of the originals.
    var sentence: Printable {
        if isOverwrittenInPlace { return "The originals are overwritten, and removed." }
        let why: Printable =
            switch isRotational {
            case nil: "what lies below this \(fileSystem) is not known"
            case false?: "the disk is a flash disk, which writes to another place each time"
            case true? where journalsData: "\(fileSystem) keeps copies in its journal"
            case true?: "\(fileSystem) writes to another place each time"
            }
        return "The originals are removed, and not overwritten, which would be of no use: \(why)."
    }
}
