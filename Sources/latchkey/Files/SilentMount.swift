import Administration
import Control
import Glibc
import Posix

/// A Latchkey mount whose daemon does not answer. Its keys may be in memory nevertheless.
struct SilentMount {
    let mountPoint: Path
    /// The daemon's process; nil if it has ended, or if this user may not see it.
    let pid: Int32?
    let reason: Printable
    let isStopped: Bool
    private let isOthers: Bool

    init(_ entry: MountTable.Entry) {
        mountPoint = entry.mountPoint
        let daemon = Process.daemon(ofMountAt: entry.mountPoint)
        pid = daemon?.process
        isStopped = daemon?.state == "T" || daemon?.state == "t"
        isOthers = entry.user.map { geteuid() != 0 && $0 != geteuid() } ?? false
        // Not if it is stopped: the question would wait until its timeout.
        let failure = isStopped ? nil : SocketDirectories.reachable.failure(device: entry.device, of: entry.user)
        if isOthers {
            reason = "the mount is another user's"
        } else if isStopped, let pid {
            reason = "its daemon, process \(pid), is stopped"
        } else if let pid, let failure {
            reason = "its daemon, process \(pid), does not answer: \(CommandError(failure).message)"
        } else if let pid {
            reason = "its daemon, process \(pid), has no control socket any more"
        } else {
            reason = "its daemon has ended, or cannot be found"
        }
        isConclusive = isOthers || isStopped || pid == nil || failure != nil
    }

    /// Whether a second try is useless: the daemon is neither starting nor ending.
    let isConclusive: Bool

    /// What the user can do.
    private var advice: [Printable] {
        if isOthers { return ["sudo latchkey status \(mountPoint.quoted)"] }
        guard let pid else { return ["latchkey unmount \(mountPoint.quoted)"] }
        return (isStopped ? ["kill -CONT \(pid)"] : []) + ["kill -USR1 \(pid)   (locks it)"]
    }

    var error: CommandError {
        // A daemon that runs may hold keys, so the failure must not look like a missing mount.
        CommandError(
            pid == nil ? .notFound : .failed, "\(mountPoint) cannot be asked: \(reason)", advice: advice)
    }

    /// The same as one of several mounts, none of which is missing.
    var failure: CommandError {
        CommandError(.failed, "\(mountPoint) cannot be asked: \(reason)", advice: advice)
    }
}

extension Process {
    /// The process that serves a mount, and its state as in ps(1); nil if none is found.
    ///
    /// The mount point is among the daemon's arguments. Source: proc_pid_cmdline(5).
    static func daemon(ofMountAt mountPoint: Path) -> (process: pid_t, state: String)? {
        guard let stream = unsafe opendir("/proc") else { return nil }
        defer { unsafe closedir(stream) }
        while let entry = unsafe readdir(stream) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) {
                unsafe String(cString: UnsafeRawPointer($0).assumingMemoryBound(to: CChar.self))
            }
            guard let process = pid_t(name), process != getpid(),
                let bytes = try? Descriptor.open(path: "/proc/\(name)/cmdline", O_RDONLY).bytes(atMost: 1 << 16)
            else { continue }
            let words = bytes.split(separator: 0).map { Path(bytes: $0) }
            guard words.first?.split.last == "latchkey", words.dropFirst().first == "mount",
                words.contains("--foreground"), words.contains(mountPoint), let state = state(of: process), state != "Z"
            else { continue }
            return (process, String(state))
        }
        return nil
    }
}
