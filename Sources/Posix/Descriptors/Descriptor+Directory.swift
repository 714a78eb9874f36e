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
        try unsafe old.withCString { old throws(Errno) in
            try unsafe new.withCString { new throws(Errno) in
                try perform { unsafe lk_renameat2(number, old, directory.number, new, flags) }
            }
        }
    }

    /// Source: linkat(2).
    public func link(_ old: Name, to new: Name, in directory: Descriptor) throws(Errno) {
        try unsafe old.withCString { old throws(Errno) in
            try unsafe new.withCString { new throws(Errno) in
                try perform { unsafe linkat(number, old, directory.number, new, 0) }
            }
        }
    }

    /// Source: unlinkat(2).
    public func unlink(_ name: Name) throws(Errno) {
        try unsafe name.withCString { name throws(Errno) in
            try perform { unsafe unlinkat(number, name, 0) }
        }
    }

    /// Source: unlinkat(2), AT_REMOVEDIR.
    public func removeDirectory(_ name: Name) throws(Errno) {
        try unsafe name.withCString { name throws(Errno) in
            try perform { unsafe unlinkat(number, name, AT_REMOVEDIR) }
        }
    }

    /// Source: mkdirat(2); the umask applies.
    public func makeDirectory(_ name: Name, mode: UInt32) throws(Errno) {
        try unsafe name.withCString { name throws(Errno) in
            try perform { unsafe mkdirat(number, name, mode) }
        }
    }

    /// Creates a FIFO, socket, device node or empty file, by the type bits of `mode`; the umask applies.
    ///
    /// Source: mknodat(2).
    public func makeNode(_ name: Name, mode: UInt32, device: UInt64) throws(Errno) {
        try unsafe name.withCString { name throws(Errno) in
            try perform { unsafe mknodat(number, name, mode, UInt(device)) }
        }
    }

    /// Creates a symbolic link to `target`: 1 to 4095 bytes, no NUL.
    ///
    /// Source: symlinkat(2).
    public func makeSymbolicLink(to target: [UInt8], _ name: Name) throws(Errno) {
        try unsafe withCString(target) { target throws(Errno) in
            try unsafe name.withCString { name throws(Errno) in
                try perform { unsafe symlinkat(target, number, name) }
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
