import CLinux
import Glibc

/// What the kernel allows this process.
public enum ProcessLimits {
    /// No core files, no ptrace and no /proc/PID/mem by the same user, and a crash that ends the process at once: for a
    /// process that holds secrets.
    ///
    /// Executing a program undoes the part that is not a limit.
    ///
    /// Source: PR_SET_DUMPABLE, RLIMIT_CORE.
    public static func forbidDumps() throws(Errno) {
        try perform { lk_forbid_dumps() }
        // Swift's runtime has handlers for these that print a backtrace with registers and memory. They wait for threads
        // that block every signal, so that a crashed daemon would stay, with its keys and its mount.
        for number in [SIGQUIT, SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV] {
            _ = signal(number, SIG_DFL)
        }
    }

    /// Has malloc(3) share its memory between all threads but for a few arenas. Before another thread is started.
    ///
    /// What one thread gives back, others do not get from another arena: with one for each, a process that makes many small
    /// things and lets them go takes several times what it needs.
    ///
    /// Source: mallopt(3), M_ARENA_MAX.
    public static func boundArenas() { lk_bound_arenas(2) }

    /// Raises the limit of open files as far as this user may; the limit then, nil for none.
    ///
    /// Source: RLIMIT_NOFILE.
    public static func raiseOpenFiles() throws(Errno) -> UInt64? {
        var limit: UInt64 = 0
        try perform { unsafe lk_raise_open_files(&limit) }
        return limit == .max ? nil : limit
    }

    /// How many files may be open at a time.
    ///
    /// Source: sysconf(3), _SC_OPEN_MAX.
    public static var openFiles: Int {
        let limit = sysconf(Int32(_SC_OPEN_MAX))
        return limit < 0 ? .max : limit
    }

    /// Raises the limit of locked memory as far as this user may; the limit then in bytes, nil for none.
    ///
    /// Source: RLIMIT_MEMLOCK. Root is not bound by it.
    public static func raiseLockedMemory() throws(Errno) -> UInt64? {
        var limit: UInt64 = 0
        try perform { unsafe lk_raise_locked_memory(&limit) }
        return limit == .max ? nil : limit
    }
}
