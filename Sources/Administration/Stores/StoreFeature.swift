/// What a vault or its users may ask of a store: found out by trying, or known of its kind.
///
/// The name of a case is its key in the JSON of `latchkey doctor`.
public enum StoreFeature: String, CaseIterable, Sendable {
    // Inode numbers, as far as one client can see

    /// An open file has the inode number that its name shows.
    case inodeOfOpenFile
    /// A file keeps its inode number when it is renamed.
    case inodeAfterRename
    /// A file has the same inode number when it is opened again.
    case inodeAfterReopening

    // Names

    /// The names in a folder can be listed.
    case listing
    case exclusiveCreate
    /// A rename replaces the file that has the new name.
    case renameOver
    case hardLinks
    /// Both names of a hard link have one inode number.
    case inodeOfHardLinks
    case symbolicLinks
    /// After a rename over a symbolic link that was read before, the target of the new one is read.
    case symbolicLinkRenameOver
    /// Upper and lower case are different names.
    case caseSensitive
    /// The longest name that was taken, in bytes.
    case nameBytes

    // Files that are open

    /// A file that is open can be renamed.
    case renameOpenFile
    /// When another file takes the name of an open file, what is written to the open file stays in that one.
    case openFileAfterReplacement

    // Contents

    /// Writes at any offset of a file that is open for reading and writing.
    case randomWrites
    /// fsync(2) and fdatasync(2) of a file succeed.
    case syncFile
    /// fsync(2) of a folder succeeds.
    case syncFolder
    /// A file that is open can be read after its last name is gone.
    case readAfterUnlink
    /// open(2) with O_TMPFILE.
    case namelessFiles
    /// A hole takes no space.
    case holes
    /// lseek(2) with SEEK_HOLE finds a hole.
    case seekHole
    /// fallocate(2) makes a hole in a file.
    case punchHole

    // Metadata

    /// Extended attributes whose names begin with `user.`
    case userAttributes
    /// The largest value of one that was taken, in bytes, up to 64 KiB.
    case attributeBytes
    /// The time of the last change can be set.
    case setTimes
    /// The grain of that time, in nanoseconds.
    case timeGrain

    // Locks

    /// A flock(2) keeps out another open file of this machine.
    case flock
    /// A lock of an open file description (F_OFD_SETLK) does.
    case descriptionLocks

    // Known of the kind alone

    /// Other machines see the locks of this one.
    case sharedLocks
    /// Inode numbers are the same after the store is mounted again.
    case lastingInodes
    /// How long a client shows what it has read before, in seconds, by the kind's defaults.
    case cacheSeconds
    /// When fsync(2) returns, what was written is in the store, not only on this machine.
    case syncReachesStore
    /// Files are there after the machine is started again.
    case lasting

    /// Whether the kind of the store answers it, since a single client cannot find out.
    public var isKnownOfKind: Bool {
        switch self {
        case .sharedLocks, .lastingInodes, .cacheSeconds, .syncReachesStore, .lasting: true
        default: false
        }
    }
}
