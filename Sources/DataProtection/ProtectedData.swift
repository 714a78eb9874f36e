internal import Control
import Foundation

/// Whether the files of class `complete` in a Latchkey mount are accessible, with notifications of changes.
///
/// Each call looks for the mount again, because it may be unmounted and mounted in between.
public struct ProtectedData: Hashable, Sendable {
    /// Any file or folder in the mount.
    public let url: URL

    public init(at url: URL) {
        self.url = url
    }

    /// Whether files of class `complete` can be read and written now: while unlocked, and in the grace period after a
    /// lock.
    ///
    /// The answer may be out of date at once: a program that uses such a file must expect the error `locked`. Throws
    /// `notProtected` if there is no Latchkey mount.
    public var isProtectedDataAvailable: Bool {
        get throws { try item().mountStatus.isProtectedDataAvailable }
    }

    /// The changes from now on.
    ///
    /// No change after the return is missed, however late the iteration starts. Throws `notProtected` if there is no
    /// Latchkey mount, and `noAnswer`.
    public func notifications() throws -> ProtectedDataNotifications {
        let item = try item()
        return try ProtectedDataNotifications(from: item.client, path: item.path)
    }

    private func item() throws(DataProtectionError) -> ProtectedItem {
        let path = try url.protectedPath
        guard let item = try ProtectedItem(path: path) else { throw .notProtected(path: path) }
        return item
    }
}

extension Status {
    fileprivate var isProtectedDataAvailable: Bool {
        switch state {
        case .unlocked: true
        // After the grace period, the eviction of the keys begins.
        case .locking: (graceRemaining ?? 0) > 0
        case .beforeFirstUnlock, .locked: false
        }
    }
}
