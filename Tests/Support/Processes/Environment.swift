import Foundation
import Glibc

/// Values from the environment.
public enum Environment {
    public static let temporary = ProcessInfo.processInfo.environment["TMPDIR"] ?? "/tmp"
    /// A folder in memory, if this machine has one.
    public static let memory = unsafe access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp"

    /// The environment of started programs: none of this user's configuration, except tools/sanitize's sanitizer
    /// options.
    public static let plain: [String: String] = sanitizers.merging([
        "PATH": ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin:/usr/sbin:/sbin",
        "HOME": "/nonexistent", "LC_ALL": "C.UTF-8", "TZ": "UTC",
        "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.org",
        "GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@example.org",
    ]) { $1 }

    private static let sanitizers = ProcessInfo.processInfo.environment.filter { name, _ in
        ["ASAN_", "LSAN_", "TSAN_"].contains { name.hasPrefix($0) }
    }
}
