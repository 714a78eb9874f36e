import CLinux
import Glibc

// Extended attributes of an open file, also of one opened with O_PATH. Names are whole, such as "user.x".
extension Descriptor {
    /// The largest value, and the longest list of names, that Linux has: 64 KiB.
    private static var attributeLimit: Int { 65_536 }

    /// The value, at most 64 KiB; ENODATA if there is no such attribute.
    ///
    /// Source: fgetxattr(2).
    public func attribute(_ name: String) throws(Errno) -> [UInt8] {
        try unsafe withCString(Array(name.utf8)) { name throws(Errno) in
            try unsafe bytes { unsafe lk_getxattr(number, name, $0.baseAddress!, $0.count) }
        }
    }

    /// How many bytes the value of an entry's attribute has, put into `value`; ERANGE if that has no room for them.
    ///
    /// Source: getxattrat(2), lgetxattr(2).
    public func attribute(_ name: String, of entry: Name, into value: inout MutableRawSpan) throws(Errno) -> Int {
        let memory = unsafe value.withUnsafeMutableBytes { unsafe $0 }
        return try unsafe withCString(Array(name.utf8)) { name throws(Errno) in
            try unsafe entry.withCString { entry throws(Errno) in
                try call { unsafe lk_getxattrat(number, entry, name, memory.baseAddress, memory.count) }
            }
        }
    }

    /// Creates or replaces it; XATTR_CREATE in `flags` makes an existing one EEXIST, XATTR_REPLACE a missing one ENODATA.
    ///
    /// Source: fsetxattr(2).
    public func setAttribute(_ name: String, to value: [UInt8], flags: Int32 = 0) throws(Errno) {
        try unsafe withCString(Array(name.utf8)) { name throws(Errno) in
            try perform { unsafe lk_setxattr(number, name, value, value.count, flags) }
        }
    }

    /// ENODATA if there is no such attribute.
    ///
    /// Source: fremovexattr(2).
    public func removeAttribute(_ name: String) throws(Errno) {
        try unsafe withCString(Array(name.utf8)) { name throws(Errno) in
            try perform { unsafe lk_removexattr(number, name) }
        }
    }

    /// The names that are UTF-8; others are left out, a String could not name them.
    ///
    /// Source: flistxattr(2).
    public func attributeNames() throws(Errno) -> [String] {
        try unsafe bytes {
            unsafe lk_listxattr(number, $0.baseAddress!.assumingMemoryBound(to: CChar.self), $0.count)
        }
        .split(separator: 0)
        .compactMap { String(validating: $0, as: UTF8.self) }
    }

    /// What the call puts into a buffer: tried with a small one first, since nearly all values are.
    private func bytes(_ body: (UnsafeMutableRawBufferPointer) -> Int) throws(Errno) -> [UInt8] {
        do throws(Errno) {
            return try unsafe bytes(atMost: 512, body)
        } catch .ERANGE {
            return try unsafe bytes(atMost: Descriptor.attributeLimit, body)
        }
    }

    private func bytes(atMost size: Int, _ body: (UnsafeMutableRawBufferPointer) -> Int) throws(Errno) -> [UInt8] {
        try unsafe withUnsafeTemporaryAllocation(byteCount: size, alignment: 1) { buffer throws(Errno) in
            let count = try call { unsafe body(buffer) }
            return unsafe Array(buffer.prefix(count))
        }
    }
}
