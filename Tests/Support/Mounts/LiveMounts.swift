import Glibc
import Synchronization

/// The FUSE mounts that this run made, so that a hanging one can be aborted.
public enum LiveMounts {
    private struct State {
        var devices: [String: UInt64] = [:]
        var daemons: [String: pid_t] = [:]
    }

    private static let state = Mutex(State())

    /// - Parameter device: st_dev of the mount.
    public static func add(_ path: String, device: UInt64, daemon: pid_t) {
        state.withLock {
            $0.devices[path] = device
            $0.daemons[path] = daemon
        }
    }

    public static func remove(_ path: String) {
        state.withLock {
            $0.devices[path] = nil
            $0.daemons[path] = nil
        }
    }

    /// Kills every daemon of this run and aborts its connection.
    public static func abortAll() {
        let (devices, daemons) = state.withLock { ($0.devices, $0.daemons) }
        daemons.values.forEach { _ = kill($0, SIGKILL) }
        for device in devices.values { FuseConnection(device: device).abort() }
    }
}
