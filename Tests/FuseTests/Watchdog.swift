import Foundation
import Glibc
import Posix
import Synchronization

/// Aborts a mount when a test takes too long: who waits for an answer of its file system cannot even be killed.
final class Watchdog: Sendable {
    private let isOver = Mutex(false)
    private let mountPoint: String
    private let limit: Double

    init(mountPoint: String, limit: Double) {
        self.mountPoint = mountPoint
        self.limit = limit
        // The number is asked for now: a mount that hangs may not tell.
        let connection = Watchdog.connection(at: mountPoint)
        Thread.detachNewThread { [self] in
            let end = ContinuousClock.now + .seconds(limit)
            while ContinuousClock.now < end {
                if isOver.withLock({ $0 }) { return }
                usleep(50_000)
            }
            guard let connection else { return }
            Watchdog.abort(connection)
        }
    }

    func stop() {
        isOver.withLock { $0 = true }
    }

    /// The minor device number, which is the connection's name.
    private static func connection(at mountPoint: String) -> String? {
        let table = (try? String(contentsOfFile: "/proc/self/mountinfo", encoding: .utf8)) ?? ""
        let lines = table.split(separator: "\n").map { $0.split(separator: " ") }
        let device = lines.last { $0.count > 4 && $0[4] == mountPoint }?[2]
        return device?.split(separator: ":").last.map(String.init)
    }

    /// Through the control file system, which is mounted for this where it is not.
    private static func abort(_ connection: String) {
        if write("/sys/fs/fuse/connections/\(connection)/abort") { return }
        let view = "/tmp/latchkey-fuse-control-\(getpid())-\(connection)"
        unsafe mkdir(view, 0o700)
        if unsafe Glibc.mount("none", view, "fusectl", 0, nil) == 0 {
            _ = write("\(view)/\(connection)/abort")
            unsafe umount2(view, Int32(MNT_DETACH))
        }
        unsafe rmdir(view)
    }

    private static func write(_ path: String) -> Bool {
        guard let file = try? openFile(path, O_WRONLY) else { return false }
        return unsafe (try? file.write([UInt8(ascii: "1")].span.bytes)) != nil
    }
}
