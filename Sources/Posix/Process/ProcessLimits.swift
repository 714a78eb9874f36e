import CLinux
import Glibc

/// Limits and rights of this process.
public enum ProcessLimits {
    /// For a process that holds secrets: no core files, no ptrace and no /proc/PID/mem by the same user, and a crash
    /// ends the process at once.
    ///
    /// Executing a program undoes all of this but the limit.
    ///
    /// Source: PR_SET_DUMPABLE, RLIMIT_CORE.
    public static func forbidDumps() throws(Errno) {
        try perform { lk_forbid_dumps() }
        // Swift's runtime installs handlers for these that print a backtrace with registers and memory. They wait for
        // threads that block every signal, so a crashed daemon would stay, with its keys and its mount.
        for number in [SIGQUIT, SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV] {
            _ = signal(number, SIG_DFL)
        }
    }

    /// Limits malloc(3) to a few arenas that all threads share. Call it before another thread is started.
    ///
    /// Memory freed in one arena is not available to threads of another: with an arena for each thread, a process that
    /// allocates and frees many small objects takes several times what it needs.
    ///
    /// Source: mallopt(3), M_ARENA_MAX.
    public static func boundArenas() { lk_bound_arenas(2) }

    /// Raises the limit of open files as far as this user may; returns the new limit, nil for none.
    ///
    /// Source: RLIMIT_NOFILE.
    public static func raiseOpenFiles() throws(Errno) -> UInt64? {
        var limit: UInt64 = 0
        try perform { unsafe lk_raise_open_files(&limit) }
        return limit == .max ? nil : limit
    }

    /// Has the kernel make room for so many descriptors in this process's table, or for as many as the limit allows;
    /// each takes 8 bytes of the kernel's memory. Call it before many threads are started.
    ///
    /// The kernel doubles the table when it is full, and if threads share the table it first waits for all processors
    /// (synchronize_rcu), 10 to 20 ms each time.
    ///
    /// Source: fcntl(2), F_DUPFD_CLOEXEC; expand_fdtable in the kernel's fs/file.c.
    public static func reserveDescriptors(_ count: Int) throws(Errno) {
        let any = try Descriptor.open(path: "/", O_PATH)
        let last = Int32(clamping: min(count, openFiles) - 1)
        do throws(Errno) {
            Descriptor.close(try call { fcntl(any.number, F_DUPFD_CLOEXEC, last) })
        } catch  where error == .EMFILE {
            // The last number is in use: the table is that large already.
        }
    }

    /// The limit of open files.
    ///
    /// Source: sysconf(3), _SC_OPEN_MAX.
    public static var openFiles: Int {
        let limit = sysconf(Int32(_SC_OPEN_MAX))
        return limit < 0 ? .max : limit
    }

    /// Raises the limit of locked memory as far as this user may; returns the new limit in bytes, nil for none.
    ///
    /// Source: RLIMIT_MEMLOCK. Root is not bound by it.
    public static func raiseLockedMemory() throws(Errno) -> UInt64? {
        var limit: UInt64 = 0
        try perform { unsafe lk_raise_locked_memory(&limit) }
        return limit == .max ? nil : limit
    }
}
