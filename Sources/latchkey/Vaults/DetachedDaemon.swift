import CLinux
import Daemon
import Failure
import Glibc
import Posix

/// The daemon of a mount as a process of its own, in a session of its own: this program, executed again.
///
/// Executed rather than forked: a fork would take along locked memory that the child does not own, and locks of
/// threads that it does not have.
struct DetachedDaemon {
    private let readiness: Descriptor

    /// Starts `latchkey` with `arguments`.
    ///
    /// The child's standard input is `passcode`, to its end; its standard output is the pipe on which it tells whether
    /// it has started. What it has to say until then goes to our standard error.
    init(_ arguments: [String], passcode: Descriptor?) throws(CommandError) {
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
            // Whatever else this process has inherited, a daemon would hold for days: the lock of a script, say.
            // Fails for lack of memory only, and then the spawn does too.
            unsafe lk_spawn_as_daemon(&actions, &attributes, STDERR_FILENO + 1)
        }
        withExtendedLifetime((pipe, input)) {}
    }

    /// Returns when the vault is mounted.
    func waitUntilReady() throws(Failure) { try Readiness.wait(on: readiness) }
}
