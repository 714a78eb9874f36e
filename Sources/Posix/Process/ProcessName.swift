import CLinux

/// What this process is called in ps(1) and in /proc/PID/comm.
public enum ProcessName {
    /// For the main thread: each thread has a name, and the main one's is the process's. Up to 15 bytes; more are
    /// truncated.
    ///
    /// Source: PR_SET_NAME.
    public static func set(_ name: StaticString) {
        // A static string ends with a NUL.
        unsafe lk_set_process_name(UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self))
    }
}
