import Foundation

/// Keeps what cannot be written while protected data is unavailable, and writes it afterwards, in its order.
///
/// What is kept is plaintext in this process's memory, which a lock does not take away, which may be swapped out, and
/// which is lost with the process. It never goes to a weaker class: for what must survive, see
/// `Data.writeWithBestProtection(to:)`.
public actor ProtectedDataBuffer {
    /// A file that is still to be written.
    public struct Pending: Sendable {
        public let data: Data
        public let url: URL
        public let protection: FileProtectionType
    }

    private let protectedData: ProtectedData

    /// What is in memory only, the oldest first.
    public private(set) var pending: [Pending] = []

    /// For files in the mount that `protectedData` speaks of.
    public init(for protectedData: ProtectedData) {
        self.protectedData = protectedData
    }

    /// How many bytes are in memory only.
    public var pendingByteCount: Int { pending.reduce(0) { $0 + $1.data.count } }

    /// Writes data as `Data.write(to:protection:)` does, after all that is pending; or keeps them until they can be
    /// written.
    ///
    /// When this throws, because of anything but the lock, the data are kept all the same.
    ///
    /// - Returns: whether they are written; false when they are pending because of the lock.
    @discardableResult
    public func write(_ data: Data, to url: URL, protection: FileProtectionType = .complete) throws -> Bool {
        pending.append(Pending(data: data, url: url, protection: protection))
        return try flushUnlessLocked()
    }

    /// Writes all that is pending; stops at the first that cannot be written, which stays, with all after it.
    public func flush() throws {
        while let next = pending.first {
            try next.data.write(to: next.url, protection: next.protection)
            pending.removeFirst()
        }
    }

    /// Writes what is pending each time that protected data becomes available, until the task is cancelled.
    ///
    /// Throws `mountEnded` when the mount has ended, and what `flush` throws but `locked`. All that is pending then stays;
    /// this may be called again. Throws `CancellationError` when the task is cancelled.
    public func run() async throws {
        // In this order: what becomes available after the first look is told of.
        let notifications = try protectedData.notifications()
        try flushUnlessLocked()
        for try await notification in notifications where notification == .didBecomeAvailable {
            try flushUnlessLocked()
        }
        throw CancellationError()
    }

    /// Hands all that is pending over to the caller, and keeps none of it.
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
