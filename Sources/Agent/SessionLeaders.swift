import CLinux
import Glibc
import Posix

/// Waits for the ends of sessions' first processes.
///
/// logind keeps a session as "closing" while a program that was started in it runs, such as a daemon of a mount, and
/// sends no signal when that begins.
struct SessionLeaders: ~Copyable {
    /// Readable when a session has ended.
    let readable: Descriptor
    private var sessions: [Int32: (path: String, process: Descriptor)] = [:]

    init() throws(Errno) {
        let number = lk_watch()
        guard number >= 0 else { throw Errno.current }
        readable = Descriptor(owning: number)
    }

    /// - Returns: false if the process has ended already.
    mutating func watch(_ leader: UInt32, of path: String) -> Bool {
        guard let leader = Int32(exactly: leader), leader > 0 else { return true }
        let number = lk_process(leader)
        guard number >= 0 else { return Errno.current != .ESRCH }
        let process = Descriptor(owning: number)
        // Without it, the session ends when logind says so.
        guard lk_watch_add(readable.number, number) == 0 else { return true }
        sessions[number] = (path, process)
        return true
    }

    /// The path of a session whose first process has ended; nil if there is no more.
    mutating func next() -> String? {
        while true {
            let number = lk_watch_next(readable.number)
            guard number >= 0 else { return nil }
            if let session = sessions.removeValue(forKey: number) { return session.path }
        }
    }

    mutating func forget(_ path: String) { sessions = sessions.filter { $0.value.path != path } }

    mutating func forgetAll() { sessions = [:] }
}
