import CLinux
import Control
public import Failure
import FoundationEssentials
import Glibc
public import Posix

/// The two files of a user's agent, beside the control sockets: one that it holds locked, and its report.
public struct AgentFiles: Sendable {
    private let folder: String

    /// Of this user's agent; for root, of the machine's.
    public init() { self.init(in: SocketDirectory.standard.path) }

    init(in folder: String) { self.folder = folder }

    private var lockPath: String { folder + "/agent.lock" }
    private var reportPath: String { folder + "/agent.json" }

    /// Takes the place of the user's agent, for as long as the descriptor is open; nil if another agent has it.
    public func hold() throws(Failure) -> Descriptor? {
        try SocketDirectory(path: folder).prepare()
        do throws(Errno) {
            let file = try Descriptor.open(path: lockPath, O_RDWR | O_CREAT | O_NOFOLLOW, mode: 0o600)
            guard lk_lock_description(file.number) == 0 else { throw Errno.current }
            return file
        } catch .EAGAIN { return nil } catch { throw .io(error, doing: "locking the agent's file") }
    }

    /// Replaces the report.
    public func write(_ report: AgentReport) throws(Errno) {
        guard let bytes = try? JSONEncoder().encode(report) else { throw .EINVAL }
        let temporary = reportPath + ".new"
        _ = unsafe unlink(temporary)
        let file = try Descriptor.open(path: temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
        try unsafe file.write(Array(bytes).span.bytes)
        guard unsafe rename(temporary, reportPath) == 0 else { throw Errno.current }
    }

    /// The report of an agent that runs; nil if none does.
    public func read() -> AgentReport? {
        guard let held = try? Descriptor.open(path: lockPath, O_RDONLY | O_NOFOLLOW) else { return nil }
        // Only asked for: a lock, even for a moment, could keep an agent from its place.
        guard lk_is_description_locked(held.number) == 1 else { return nil }
        withExtendedLifetime(held) {}
        guard let file = try? Descriptor.open(path: reportPath, O_RDONLY | O_NOFOLLOW | O_NONBLOCK),
            let bytes = try? file.bytes(atMost: 1 << 16)
        else { return nil }
        return try? JSONDecoder().decode(AgentReport.self, from: Data(bytes))
    }
}
