import CLinux
import Glibc

/// The owner and permissions of a file, as the kernel has them in memory. No disk is asked, which may be slow, stopped
/// or gone.
///
/// Source: openat2(2), RESOLVE_CACHED; statx(2), AT_STATX_DONT_SYNC.
public struct KnownOwnership: Hashable, Sendable {
    public private(set) var owner: UInt32 = 0
    public private(set) var group: UInt32 = 0
    /// Including the type bits.
    public private(set) var mode: UInt32 = 0

    /// The file at a path, through symbolic links.
    ///
    /// - Throws: `EAGAIN` if the kernel does not have the whole path in memory; `ENOSYS` before Linux 5.6, `EINVAL`
    ///   before 5.12.
    public init(path: Path) throws(Errno) {
        try unsafe withCString(path.bytes) { path throws(Errno) in
            try perform { unsafe lk_known_ownership(path, &owner, &group, &mode) }
        }
    }
}
