import Posix

extension StoreFinding {
    /// One plain sentence, without a full stop.
    public var sentence: String {
        switch problem {
        case .noExclusiveCreate:
            "two programs can make a file of the same name, and each takes it for its own\(reason)"
        case .noRenameOver:
            "a rename does not replace the file that has the name, so a keybag or a file that is replaced can be lost"
                + reason
        case .noRandomWrites:
            "a file takes no writes at any offset, so files in the mount cannot be changed in place\(reason)"
        case .noSyncOfFiles:
            "fsync of a file fails, so what was written may be gone after a crash\(reason)"
        case .noSyncOfFolders:
            "fsync of a folder fails, so new and renamed files may be gone after a crash\(reason)"
        case .noFlock:
            "a lock of a file (flock) keeps nobody out, so two programs may write to the vault at once\(reason)"
        case .changingInodes:
            "the inode number of a file changes while it is open, so one file counts as two, and changes are lost"
        case .mixedFiles:
            "when a rename gives the name of an open file to another file, what is then written to the one changes the "
                + "other"
        case .staleLinks:
            "after a rename over a symbolic link the old target is still read, so a folder may keep a weaker class, and "
                + "its new files can be read while the vault is locked"
        case .belowOverlay:
            "it was there before the overlay, which copies a file when it changes: the names of a hard link become two "
                + "files, and folders cannot be removed"
        case .noListing:
            "it does not list the names in a folder\(reason)"
        case .noRenameOfOpenFiles:
            "a file that is open cannot be renamed, and a vault renames such files\(reason)"
        case .caseInsensitive:
            "it does not distinguish a from A, so encrypted names collide"
        case .shortNames:
            "it takes names of at most \(number ?? 0) bytes, which is too short for encrypted names"
        case .noSharedLocks:
            "other machines do not see a lock (flock) of this one, so only the claim record keeps two machines apart"
        case .syncStaysHere:
            "fsync returns before the data has left this machine, so after a crash what a program has synced may be gone"
        case .noAttributes:
            "it takes no extended attributes, so Latchkey keeps them in files of its own, and each change of one waits "
                + "for the disk\(reason)"
        case .noHardLinks:
            "it has no hard links, so link(2) fails in the mount\(reason)"
        case .unlikeHardLinks:
            "the names of a hard link look like two files, so link(2) fails in the mount"
        case .noSymbolicLinks:
            "it has no symbolic links, so symlink(2) fails in the mount\(reason)"
        case .noSetTimes:
            "times of files cannot be set, so a backup that compares times may miss a change\(reason)"
        case .noReadAfterUnlink:
            "a file that is removed while it is open cannot be read any more\(reason)"
        case .unknownKind:
            "it is not known whether other machines see the locks of this one; only the claim record is sure to keep "
                + "two machines apart"
        case .passingInodes:
            "inode numbers change when the store is mounted again; Latchkey knows a file by its own ID, but a backup "
                + "that compares inode numbers reads every file again"
        case .cached:
            "what another machine changes may be seen \(number ?? 0) seconds late, by the defaults of this kind"
        case .smallAttributes:
            "a value of an extended attribute has at most \(number ?? 0) bytes; Latchkey keeps larger ones in files of "
                + "its own"
        case .noHoles:
            "holes take space\(reason)"
        case .coarseTimes:
            "times of files are exact to \((number ?? 0) / 1_000_000_000) seconds, so a backup that compares times may "
                + "miss a change"
        case .volatile:
            "it lies in memory: everything in it is gone when the machine goes off"
        case .readOnly:
            "it cannot be written to, so nothing was tried; latchkey mount -o ro shows a vault there"
        }
    }

    private var reason: String { errno.map { " (\($0.name))" } ?? "" }
}
