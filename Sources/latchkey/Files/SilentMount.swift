import Administration
import Control
import Glibc
import Posix

/// A Latchkey mount whose daemon cannot be asked. Its keys may be in memory all the same.
struct SilentMount {
    let mountPoint: String
    /// Nil where none is found: it has ended, or its process may not be seen.
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
        // A stopped daemon takes as long to ask as a caller is willing to wait.
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
            reason = "its daemon has ended, or is not to be found"
        }
        isConclusive = isOthers || isStopped || pid == nil || failure != nil
    }

    /// Asking again will tell nothing new: the daemon is not about to publish its socket, nor about to end.
    let isConclusive: Bool

    /// What helps.
    private var advice: [Printable] {
        if isOthers { return ["sudo latchkey status \(mountPoint.quoted)"] }
        guard let pid else { return ["latchkey unmount \(mountPoint.quoted)"] }
        return (isStopped ? ["kill -CONT \(pid)"] : []) + ["kill -USR1 \(pid)   (locks it)"]
    }

    var error: CommandError {
        // A daemon that runs may hold keys: that is a failure, not a mount that is not there.
        CommandError(
            pid == nil ? .notFound : .failed, "\(mountPoint) cannot be asked: \(reason)", advice: advice)
    }

    /// The same as one of several, of which none is missing.
    var failure: CommandError {
        CommandError(.failed, "\(mountPoint) cannot be asked: \(reason)", advice: advice)
    }
}

extension Process {
    /// The process that serves a mount, and its state as ps(1) shows it; nil if none is found.
    ///
    /// The mount point is one of the daemon's arguments. Source: proc_pid_cmdline(5).
    static func daemon(ofMountAt mountPoint: String) -> (process: pid_t, state: String)? {
        guard let stream = unsafe opendir("/proc") else { return nil }
        defer { unsafe closedir(stream) }
        while let entry = unsafe readdir(stream) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) {
                unsafe String(cString: UnsafeRawPointer($0).assumingMemoryBound(to: CChar.self))
            }
            guard let process = pid_t(name), process != getpid(),
                let bytes = try? Descriptor.open(path: "/proc/\(name)/cmdline", O_RDONLY).bytes(atMost: 1 << 16)
            else { continue }
            let words = bytes.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
            guard words.first?.split(separator: "/").last == "latchkey", words.dropFirst().first == "mount",
                words.contains("--foreground"), words.contains(mountPoint), let state = state(of: process), state != "Z"
            else { continue }
            return (process, String(state))
        }
        return nil
    }
}
