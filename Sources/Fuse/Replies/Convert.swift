import CFuse
import Glibc
import Posix

extension stat {
    init(_ status: FileStatus) {
        self.init()
        st_dev = UInt(status.device)
        st_ino = UInt(status.inode)
        st_mode = status.mode
        st_nlink = UInt(status.linkCount)
        st_uid = status.owner
        st_gid = status.group
        st_rdev = UInt(status.specialDevice)
        st_size = off_t(status.size)
        st_blocks = Int(status.blocks)
        st_blksize = Int(status.blockSize)
        st_atim = status.accessed.timespec
        st_mtim = status.modified.timespec
        st_ctim = status.changed.timespec
    }
}

extension lk_fuse_statx_out {
    init(_ extended: ExtendedAttributes) {
        self.init()
        let status = extended.attributes.status
        let timeout = extended.attributes.timeout
        attr_valid = UInt64(timeout)
        attr_valid_nsec = UInt32((timeout - timeout.rounded(.down)) * 1e9)
        mask = UInt32(LK_STATX_BASIC)
        blksize = UInt32(clamping: status.blockSize)
        nlink = UInt32(clamping: status.linkCount)
        uid = status.owner
        gid = status.group
        mode = UInt16(truncatingIfNeeded: status.mode)
        ino = status.inode
        size = UInt64(bitPattern: status.size)
        blocks = UInt64(bitPattern: status.blocks)
        atime = lk_fuse_sx_time(status.accessed)
        mtime = lk_fuse_sx_time(status.modified)
        ctime = lk_fuse_sx_time(status.changed)
        if let birthTime = extended.birthTime {
            mask |= UInt32(LK_STATX_BTIME)
            btime = lk_fuse_sx_time(birthTime)
        }
        rdev_major = lk_fuse_major(status.specialDevice)
        rdev_minor = lk_fuse_minor(status.specialDevice)
    }
}

extension lk_fuse_sx_time {
    init(_ time: Timespec) {
        self.init()
        tv_sec = time.seconds
        tv_nsec = UInt32(truncatingIfNeeded: time.nanoseconds)
    }
}

extension fuse_entry_param {
    init(_ entry: Entry) {
        self.init()
        ino = entry.node.rawValue
        generation = entry.generation
        attr = stat(entry.status)
        attr_timeout = entry.attributeTimeout
        entry_timeout = entry.entryTimeout
    }
}

extension Opened {
    var info: fuse_file_info {
        lk_fuse_opened(handle.rawValue, directIO, keepCache, noFlush, cacheListing)
    }
}

extension AttributeChanges {
    /// `to_set` holds FUSE_SET_ATTR bits, which say which fields of `values` are valid.
    init(_ values: stat, _ selection: Int32) {
        func selects(_ bit: Int32) -> Bool { selection & bit != 0 }
        mode = selects(FUSE_SET_ATTR_MODE) ? values.st_mode : nil
        owner = selects(FUSE_SET_ATTR_UID) ? values.st_uid : nil
        group = selects(FUSE_SET_ATTR_GID) ? values.st_gid : nil
        size = selects(FUSE_SET_ATTR_SIZE) ? Int64(values.st_size) : nil
        changed = selects(FUSE_SET_ATTR_CTIME) ? Timespec(values.st_ctim) : nil
        accessed =
            selects(FUSE_SET_ATTR_ATIME_NOW)
            ? .now : selects(FUSE_SET_ATTR_ATIME) ? .at(Timespec(values.st_atim)) : .keep
        modified =
            selects(FUSE_SET_ATTR_MTIME_NOW)
            ? .now : selects(FUSE_SET_ATTR_MTIME) ? .at(Timespec(values.st_mtim)) : .keep
        // libfuse names the bit by its older meaning; on the wire it is FATTR_KILL_SUIDGID.
        dropsPrivileges = selects(FUSE_SET_ATTR_KILL_SUID)
    }
}

extension Name {
    /// Nil for names over 255 bytes, which the kernel passes but no file system of ours can store.
    init?(_ string: UnsafePointer<CChar>) {
        let count = unsafe strlen(string)
        let bytes = unsafe UnsafeRawBufferPointer(start: string, count: count)
        unsafe self.init(bytes: bytes)
    }
}

/// A null-terminated list of C strings, as main and exec take it.
enum CStrings {
    static func make(_ strings: [[UInt8]]) -> [UnsafeMutablePointer<CChar>?] {
        var list: [UnsafeMutablePointer<CChar>?] = unsafe []
        for string in strings { unsafe list.append(Path(bytes: string).withCString { unsafe strdup($0) }) }
        unsafe list.append(nil)
        return unsafe list
    }

    static func free(_ list: [UnsafeMutablePointer<CChar>?]) {
        unsafe list.forEach { unsafe Glibc.free($0) }
    }
}
