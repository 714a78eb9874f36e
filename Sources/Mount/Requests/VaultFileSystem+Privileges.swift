import Fuse
import Vault

// Set-ID bits are cleared when a caller without privilege changes the contents or the owner of a file. The rule is that
// of the kernel's own file systems (setattr_should_drop_suidgid in fs/attr.c), which FUSE_HANDLE_KILLPRIV_V2 delegates.

extension VaultFileSystem {
    /// Removes the set-user-ID bit, and the set-group-ID bit if the group may execute or the caller is not in it.
    ///
    /// - Parameter isPrivileged: whether the caller has CAP_FSETID. The kernel says so for write(2), truncate(2) and
    ///   O_TRUNC; for other calls it is `Request.keepsSetIDBits`, which is asked only for a file that has such bits,
    ///   because the answer takes longer than most requests.
    func dropPrivileges(
        of file: File, _ node: Node, for request: Request, unless isPrivileged: @autoclosure () -> Bool = false
    ) throws(VaultError) {
        let mode = try file.permissions()
        guard mode & 0o6000 != 0, !isPrivileged() else { return }
        var kept = mode & ~0o4000
        if mode & 0o010 != 0 {
            kept &= ~0o2000
        } else if kept & 0o2000 != 0 {
            let group = try file.status().group
            if !request.isOfGroup(group) { kept &= ~0o2000 }
        }
        guard kept != mode else { return }
        node.state.withLock { $0.hasFreshMetadata = true }
        try file.setMode(kept)
    }
}

extension Request {
    /// Whether the caller has CAP_FSETID. For a caller in another PID namespace only the user is known, and root counts
    /// as having it.
    ///
    /// A user who is root only inside a user namespace has all capabilities there, but none over this file: here that
    /// user is not 0.
    var keepsSetIDBits: Bool { user == 0 && (credentials?.hasFSETID ?? true) }

    /// Whether the caller is in the group. For a caller in another PID namespace only one group is known. It counts as
    /// a member of no other, so that the bit is cleared.
    func isOfGroup(_ group: UInt32) -> Bool {
        group == self.group || credentials?.groups.contains(group) ?? false
    }

    /// Nil for an io_uring worker that acts with the credentials of another thread.
    private var credentials: Credentials? {
        guard let found = Caller(thread: process).credentials, found.user == user, found.group == group else {
            return nil
        }
        return found
    }
}
