import CLinux

/// The name of this process in ps(1) and in /proc/PID/comm.
public enum ProcessName {
    /// Call it on the main thread, whose name is the name of the process. Up to 15 bytes; longer names are truncated.
    ///
    /// Source: PR_SET_NAME.
    public static func set(_ name: StaticString) {
        // A static string ends with a NUL.
        unsafe lk_set_process_name(UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self))
    }
}
