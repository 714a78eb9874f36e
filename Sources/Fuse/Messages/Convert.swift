import CFuse
import Glibc
import Posix

/// A time as the kernel's structures have it.
private func split(_ seconds: Double) -> (UInt64, UInt32) {
    let whole = seconds.rounded(.down)
    return (UInt64(whole), UInt32((seconds - whole) * 1e9))
}

extension fuse_attr {
    init(_ status: FileStatus) {
        self.init()
        ino = status.inode
        size = UInt64(bitPattern: status.size)
        blocks = UInt64(bitPattern: status.blocks)
        atime = UInt64(bitPattern: status.accessed.seconds)
        mtime = UInt64(bitPattern: status.modified.seconds)
        ctime = UInt64(bitPattern: status.changed.seconds)
        atimensec = UInt32(truncatingIfNeeded: status.accessed.nanoseconds)
        mtimensec = UInt32(truncatingIfNeeded: status.modified.nanoseconds)
        ctimensec = UInt32(truncatingIfNeeded: status.changed.nanoseconds)
        mode = status.mode
        nlink = UInt32(clamping: status.linkCount)
        uid = status.owner
        gid = status.group
        // The kernel's 32 bits are the low ones of dev_t. Source: new_encode_dev in linux/kdev_t.h.
        rdev = UInt32(truncatingIfNeeded: status.specialDevice)
        blksize = UInt32(clamping: status.blockSize)
    }
}

extension fuse_attr_out {
    init(_ attributes: Attributes) {
        self.init()
        (attr_valid, attr_valid_nsec) = split(attributes.timeout)
        attr = fuse_attr(attributes.status)
    }
}

extension fuse_entry_out {
    init(_ entry: Entry) {
        self.init()
        nodeid = entry.node.rawValue
        generation = entry.generation
        (entry_valid, entry_valid_nsec) = split(entry.entryTimeout)
        (attr_valid, attr_valid_nsec) = split(entry.attributeTimeout)
        attr = fuse_attr(entry.status)
    }

    /// The name does not exist.
    init(missingFor timeout: Double) {
        self.init()
        (entry_valid, entry_valid_nsec) = split(timeout)
    }
}

extension lk_fuse_statx_out {
    init(_ extended: ExtendedAttributes) {
        self.init()
        let status = extended.attributes.status
        (attr_valid, attr_valid_nsec) = split(extended.attributes.timeout)
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

extension fuse_open_out {
    /// Source: FOPEN_DIRECT_IO and the others in linux/fuse.h.
    init(_ opened: Opened) {
        self.init()
        fh = opened.handle.rawValue
        open_flags =
            (opened.directIO ? 1 << 0 : 0) | (opened.keepCache ? 1 << 1 : 0) | (opened.cacheListing ? 1 << 3 : 0)
            | (opened.noFlush ? 1 << 5 : 0)
    }
}

extension fuse_kstatfs {
    init(_ statistics: FileSystemStatistics) {
        self.init()
        blocks = UInt64(statistics.blocks)
        bfree = UInt64(statistics.freeBlocks)
        bavail = UInt64(statistics.availableBlocks)
        files = UInt64(statistics.files)
        ffree = UInt64(statistics.freeFiles)
        bsize = UInt32(clamping: statistics.blockSize)
        frsize = UInt32(clamping: statistics.fragmentSize)
        namelen = UInt32(clamping: statistics.maximumNameLength)
    }
}

extension AttributeChanges {
    /// Source: FATTR_MODE and the others in linux/fuse.h, which say which fields are valid.
    init(_ values: fuse_setattr_in) {
        func selects(_ bit: UInt32) -> Bool { values.valid & 1 << bit != 0 }
        mode = selects(0) ? values.mode : nil
        owner = selects(1) ? values.uid : nil
        group = selects(2) ? values.gid : nil
        size = selects(3) ? Int64(bitPattern: values.size) : nil
        accessed =
            selects(7) ? .now : selects(4) ? .at(Timespec(wire: values.atime, values.atimensec)) : .keep
        modified =
            selects(8) ? .now : selects(5) ? .at(Timespec(wire: values.mtime, values.mtimensec)) : .keep
        changed = selects(10) ? Timespec(wire: values.ctime, values.ctimensec) : nil
        dropsPrivileges = selects(11)
    }
}

extension Timespec {
    fileprivate init(wire seconds: UInt64, _ nanoseconds: UInt32) {
        self.init(seconds: Int64(bitPattern: seconds), nanoseconds: Int64(nanoseconds))
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
