import Glibc

/// Facts about the process that do not change while it runs.
enum Process {
    /// Whether the daemon is root, with all that the backing store lets root do.
    static let isPrivileged = geteuid() == 0
}
