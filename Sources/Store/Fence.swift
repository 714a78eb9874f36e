public import Posix

/// Whether this process may change the store. Thread-safe.
public protocol Fence: AnyObject, Sendable {
    /// Returns when the process may make a change now.
    ///
    /// - Throws: EIO if another machine has taken the store over, for good; `notAnswered` if that could not be found
    ///   out in time.
    func check() throws(Errno)

    /// Returns when what was just read counts.
    ///
    /// - Throws: EIO if another machine has taken the store over.
    func checkRead() throws(Errno)

    /// From the first call on until the last `endHurry`, `check` waits for two seconds at most: a lock waits for what
    /// waits for it. Calls are counted. Does not block.
    func beginHurry()
    func endHurry()

    /// Whether another machine has taken the store over, as far as is known. Does not block.
    var isLost: Bool { get }
}

extension Fence {
    public func checkRead() throws(Errno) {
        if isLost { throw .EIO }
    }
}
