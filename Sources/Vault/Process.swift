import Glibc

/// Facts about the process that do not change while it runs.
enum Process {
    /// Root, with all that the backing store lets root do.
    static let isPrivileged = geteuid() == 0
}
