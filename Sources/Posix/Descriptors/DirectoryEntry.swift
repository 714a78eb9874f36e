import CLinux
import Glibc

/// One entry of a directory.
public struct DirectoryEntry: Hashable, Sendable {
    public var name: Name
    public var inode: UInt64
    /// Nil if the file system reports no type in listings.
    public var kind: FileKind?

    public init(name: Name, inode: UInt64, kind: FileKind?) {
        self.name = name
        self.inode = inode
        self.kind = kind
    }
}

extension Descriptor {
    /// All entries of this directory except `.` and `..`, in no particular order.
    ///
    /// Always from the start, over a new open file: several threads may list one descriptor at the same time.
    ///
    /// Source: getdents64(2).
    public func entries() throws(Errno) -> [DirectoryEntry] {
        let stream = try open(.current, O_RDONLY | O_DIRECTORY)
        var entries: [DirectoryEntry] = []
        while true {
            let more = try stream.nextEntries()
            if more.isEmpty { return entries }
            entries += more
        }
    }

    /// The next entries of this directory except `.` and `..`, a few hundred, from the offset of this open file; none
    /// at the end.
    ///
    /// For one thread, and for directories whose complete list should not be in memory.
    ///
    /// Source: getdents64(2).
    public func nextEntries() throws(Errno) -> [DirectoryEntry] {
        try unsafe withUnsafeTemporaryAllocation(byteCount: 32_768, alignment: 8) { buffer throws(Errno) in
            var entries: [DirectoryEntry] = []
            // One call may return nothing but `.` and `..`.
            while entries.isEmpty {
                let count = try call { unsafe lk_getdents(number, buffer.baseAddress!, buffer.count) }
                if count == 0 { break }
                unsafe appendEntries(in: UnsafeRawBufferPointer(rebasing: buffer[..<count]).bytes, to: &entries)
            }
            return entries
        }
    }
}

/// Reads `struct linux_dirent64`: inode (u64), offset (i64), record length (u16), type (u8), name and NUL.
private func appendEntries(in records: RawSpan, to entries: inout [DirectoryEntry]) {
    var start = 0
    while start < records.byteCount {
        let inode = unsafe records.unsafeLoadUnaligned(fromByteOffset: start, as: UInt64.self)
        let length = Int(unsafe records.unsafeLoadUnaligned(fromByteOffset: start + 16, as: UInt16.self))
        let type = unsafe records.unsafeLoadUnaligned(fromByteOffset: start + 18, as: UInt8.self)
        let text = records.extracting(start + 19..<start + length)
        let bytes = unsafe text.withUnsafeBytes { unsafe Array($0.prefix { $0 != 0 }) }
        // DT_* are the type bits of a mode; DT_UNKNOWN, 0, is no kind.
        if let name = Name(bytes: bytes) {
            entries.append(DirectoryEntry(name: name, inode: inode, kind: FileKind(mode: UInt32(type) << 12)))
        }
        start += length
    }
}
