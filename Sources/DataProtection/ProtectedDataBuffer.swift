import Foundation

/// Keeps data that cannot be written while protected data is unavailable, and writes it afterwards, in order.
///
/// The kept data is plaintext in this process's memory: a lock does not remove it, it may be swapped out, and it is
/// lost with the process. It is never written with a weaker class: for data that must survive, see
/// `Data.writeWithBestProtection(to:)`.
public actor ProtectedDataBuffer {
    /// A file that has yet to be written.
    public struct Pending: Sendable {
        public let data: Data
        public let url: URL
        public let protection: FileProtectionType
    }

    private let protectedData: ProtectedData

    /// The files that are only in memory, the oldest first.
    public private(set) var pending: [Pending] = []

    /// For files in the mount of `protectedData`.
    public init(for protectedData: ProtectedData) {
        self.protectedData = protectedData
    }

    /// The number of bytes that are only in memory.
    public var pendingByteCount: Int { pending.reduce(0) { $0 + $1.data.count } }

    /// Writes data as `Data.write(to:protection:)` does, after all pending files; or keeps it until it can be written.
    ///
    /// If this throws, for another reason than the lock, the data is kept as well.
    ///
    /// - Returns: whether it is written; false if it is pending because of the lock.
    @discardableResult
    public func write(_ data: Data, to url: URL, protection: FileProtectionType = .complete) throws -> Bool {
        pending.append(Pending(data: data, url: url, protection: protection))
        return try flushUnlessLocked()
    }

    /// Writes all pending files in order; stops at the first that fails, which stays pending, with all after it.
    public func flush() throws {
        while let next = pending.first {
            try next.data.write(to: next.url, protection: next.protection)
            pending.removeFirst()
        }
    }

    /// Writes pending files each time that protected data becomes available, until the task is cancelled.
    ///
    /// Throws `mountEnded` if the mount has ended, and what `flush` throws except `locked`. Then all pending files are
    /// kept, and this may be called again. Throws `CancellationError` if the task is cancelled.
    public func run() async throws {
        // In this order, so that a change after the first flush produces a notification.
        let notifications = try protectedData.notifications()
        try flushUnlessLocked()
        for try await notification in notifications where notification == .didBecomeAvailable {
            try flushUnlessLocked()
        }
        throw CancellationError()
    }

    /// Passes all pending files to the caller, and keeps none.
    public func takePending() -> [Pending] {
        defer { pending = [] }
        return pending
    }

    /// False if the lock has stopped it.
    @discardableResult
    private func flushUnlessLocked() throws -> Bool {
        do {
            try flush()
            return true
        } catch DataProtectionError.locked {
            return false
        }
    }
}
