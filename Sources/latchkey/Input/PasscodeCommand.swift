import Crypto
import Glibc
import Posix

/// A command of the user's, as of a password manager, whose standard output is a passcode.
enum PasscodeCommand {
    /// Runs `command` with `/bin/sh -c` and reads its output, one line, over a pipe into locked memory.
    ///
    /// Its standard input is /dev/null, and its standard error is this process's. The words of the command are in no
    /// message: they may hold a secret.
    static func run(
        _ command: String, _ subject: SecretSource.Subject
    ) throws(SecretReader.Failure) -> Secret {
        var pipe: Pipe?
        let nothing: Descriptor
        do { (pipe, nothing) = (try Pipe(), try Descriptor.open(path: "/dev/null", O_RDONLY)) } catch {
            throw .io(error)
        }
        var output: Descriptor? = pipe!.readEnd
        let process: pid_t
        do throws(CommandError) {
            process = try unsafe Process.spawn("/bin/sh", named: "sh", ["-c", Path(command)]) { actions, _ in
                unsafe posix_spawn_file_actions_adddup2(&actions, nothing.number, STDIN_FILENO)
                unsafe posix_spawn_file_actions_adddup2(&actions, pipe!.writeEnd.number, STDOUT_FILENO)
            }
        } catch { throw .unanswered(error) }
        withExtendedLifetime(nothing) {}
        // Else the output would never end.
        pipe = nil
        var secret: Secret?
        var failure: SecretReader.Failure?
        do throws(SecretReader.Failure) { secret = try SecretReader.contents(of: output!.number) } catch {
            failure = error
        }
        // A command that prints without an end gets SIGPIPE.
        output = nil
        let code = Process.exitCode(of: process)
        if case .tooLong? = failure { throw .tooLong }
        guard code == 0 else {
            let end = code > 128 ? "was ended by signal \(code - 128)" : "ended with exit code \(code)"
            throw .unanswered(
                CommandError(
                    .failed, "the command of the \(subject.name) \(end); nothing was tried",
                    try: "the same without --passcode-command   (asks for the \(subject.name))"))
        }
        if let failure { throw failure }
        return secret.take()!
    }
}
