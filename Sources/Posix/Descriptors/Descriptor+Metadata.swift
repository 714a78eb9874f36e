import CLinux
import Glibc

// Metadata of an open file, also if opened with O_PATH, and of an entry of an open directory. Symbolic links are not
// followed.
extension Descriptor {
    /// Updates the access time of a file opened with O_NOATIME as a read without it does: by the rules of its file
    /// system, and without a change of ctime.
    ///
    /// Source: open(2), O_NOATIME; fcntl(2), F_SETFL.
    public func noteAccess() throws(Errno) {
        try perform { lk_note_access(number) }
    }

    /// Source: fstat(2).
    public func status() throws(Errno) -> FileStatus {
        var status = stat()
        try perform { unsafe fstat(number, &status) }
        return FileStatus(status)
    }

    /// Source: fstatat(2).
    public func status(of name: Name) throws(Errno) -> FileStatus {
        var status = stat()
        try unsafe name.withCString { name throws(Errno) in
            try perform { unsafe fstatat(number, name, &status, AT_SYMLINK_NOFOLLOW) }
        }
        return FileStatus(status)
    }

    /// The birth time; nil if the file system does not record it.
    ///
    /// Source: statx(2), STATX_BTIME.
    public func birthTime() throws(Errno) -> Timespec? {
        var time = timespec()
        return try call { unsafe lk_birth_time(number, "", &time) } == 1 ? Timespec(time) : nil
    }

    /// The birth time of an entry of this directory; nil if the file system does not record it.
    ///
    /// Source: statx(2), STATX_BTIME.
    public func birthTime(_ name: Name) throws(Errno) -> Timespec? {
        var time = timespec()
        return try unsafe name.withCString { name throws(Errno) in
            try call { unsafe lk_birth_time(number, name, &time) } == 1 ? Timespec(time) : nil
        }
    }

    /// Source: fchmod(2).
    public func setMode(_ mode: UInt32) throws(Errno) {
        try perform { lk_fchmod(number, mode) }
    }

    /// EOPNOTSUPP for a symbolic link, which has no mode of its own.
    ///
    /// Source: fchmodat(2).
    public func setMode(_ mode: UInt32, of name: Name) throws(Errno) {
        try unsafe name.withCString { name throws(Errno) in
            try perform { unsafe fchmodat(number, name, mode, AT_SYMLINK_NOFOLLOW) }
        }
    }

    /// Lets no process change the file, or the entries of the folder, not even one of root's; or allows it again. The
    /// file must not have
    /// been opened with O_PATH.
    ///
    /// Source: ioctl_iflags(2), FS_IMMUTABLE_FL.
    public func setImmutable(_ on: Bool = true) throws(Errno) {
        try perform { lk_set_immutable(number, on ? 1 : 0) }
    }

    /// Whether the file has that flag; false on a file system without it.
    ///
    /// Source: statx(2), STATX_ATTR_IMMUTABLE.
    public func isImmutable() throws(Errno) -> Bool { try call { lk_is_immutable(number) } == 1 }

    /// Nil leaves the user or the group unchanged.
    ///
    /// Source: fchownat(2), AT_EMPTY_PATH.
    public func setOwner(user: UInt32?, group: UInt32?) throws(Errno) {
        try perform { unsafe fchownat(number, "", user ?? .max, group ?? .max, AT_EMPTY_PATH) }
    }

    /// Nil leaves the user or the group unchanged.
    ///
    /// Source: fchownat(2).
    public func setOwner(user: UInt32?, group: UInt32?, of name: Name) throws(Errno) {
        try unsafe name.withCString { name throws(Errno) in
            try perform { unsafe fchownat(number, name, user ?? .max, group ?? .max, AT_SYMLINK_NOFOLLOW) }
        }
    }

    /// Source: utimensat(2), AT_EMPTY_PATH.
    public func setTimes(accessed: TimeChange, modified: TimeChange) throws(Errno) {
        let times = [accessed.timespec, modified.timespec]
        try perform { unsafe utimensat(number, "", times, AT_EMPTY_PATH) }
    }

    /// Source: utimensat(2).
    public func setTimes(accessed: TimeChange, modified: TimeChange, of name: Name) throws(Errno) {
        let times = [accessed.timespec, modified.timespec]
        try unsafe name.withCString { name throws(Errno) in
            try perform { unsafe utimensat(number, name, times, AT_SYMLINK_NOFOLLOW) }
        }
    }

    /// The statistics of the file system that holds this file.
    ///
    /// Source: fstatvfs(3).
    public func fileSystemStatistics() throws(Errno) -> FileSystemStatistics {
        var statistics = statvfs()
        try perform { unsafe fstatvfs(number, &statistics) }
        return FileSystemStatistics(statistics)
    }
}
