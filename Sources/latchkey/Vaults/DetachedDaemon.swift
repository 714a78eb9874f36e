import CLinux
import Daemon
import Failure
import Glibc
import Posix

/// The daemon of a mount in a process and session of its own: this program, executed again.
///
/// Not a fork: that would copy secrets whose memory is not locked in the child, and locks of threads that do not exist
/// there.
struct DetachedDaemon {
    private let readiness: Descriptor

    /// Starts `latchkey` with `arguments`.
    ///
    /// The child reads `passcode` as standard input to its end. Its standard output is the readiness pipe. Until it has
    /// started, its messages go to this process's standard error.
    ///
    /// - Parameter isAutomount: the mount point is one of autofs. Until something is mounted there, autofs lets only
    ///   systemd's own process group look at it, so the daemon stays in that one until it has mounted.
    init(_ arguments: [Path], passcode: Descriptor?, isAutomount: Bool = false) throws(CommandError) {
        let pipe: Pipe
        let input: Descriptor
        do {
            pipe = try Pipe()
            input = try passcode ?? Descriptor.open(path: "/dev/null", O_RDONLY)
        } catch {
            throw CommandError(.failed, "cannot start the daemon: \(error)")
        }
        readiness = pipe.readEnd
        _ = try unsafe Process.spawn("/proc/self/exe", named: "latchkey", arguments) { actions, attributes in
            unsafe posix_spawn_file_actions_adddup2(&actions, input.number, STDIN_FILENO)
            unsafe posix_spawn_file_actions_adddup2(&actions, pipe.writeEnd.number, STDOUT_FILENO)
            // Without this the daemon would hold all inherited descriptors for days, a script's lock for example. It
            // fails only for lack of memory, and then the spawn fails too.
            unsafe lk_spawn_as_daemon(&actions, &attributes, STDERR_FILENO + 1)
            if isAutomount { _ = unsafe posix_spawnattr_setflags(&attributes, 0) }
        }
        withExtendedLifetime((pipe, input)) {}
    }

    /// Returns when the vault is mounted, with what the daemon says.
    func waitUntilReady() throws(Failure) -> Readiness { try Readiness.wait(on: readiness) }
}
