internal import Control
internal import Failure
import Foundation
internal import Posix

/// Why an operation on protection failed. Unless a call says otherwise, nothing has changed then.
///
/// The only error of this module, besides `CancellationError`. The signatures do not say so: if a function that throws
/// any error catches some cases of a typed error, the compiler of Swift 6.3 crashes.
public enum DataProtectionError: Error, Hashable, Sendable {
    /// No Latchkey mount of this user holds the path: nothing there is protected.
    case notProtected(path: String)
    /// The required key is not in memory, as ENOKEY from the kernel; it works again once the mount is unlocked.
    case locked(path: String)
    /// The daemon of the mount has ended, by an unmount or a crash.
    case mountEnded(path: String)
    /// The daemon of a mount does not answer, and why.
    case noAnswer(reason: String)
    /// Latchkey has the four classes from `complete` to `none`; this raw value names none of them.
    case unknownProtection(String)
    /// Any other error of the system: an error number of errno(3).
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

    /// Runs `body`, and adds the path to its error number.
    static func at<Result>(
        _ path: String, _ body: () throws(Errno) -> Result
    ) throws(DataProtectionError) -> Result {
        do { return try body() } catch { throw DataProtectionError(error, at: path) }
    }
}
