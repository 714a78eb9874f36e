public import Posix

/// Whether this process may change the store. Thread-safe.
public protocol Fence: AnyObject, Sendable {
    /// Returns when the process may make a change now.
    ///
    /// - Throws: EIO if another machine has taken the store over, for good; `notAnswered` if that could not be found
    ///   out in time.
    func check() throws(Errno)

    /// Whether another machine has taken the store over, as far as is known. Does not block.
    var isLost: Bool { get }
}
