import Glibc
import Posix

/// Facts about the process that do not change while it runs.
enum Process {
    /// Whether the daemon is root, with all that the backing store lets root do: a service may be root without that.
    static let isPrivileged =
        geteuid() == 0 && ([.changeOwners, .overridePermissions, .actAsOwner] as Capabilities).areHeld
}
