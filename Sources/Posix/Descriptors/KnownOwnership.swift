import CLinux
import Glibc

/// Who owns a file and who may use it, as the kernel has it in memory: no disk is asked, which may be slow, stopped or gone.
///
/// Source: openat2(2), RESOLVE_CACHED; statx(2), AT_STATX_DONT_SYNC.
public struct KnownOwnership: Hashable, Sendable {
    public private(set) var owner: UInt32 = 0
    public private(set) var group: UInt32 = 0
    /// With the type of the file.
    public private(set) var mode: UInt32 = 0

    /// What a path leads to, through links.
    ///
    /// - Throws: `EAGAIN` where the kernel does not have all of the path in memory; `ENOSYS` before Linux 5.6, `EINVAL` before
    ///   5.12.
    public init(path: String) throws(Errno) {
        try unsafe withCString(Array(path.utf8)) { path throws(Errno) in
            try perform { unsafe lk_known_ownership(path, &owner, &group, &mode) }
        }
    }
}
