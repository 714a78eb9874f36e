import CLinux
import Glibc

// The *at calls: `self` is the directory of the names. None follows a symbolic link at the name.
extension Descriptor {
    /// Opens an entry of this directory, and nothing outside of it. Adds O_CLOEXEC and O_NOFOLLOW, so a symbolic link
    /// is ELOOP.
    ///
    /// Source: openat2(2), RESOLVE_BENEATH, RESOLVE_NO_SYMLINKS, RESOLVE_NO_MAGICLINKS.
    public func open(_ name: Name, _ flags: Int32, mode: UInt32 = 0) throws(Errno) -> Descriptor {
        let opened = try unsafe name.withCString { name throws(Errno) in
            try call { unsafe lk_open_beneath(number, name, flags | O_CLOEXEC | O_NOFOLLOW, mode) }
        }
        return Descriptor(owning: opened)
    }

    /// Source: renameat2(2); `flags` are RENAME_*.
    public func rename(_ old: Name, to new: Name, in directory: Descriptor, flags: UInt32 = 0) throws(Errno) {
        // A second exchange would undo the first one.
        let before = flags & UInt32(RENAME_EXCHANGE) == 0 ? nil : try status(of: old).inode
        try unsafe old.withCString { oldName throws(Errno) in
            try unsafe new.withCString { newName throws(Errno) in
                try performOnce {
                    let result = unsafe lk_renameat2(number, oldName, directory.number, newName, flags)
                    guard result == -1, errno == EINTR, let before else { return result }
                    let isExchanged = (try? directory.status(of: new).inode) == before
                    errno = EINTR
                    return isExchanged ? 0 : -1
                } isDone: { error in
                    error == .ENOENT && isMissing(old) && !directory.isMissing(new)
                }
            }
        }
    }

    private func isMissing(_ name: Name) -> Bool {
        do throws(Errno) { _ = try status(of: name) } catch { return error == .ENOENT }
        return false
    }

    /// Source: linkat(2).
    public func link(_ old: Name, to new: Name, in directory: Descriptor) throws(Errno) {
        try unsafe old.withCString { oldName throws(Errno) in
            try unsafe new.withCString { newName throws(Errno) in
                try performOnce {
                    unsafe linkat(number, oldName, directory.number, newName, 0)
                } isDone: { error in
                    guard error == .EEXIST, let inode = try? status(of: old).inode else { return false }
                    return (try? directory.status(of: new).inode) == inode
                }
            }
        }
    }

    /// Source: unlinkat(2).
    public func unlink(_ name: Name) throws(Errno) {
        try unsafe name.withCString { name throws(Errno) in
            try performOnce {
                unsafe unlinkat(number, name, 0)
            } isDone: {
                $0 == .ENOENT
            }
        }
    }

    /// Source: unlinkat(2), AT_REMOVEDIR.
    public func removeDirectory(_ name: Name) throws(Errno) {
        try unsafe name.withCString { name throws(Errno) in
            try performOnce {
                unsafe unlinkat(number, name, AT_REMOVEDIR)
            } isDone: {
                $0 == .ENOENT
            }
        }
    }

    /// Source: mkdirat(2); the umask applies.
    public func makeDirectory(_ name: Name, mode: UInt32) throws(Errno) {
        try unsafe name.withCString { bytes throws(Errno) in
            try performOnce {
                unsafe mkdirat(number, bytes, mode)
            } isDone: { error in
                error == .EEXIST && kind(of: name) == .directory
            }
        }
    }

    /// Creates a FIFO, socket, device node or empty file, by the type bits of `mode`; the umask applies.
    ///
    /// Source: mknodat(2).
    public func makeNode(_ name: Name, mode: UInt32, device: UInt64) throws(Errno) {
        try unsafe name.withCString { bytes throws(Errno) in
            try performOnce {
                unsafe mknodat(number, bytes, mode, UInt(device))
            } isDone: { error in
                error == .EEXIST && kind(of: name) == FileKind(mode: mode)
            }
        }
    }

    private func kind(of name: Name) -> FileKind? { (try? status(of: name))?.kind }

    /// Creates a symbolic link to `target`: 1 to 4095 bytes, no NUL.
    ///
    /// Source: symlinkat(2).
    public func makeSymbolicLink(to target: [UInt8], _ name: Name) throws(Errno) {
        try unsafe withCString(target) { text throws(Errno) in
            try unsafe name.withCString { bytes throws(Errno) in
                try performOnce {
                    unsafe symlinkat(text, number, bytes)
                } isDone: { error in
                    error == .EEXIST && (try? readSymbolicLink(name)) == target
                }
            }
        }
    }

    /// The target of a symbolic link; EINVAL for other kinds of files.
    ///
    /// Source: readlinkat(2).
    public func readSymbolicLink(_ name: Name) throws(Errno) -> [UInt8] {
        try unsafe name.withCString { name throws(Errno) in
            // Linux limits targets to PATH_MAX.
            try unsafe withUnsafeTemporaryAllocation(byteCount: Int(PATH_MAX), alignment: 1) {
                buffer throws(Errno) in
                let count = try call {
                    unsafe readlinkat(
                        number, name, buffer.baseAddress!.assumingMemoryBound(to: CChar.self), buffer.count)
                }
                return unsafe Array(buffer.prefix(count))
            }
        }
    }
}
