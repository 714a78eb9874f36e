internal import Control
internal import Failure
import Foundation
internal import Posix

/// Why something that has to do with protection was not done. Unless a call says otherwise, nothing has changed then.
///
/// All that this module throws but `CancellationError`. Signatures do not say so: where a typed error is caught by some of
/// its cases, in a function that throws any error, the compiler of Swift 6.3 ends in a crash of its own.
public enum DataProtectionError: Error, Hashable, Sendable {
    /// No Latchkey mount of this user holds the path: nothing there is protected.
    case notProtected(path: String)
    /// The key that this needs is locked away, the kernel's ENOKEY; it works again once the mount is unlocked.
    case locked(path: String)
    /// The daemon of the mount has ended: it was unmounted, or it died.
    case mountEnded(path: String)
    /// The daemon of a mount cannot be asked; why not.
    case noAnswer(reason: String)
    /// Latchkey has the four classes from `complete` to `none`; this raw value is of none of them.
    case unknownProtection(String)
    /// Anything else that the system has against it: an error number of errno(3).
    case system(errno: Int32, path: String)
}

extension DataProtectionError: LocalizedError, CustomStringConvertible {
    public var description: String {
        switch self {
        case .notProtected(let path): "\(path) is not protected: it is in no Latchkey mount of this user"
        case .locked(let path): "\(path): its key is locked away"
        case .mountEnded(let path): "\(path): the daemon of the Latchkey mount has ended"
        case .noAnswer(let reason): "a Latchkey daemon cannot be asked: \(reason)"
        case .unknownProtection(let name): "\(name) is no protection class of Latchkey"
        case .system(let errno, let path): "\(path): \(Errno(rawValue: errno))"
        }
    }

    public var errorDescription: String? { description }
}

extension DataProtectionError {
    init(_ error: Errno, at path: String) {
        self =
            switch error {
            case .ENOKEY: .locked(path: path)
            case .ENOTCONN: .mountEnded(path: path)
            default: .system(errno: error.rawValue, path: path)
            }
    }

    init(_ error: Failure) {
        self = .noAnswer(reason: "\(error)")
    }

    /// Runs what fails with an error number, and says at which path.
    static func at<Result>(
        _ path: String, _ body: () throws(Errno) -> Result
    ) throws(DataProtectionError) -> Result {
        do { return try body() } catch { throw DataProtectionError(error, at: path) }
    }
}
