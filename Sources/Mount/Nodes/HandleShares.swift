import Synchronization

/// How many files and folders users may have open who are neither the mount's owner nor root.
///
/// Each open file takes a descriptor of the daemon's. Those users get EMFILE before the daemon does: an eighth of the
/// limit for one of them, a quarter for all together. So there are always descriptors for the owner, and for a lock.
/// Handles are counted, not files: several of one file take more of a share than they need.
final class HandleShares: Sendable {
    private let owner: UInt32
    private let most: (each: Int, all: Int)
    private let counts = Mutex<(users: [UInt32: Int], all: Int)>(([:], 0))

    /// - Parameters:
    ///   - owner: who has mounted it.
    ///   - descriptorLimit: how many descriptors the process may have open.
    init(owner: UInt32, descriptorLimit: Int) {
        self.owner = owner
        most = (descriptorLimit / 8, descriptorLimit / 4)
    }

    /// A user's share of one handle; nil where there is none left.
    func take(for user: UInt32) -> HandleShare? {
        guard user != owner, user != 0 else { return .unbounded }
        return counts.withLock { counts in
            let count = counts.users[user, default: 0]
            guard count < most.each, counts.all < most.all else { return nil }
            counts.users[user] = count + 1
            counts.all += 1
            return HandleShare(user: user)
        }
    }

    func giveBack(_ share: HandleShare) {
        guard let user = share.user else { return }
        counts.withLock { counts in
            let count = counts.users[user, default: 0] - 1
            counts.users[user] = count > 0 ? count : nil
            counts.all -= 1
        }
    }
}

/// Whose share a handle is taken from: kept in the handle's number, for nobody knows who closes it.
struct HandleShare: Hashable {
    /// Of the mount's owner, and of root.
    static let unbounded = HandleShare(rawValue: 0)

    let rawValue: UInt64

    init(rawValue: UInt64) { self.rawValue = rawValue }

    init(user: UInt32) { rawValue = UInt64(user) + 1 }

    var user: UInt32? { rawValue == 0 ? nil : UInt32(truncatingIfNeeded: rawValue - 1) }
}
