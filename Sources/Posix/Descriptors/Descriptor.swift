import CLinux
import Glibc
import Synchronization

/// An open file descriptor, closed with its last reference.
///
/// Thread-safe. Code that uses `number` must keep the object alive beyond the call: Swift may release an object after
/// its last use, which is the read of `number`. An object that is the argument of a call stays alive.
public final class Descriptor: Sendable {
    public let number: Int32
    /// What closes it in place of this object.
    private let closer: (@Sendable (Int32) -> Void)?
    private let isHandedOver = Atomic(false)

    /// Takes ownership of an open descriptor.
    public convenience init(owning number: Int32) { self.init(owning: number, closer: nil) }

    private init(owning number: Int32, closer: (@Sendable (Int32) -> Void)?) {
        precondition(number >= 0, "not a descriptor")
        self.number = number
        self.closer = closer
    }

    /// Another object for the same descriptor, which `closer` closes with its last reference: close(2) waits for the
    /// file system, so it may belong on another thread. Call it once; this object must not be used any more.
    package func handedOver(to closer: @escaping @Sendable (Int32) -> Void) -> Descriptor {
        isHandedOver.store(true, ordering: .releasing)
        return Descriptor(owning: number, closer: closer)
    }

    /// Closes a descriptor by its number. Errors are ignored: a file that must be durable has reported them at fsync.
    package static func close(_ number: Int32) {
        // Never repeated on EINTR: Linux has released the number already, and another thread may own it by now.
        _ = Glibc.close(number)
    }

    deinit {
        guard !isHandedOver.load(ordering: .acquiring) else { return }
        if let closer { return closer(number) }
        Self.close(number)
    }

    /// Opens a path relative to the working folder, and follows symbolic links; adds O_CLOEXEC.
    ///
    /// Source: open(2).
    public static func open(path: Path, _ flags: Int32, mode: UInt32 = 0) throws(Errno) -> Descriptor {
        let number = try unsafe withCString(path.bytes) { path throws(Errno) in
            try call { unsafe lk_openat(AT_FDCWD, path, flags | O_CLOEXEC, mode) }
        }
        return Descriptor(owning: number)
    }

    /// As with a `Path`, for one that is text.
    public static func open(path: String, _ flags: Int32, mode: UInt32 = 0) throws(Errno) -> Descriptor {
        try open(path: Path(path), flags, mode: mode)
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

    /// Another open file of the same inode, whatever its present name; its permissions apply as on an open by name.
    ///
    /// Source: open(2); proc(5), /proc/PID/fd.
    public func reopen(_ flags: Int32) throws(Errno) -> Descriptor {
        try Descriptor.open(path: "/proc/self/fd/\(number)", flags)
    }

    public func setNonblocking(_ on: Bool) throws(Errno) {
        try perform { lk_set_nonblocking(number, on ? 1 : 0) }
    }

    /// The present path of the open file, from the process's root; `ENOENT` for one without a name.
    ///
    /// Source: proc(5), /proc/PID/fd; readlink(2). ENAMETOOLONG if the path exceeds the kernel's buffer.
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
        // The kernel marks a removed name; the file may have other names.
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
