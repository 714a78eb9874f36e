import Synchronization

/// Limits the open files and folders of users other than root and the owner of the mount.
///
/// Each open file takes a descriptor of the daemon. Other users get EMFILE before the daemon runs out: at an eighth of
/// the limit for each user, and a quarter for all together. So descriptors are left for the owner, and for a lock.
/// Handles are counted, not files: several handles of one file use more of a share than necessary.
final class HandleShares: Sendable {
    private let owner: UInt32
    private let most: (each: Int, all: Int)
    /// A leaf: no other lock is taken under it. Lock order: docs/ARCHITECTURE.md.
    private let counts = Mutex<(users: [UInt32: Int], all: Int)>(([:], 0))

    /// - Parameters:
    ///   - owner: the user who mounted the vault.
    ///   - descriptorLimit: how many descriptors the process may have open.
    init(owner: UInt32, descriptorLimit: Int) {
        self.owner = owner
        most = (descriptorLimit / 8, descriptorLimit / 4)
    }

    /// Takes one handle from a user's share; nil if none is left.
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

/// The user whose share a handle counts against. A file handle's number encodes it: the request that closes a handle
/// does not say who opened it.
struct HandleShare: Hashable {
    /// The share of the mount's owner and of root.
    static let unbounded = HandleShare(rawValue: 0)

    let rawValue: UInt64

    init(rawValue: UInt64) { self.rawValue = rawValue }

    init(user: UInt32) { rawValue = UInt64(user) + 1 }

    var user: UInt32? { rawValue == 0 ? nil : UInt32(truncatingIfNeeded: rawValue - 1) }
}
