import CLinux
import Glibc

// Extended attributes of an open file, also if opened with O_PATH. Names are complete, such as "user.x".
extension Descriptor {
    /// Linux's limit for a value, and for a list of names: 64 KiB.
    private static var attributeLimit: Int { 65_536 }

    /// The value, at most 64 KiB; ENODATA if there is no such attribute.
    ///
    /// Source: fgetxattr(2).
    public func attribute(_ name: String) throws(Errno) -> [UInt8] {
        try unsafe withCString(Array(name.utf8)) { name throws(Errno) in
            try unsafe bytes { unsafe lk_getxattr(number, name, $0.baseAddress!, $0.count) }
        }
    }

    /// Reads the attribute of an entry into `value` and returns its size in bytes; ERANGE if it does not fit.
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

    /// Creates or replaces an attribute. With XATTR_CREATE in `flags`, an existing one is EEXIST; with XATTR_REPLACE, a
    /// missing one is ENODATA.
    ///
    /// Source: fsetxattr(2).
    public func setAttribute(_ name: String, to value: [UInt8], flags: Int32 = 0) throws(Errno) {
        try unsafe withCString(Array(name.utf8)) { bytes throws(Errno) in
            try performOnce {
                unsafe lk_setxattr(number, bytes, value, value.count, flags)
            } isDone: { error in
                error == .EEXIST && (try? attribute(name)) == value
            }
        }
    }

    /// ENODATA if there is no such attribute.
    ///
    /// Source: fremovexattr(2).
    public func removeAttribute(_ name: String) throws(Errno) {
        try unsafe withCString(Array(name.utf8)) { name throws(Errno) in
            try performOnce {
                unsafe lk_removexattr(number, name)
            } isDone: {
                $0 == .ENODATA
            }
        }
    }

    /// The names that are valid UTF-8; a String cannot hold the others.
    ///
    /// Source: flistxattr(2).
    public func attributeNames() throws(Errno) -> [String] {
        try unsafe bytes {
            unsafe lk_listxattr(number, $0.baseAddress!.assumingMemoryBound(to: CChar.self), $0.count)
        }
        .split(separator: 0)
        .compactMap { String(validating: $0, as: UTF8.self) }
    }

    /// The bytes that the call puts into a buffer: first a small one, which suffices for nearly all values.
    /// Whether `attributeNames` has all names.
    ///
    /// Source: flistxattr(2).
    package func hasOnlyTextualAttributeNames() throws(Errno) -> Bool {
        let list = try unsafe bytes {
            unsafe lk_listxattr(number, $0.baseAddress!.assumingMemoryBound(to: CChar.self), $0.count)
        }
        return list.split(separator: 0).allSatisfy { String(validating: $0, as: UTF8.self) != nil }
    }

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
