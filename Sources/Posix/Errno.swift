import CLinux
import Glibc

/// The error number of a failed system call.
///
/// Thrown by everything in this module. Compare with the constants below, or in a `catch` clause with `==`.
///
/// Source: errno(3).
public struct Errno: Error, RawRepresentable, Hashable, Codable, Sendable {
    public let rawValue: Int32

    public init(rawValue: Int32) {
        self.rawValue = rawValue
    }

    /// The calling thread's error number: valid only right after a failed call.
    public static var current: Errno { Errno(rawValue: errno) }
}

extension Errno: CustomStringConvertible {
    /// The system's message for the error, such as "No such file or directory".
    public var description: String {
        unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
            unsafe lk_strerror(rawValue, buffer.baseAddress!, buffer.count)
            return unsafe String(cString: buffer.baseAddress!)
        }
    }

    /// The constant's name, such as "ENOENT"; the number if it has none.
    public var name: String {
        guard let name = unsafe lk_strerrorname(rawValue) else { return "\(rawValue)" }
        return unsafe String(cString: name)
    }
}

extension Errno {
    public static let EPERM = Errno(rawValue: Glibc.EPERM)
    public static let ENOENT = Errno(rawValue: Glibc.ENOENT)
    public static let ESRCH = Errno(rawValue: Glibc.ESRCH)
    public static let EINTR = Errno(rawValue: Glibc.EINTR)
    public static let EIO = Errno(rawValue: Glibc.EIO)
    public static let ENXIO = Errno(rawValue: Glibc.ENXIO)
    public static let E2BIG = Errno(rawValue: Glibc.E2BIG)
    public static let EBADF = Errno(rawValue: Glibc.EBADF)
    public static let ECHILD = Errno(rawValue: Glibc.ECHILD)
    public static let EAGAIN = Errno(rawValue: Glibc.EAGAIN)
    public static let EWOULDBLOCK = Errno(rawValue: Glibc.EWOULDBLOCK)
    public static let ENOMEM = Errno(rawValue: Glibc.ENOMEM)
    public static let EACCES = Errno(rawValue: Glibc.EACCES)
    public static let EFAULT = Errno(rawValue: Glibc.EFAULT)
    public static let EBUSY = Errno(rawValue: Glibc.EBUSY)
    public static let EEXIST = Errno(rawValue: Glibc.EEXIST)
    public static let EXDEV = Errno(rawValue: Glibc.EXDEV)
    public static let ENODEV = Errno(rawValue: Glibc.ENODEV)
    public static let ENOTDIR = Errno(rawValue: Glibc.ENOTDIR)
    public static let EISDIR = Errno(rawValue: Glibc.EISDIR)
    public static let EINVAL = Errno(rawValue: Glibc.EINVAL)
    public static let ENFILE = Errno(rawValue: Glibc.ENFILE)
    public static let EMFILE = Errno(rawValue: Glibc.EMFILE)
    public static let ENOTTY = Errno(rawValue: Glibc.ENOTTY)
    public static let ETXTBSY = Errno(rawValue: Glibc.ETXTBSY)
    public static let EFBIG = Errno(rawValue: Glibc.EFBIG)
    public static let ENOSPC = Errno(rawValue: Glibc.ENOSPC)
    public static let ESPIPE = Errno(rawValue: Glibc.ESPIPE)
    public static let EROFS = Errno(rawValue: Glibc.EROFS)
    public static let EMLINK = Errno(rawValue: Glibc.EMLINK)
    public static let EPIPE = Errno(rawValue: Glibc.EPIPE)
    public static let EDOM = Errno(rawValue: Glibc.EDOM)
    public static let ERANGE = Errno(rawValue: Glibc.ERANGE)
    public static let EDEADLK = Errno(rawValue: Glibc.EDEADLK)
    public static let ENAMETOOLONG = Errno(rawValue: Glibc.ENAMETOOLONG)
    public static let ENOLCK = Errno(rawValue: Glibc.ENOLCK)
    public static let ENOSYS = Errno(rawValue: Glibc.ENOSYS)
    public static let ENOTEMPTY = Errno(rawValue: Glibc.ENOTEMPTY)
    public static let ELOOP = Errno(rawValue: Glibc.ELOOP)
    public static let ENODATA = Errno(rawValue: Glibc.ENODATA)
    public static let ETIME = Errno(rawValue: Glibc.ETIME)
    public static let EPROTO = Errno(rawValue: Glibc.EPROTO)
    public static let EBADMSG = Errno(rawValue: Glibc.EBADMSG)
    public static let EOVERFLOW = Errno(rawValue: Glibc.EOVERFLOW)
    public static let EILSEQ = Errno(rawValue: Glibc.EILSEQ)
    public static let EOPNOTSUPP = Errno(rawValue: Glibc.EOPNOTSUPP)
    public static let ENOTSUP = Errno(rawValue: Glibc.ENOTSUP)
    public static let EADDRINUSE = Errno(rawValue: Glibc.EADDRINUSE)
    public static let ECONNREFUSED = Errno(rawValue: Glibc.ECONNREFUSED)
    public static let ECONNRESET = Errno(rawValue: Glibc.ECONNRESET)
    public static let ENOBUFS = Errno(rawValue: Glibc.ENOBUFS)
    public static let ENOTCONN = Errno(rawValue: Glibc.ENOTCONN)
    public static let ETIMEDOUT = Errno(rawValue: Glibc.ETIMEDOUT)
    public static let ESTALE = Errno(rawValue: Glibc.ESTALE)
    public static let EDQUOT = Errno(rawValue: Glibc.EDQUOT)
    public static let ECANCELED = Errno(rawValue: Glibc.ECANCELED)
    /// "Required key not available": the answer of the kernel's own fscrypt for a locked file.
    public static let ENOKEY = Errno(rawValue: Glibc.ENOKEY)
}
