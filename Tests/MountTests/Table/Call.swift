/// One row of the table of section 2 of the design: what a program does with a file.
enum Call: String, CaseIterable {
    case create
    case open
    case openWhileHeld = "open, while another handle has it open"
    case openToTruncate = "open with O_TRUNC"

    case read = "read through an earlier handle"
    case write = "write through an earlier handle"
    case seekToEnd = "SEEK_END through an earlier handle"
    case truncateHandle = "ftruncate through an earlier handle"
    case allocateHandle = "fallocate through an earlier handle"
    case copyRange = "copy_file_range from an earlier handle"
    case sendFile = "sendfile from an earlier handle"
    case readDirect = "read with O_DIRECT through an earlier handle"
    case synchronize = "fsync of an earlier handle"
    case close = "close of an earlier handle"

    case touchShared = "touch an earlier shared mapping"
    case touchPrivate = "touch an earlier private mapping"
    case touchClosed = "touch an earlier mapping whose handle is closed"
    case store = "store into an earlier shared mapping"

    case shrink = "truncate by name, to less"
    case grow = "truncate by name, to more"

    case setComplete = "set the class to A"
    case setCompleteUnlessOpen = "set the class to B"
    case setCompleteUntilFirst = "set the class to C"
    case setNone = "set the class to D"

    case status = "stat"
    case list = "readdir"
    case rename
    case link
    case unlink
    case changeMode = "chmod"
    case changeOwner = "chown"
    case changeTimes = "utimens"
    case getClass = "getxattr of the class"
    case getAttribute = "getxattr of a user attribute"
    case setAttribute = "setxattr of a user attribute"
    case listAttributes = "listxattr"

    /// Needs a handle that was opened while that was allowed.
    var needsHandle: Bool {
        switch self {
        case .openWhileHeld, .read, .readDirect, .write, .seekToEnd, .truncateHandle, .allocateHandle, .copyRange,
            .sendFile, .synchronize, .close:
            true
        default: needsMapping
        }
    }

    var needsMapping: Bool {
        switch self {
        case .touchShared, .touchPrivate, .touchClosed, .store: true
        default: false
        }
    }

    /// The class that the call sets.
    var newClass: ProtectionClass? {
        switch self {
        case .setComplete: .complete
        case .setCompleteUnlessOpen: .completeUnlessOpen
        case .setCompleteUntilFirst: .completeUntilFirstUserAuthentication
        case .setNone: ProtectionClass.none
        default: nil
        }
    }
}
