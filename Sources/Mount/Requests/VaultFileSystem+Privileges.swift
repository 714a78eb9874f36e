import Fuse
import Vault

// Set-ID bits go when somebody without privilege changes a file: of contents and owner. The rule is that of the
// kernel's own file systems (setattr_should_drop_suidgid in fs/attr.c), which FUSE_HANDLE_KILLPRIV_V2 leaves to us.

extension VaultFileSystem {
    /// Removes the set-user-ID bit, and the set-group-ID bit if the group may execute or the caller is not in it.
    ///
    /// Only for a caller without CAP_FSETID: for write(2), truncate(2) and O_TRUNC the kernel says so, for others
    /// `Request.keepsSetIDBits`.
    func dropPrivileges(of file: File, _ node: Node, for request: Request) throws(VaultError) {
        let mode = try file.permissions()
        guard mode & 0o6000 != 0 else { return }
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
    /// Whether the asker has CAP_FSETID. Of one in another PID namespace only the user is known, and root has it there.
    ///
    /// A user who is root in a user namespace alone has all capabilities there, and none over this file: here the user
    /// is not 0.
    var keepsSetIDBits: Bool { user == 0 && (credentials?.hasFSETID ?? true) }

    /// Whether the asker is in the group. Of one in another PID namespace only one group is known: it counts as being
    /// in no other, so that the bit goes.
    func isOfGroup(_ group: UInt32) -> Bool {
        group == self.group || credentials?.groups.contains(group) ?? false
    }

    /// Not those of a worker of io_uring, which goes by the credentials of another.
    private var credentials: Credentials? {
        guard let found = Caller(thread: process).credentials, found.user == user, found.group == group else {
            return nil
        }
        return found
    }
}
