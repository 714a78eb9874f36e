import TestSupport
import Testing

/// Files that no user can change, not even root: chattr(1) with +i.
enum Immutable {
    /// Needs root and a file system with that flag.
    static let isAvailable: Bool = {
        guard let folder = try? TemporaryFolder(), let path = try? folder.write("contents", to: "file") else {
            return false
        }
        return (try? run("chattr", ["+i", path])) != nil && (try? run("chattr", ["-i", path])) != nil
    }()

    static let why: Comment = "needs root, and a file system with chattr +i"
}
