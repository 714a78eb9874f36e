import CLinux
import Glibc

/// An open file descriptor, closed when the last reference is gone.
///
/// Safe to share between threads. Whoever uses `number` itself keeps the object alive beyond the call: Swift may
/// release an object after its last use, here the reading of `number`. As the argument of a call it is alive.
public final class Descriptor: Sendable {
    public let number: Int32

    /// Takes over an open descriptor, which nobody else closes from then on.
    public init(owning number: Int32) {
        precondition(number >= 0, "not a descriptor")
        self.number = number
    }

    deinit {
        // Never repeated on EINTR: Linux has released the number already, another thread may own it by now. What a
        // failing close could report, a file that must be durable has heard from fsync.
        _ = close(number)
    }

    /// Opens a path, followed through symbolic links; O_CLOEXEC is added. Relative to the working folder.
    ///
    /// Source: open(2).
    public static func open(path: String, _ flags: Int32, mode: UInt32 = 0) throws(Errno) -> Descriptor {
        let number = try unsafe withCString(Array(path.utf8)) { path throws(Errno) in
            try call { unsafe lk_openat(AT_FDCWD, path, flags | O_CLOEXEC, mode) }
        }
        return Descriptor(owning: number)
    }

    /// A nameless file in memory, empty and open for reading and writing.
    ///
    /// Source: memfd_create(2).
    public static func memoryFile(_ name: String) throws(Errno) -> Descriptor {
        let number = try unsafe withCString(Array(name.utf8)) { name throws(Errno) in
            try call { unsafe lk_memfd(name) }
        }
        return Descriptor(owning: number)
    }

    /// A second descriptor of the same open file: offset, flags and flock(2) are shared.
    public func duplicate() throws(Errno) -> Descriptor {
        Descriptor(owning: try call { lk_duplicate(number) })
    }

    /// Another open file of the same inode, whatever name it has by now; its permissions count as they do for a name.
    ///
    /// Source: open(2); proc(5), /proc/PID/fd.
    public func reopen(_ flags: Int32) throws(Errno) -> Descriptor {
        try Descriptor.open(path: "/proc/self/fd/\(number)", flags)
    }

    public func setNonblocking(_ on: Bool) throws(Errno) {
        try perform { lk_set_nonblocking(number, on ? 1 : 0) }
    }

    /// The path by which the open file is reached now, from the process's root; `ENOENT` for one without a name.
    ///
    /// Source: proc(5), /proc/PID/fd; readlink(2). ENAMETOOLONG where the kernel has no room for it.
    public func path() throws(Errno) -> [UInt8] {
        let status = try status()
        guard status.linkCount > 0 else { throw .ENOENT }
        let path = try unsafe withUnsafeTemporaryAllocation(byteCount: Int(PATH_MAX), alignment: 1) {
            buffer throws(Errno) in
            let count = try unsafe withCString(Array("/proc/self/fd/\(number)".utf8)) { link throws(Errno) in
                try call {
                    unsafe readlink(link, buffer.baseAddress!.assumingMemoryBound(to: CChar.self), buffer.count)
                }
            }
            return unsafe Array(buffer.prefix(count))
        }
        guard path.count < Int(PATH_MAX) else { throw .ENAMETOOLONG }
        // The kernel marks a name that was removed; the file may have others.
        guard path.first == UInt8(ascii: "/"), !path.ends(with: Array(" (deleted)".utf8)) else {
            throw .ENAMETOOLONG
        }
        return path
    }
}

extension [UInt8] {
    fileprivate func ends(with suffix: [UInt8]) -> Bool {
        count >= suffix.count && self.suffix(suffix.count).elementsEqual(suffix)
    }
}
