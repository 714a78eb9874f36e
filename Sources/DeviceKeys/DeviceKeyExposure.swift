import Glibc
public import Posix

/// Which other users may use the file of a device key, plain or sealed by a TPM.
///
/// A key that others may read is accepted nevertheless: a refusal cannot undo that they have read it, and would keep
/// the owner from the files.
public struct DeviceKeyExposure: Hashable, Sendable {
    public let path: Path
    /// The reason, without the path: "the file of the device key can be read by every user of this machine".
    public let reason: String
    /// A command that corrects it, without the path.
    public let remedy: String

    /// Nil if only the file's owner may use it, or if its status cannot be read.
    ///
    /// - Parameter owner: the owner of the vault; root may open it with its owner's device key.
    public init?(of path: Path, ofVaultOwnedBy owner: UInt32?) {
        // Follows a symbolic link, as the daemon does when it opens the file.
        guard let file = try? Descriptor.open(path: path, O_PATH), let status = try? file.status() else { return nil }
        self.init(path, owner: status.owner, group: status.group, mode: status.permissions, vaultOwner: owner)
    }

    /// The same without any wait for a disk, since a command about a mount must not wait. Also nil if the kernel does
    /// not have the file's status in memory.
    ///
    /// - Parameter vault: a path.
    public init?(known path: Path, inVault vault: Path) {
        guard let file = try? KnownOwnership(path: path) else { return nil }
        let owner = try? KnownOwnership(path: vault).owner
        self.init(path, owner: file.owner, group: file.group, mode: file.mode & 0o7777, vaultOwner: owner)
    }

    init?(_ path: Path, owner: UInt32, group: UInt32, mode: UInt32, vaultOwner: UInt32?, user: UInt32 = geteuid()) {
        self.path = path
        guard owner == user || owner == 0 || (user == 0 && owner == vaultOwner) else {
            reason = "the file of the device key belongs to another user, \(owner), who can read and replace it"
            remedy = "sudo chown \(user)"
            return
        }
        // If the file has an access control list, the group bits are its mask: the most that it grants.
        let (all, some) = (mode & 0o006, mode >> 3 & 0o006)
        guard all | some != 0 else { return nil }
        let (everybody, members) = ("every user of this machine", "the group \(group)")
        let access =
            if all & 0o002 != 0 {
                "read and changed by \(everybody)"
            } else if all != 0 {
                "read by \(everybody)" + (some & 0o002 == 0 ? "" : ", and changed by \(members)")
            } else {
                (some & 0o002 == 0 ? "read" : "read and changed") + " by \(members)"
            }
        reason = "the file of the device key can be \(access)"
        remedy = "chmod 600"
    }
}
