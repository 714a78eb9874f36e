internal import Control
import Foundation

/// Whether the files of class `complete` in a Latchkey mount can be used, and word of each change of that.
///
/// The mount is looked for anew by each call: it may end, and come again.
public struct ProtectedData: Hashable, Sendable {
    /// Any file or folder in the mount.
    public let url: URL

    public init(at url: URL) {
        self.url = url
    }

    /// Whether files of class `complete` can be read and written now: while unlocked, and in the grace after a lock.
    ///
    /// True may be over by the time that it is read: whoever uses such a file meets the error `locked`. Throws
    /// `notProtected` where no Latchkey mount is, which is neither yes nor no.
    public var isProtectedDataAvailable: Bool {
        get throws { try item().mountStatus.isProtectedDataAvailable }
    }

    /// The changes from now on.
    ///
    /// What happens after this returns is not missed, however late somebody listens. Throws `notProtected` where no
    /// Latchkey mount is, and `noAnswer`.
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
        // Nothing is left of the grace once the keys are being taken out.
        case .locking: (graceRemaining ?? 0) > 0
        case .beforeFirstUnlock, .locked: false
        }
    }
}
