import Foundation
import Glibc
import Synchronization

/// The FUSE connections that this run made, so that a hanging one can be broken.
///
/// A process that waits for a reply is in an uninterruptible sleep; only the end of the connection wakes it.
enum LiveMounts {
    private struct State {
        var devices: [String: UInt64] = [:]
        var daemons: [String: pid_t] = [:]
    }

    private static let state = Mutex(State())

    static func add(_ path: String, device: UInt64, daemon: pid_t) {
        state.withLock {
            $0.devices[path] = device
            $0.daemons[path] = daemon
        }
    }

    static func remove(_ path: String) {
        state.withLock {
            $0.devices[path] = nil
            $0.daemons[path] = nil
        }
    }

    /// Kills every daemon of ours and aborts its connection.
    static func abortAll() {
        let (devices, daemons) = state.withLock { ($0.devices, $0.daemons) }
        daemons.values.forEach { _ = kill($0, SIGKILL) }
        for device in devices.values {
            abort(connection: Int(device & 0xff | device >> 12 & 0xfff00))
        }
    }

    /// Writes to the connection's abort file, in a view of the control file system of our own where none is mounted.
    private static func abort(connection: Int) {
        let usual = "/sys/fs/fuse/connections"
        if write(one: "\(usual)/\(connection)/abort") {
            return
        }
        let view = "/tmp/latchkey-fusectl-\(getpid())"
        unsafe mkdir(view, 0o700)
        if unsafe mount("none", view, "fusectl", 0, nil) == 0 {
            _ = write(one: "\(view)/\(connection)/abort")
            unsafe umount2(view, Int32(MNT_DETACH))
        }
        unsafe rmdir(view)
    }

    private static func write(one path: String) -> Bool {
        let file = unsafe open(path, O_WRONLY | O_CLOEXEC)
        guard file >= 0 else { return false }
        defer { close(file) }
        return unsafe Glibc.write(file, "1", 1) == 1
    }
}

/// The lines of this process's mount table that speak of a path or of what lies below it.
func mountLines(of path: String) -> [String] {
    let table = (try? String(contentsOfFile: "/proc/self/mountinfo", encoding: .utf8)) ?? ""
    let path = escapedAsMounted(path)
    return table.split(separator: "\n").map(String.init).filter {
        let fields = $0.split(separator: " ")
        return fields.count > 4 && (fields[4] == path || fields[4].hasPrefix(path + "/"))
    }
}

/// As the kernel writes a mount point: space, tab, newline and backslash in octal.
func escapedAsMounted(_ path: String) -> String {
    path.map { [" ": "\\040", "\t": "\\011", "\n": "\\012", "\\": "\\134"][$0] ?? String($0) }.joined()
}

/// The mount point of a line of the mount table.
func mountPoint(_ line: String) -> String {
    var path = line.split(separator: " ")[4].description
    for (code, character) in [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")] {
        path = path.replacingOccurrences(of: code, with: character)
    }
    return path
}
