import Crypto
import Glibc
import Posix

/// systemd-ask-password(1): lets the agents of systemd's ask for a secret.
enum PasswordAgent {
    /// Those at the console, on all terminals and in boot screens; only root may ask them.
    case system
    /// Those of this user's own session; since systemd 257.
    case user

    /// The agents that this user may ask; nil where none can be there.
    ///
    /// Source: sd_booted(3); the folder of a user is made by the first agent.
    static var here: PasswordAgent? {
        guard let program, ProgramPath.objection(to: program) == nil else { return nil }
        if geteuid() == 0 {
            return Path("/run/systemd/system").access(F_OK) == 0 && folder.access(F_OK) == 0 ? .system : nil
        }
        guard let runtime = AskingSurroundings.variable("XDG_RUNTIME_DIR") else { return nil }
        return (runtime + "/systemd/ask-password").access(F_OK) == 0 ? .user : nil
    }

    private static let folder: Path = "/run/systemd/ask-password"
    private static var program: Path? { ProgramPath.find("systemd-ask-password") }

    /// Asks, and waits for the answer, which comes over a pipe into locked memory.
    func ask(_ question: Question) throws(SecretReader.Failure) -> Secret {
        let name: Printable = "systemd-ask-password"
        guard let program = Self.program else { throw .failed("systemd-ask-password is not there; nothing was tried") }
        let options: [Path] =
            [
                "--id=latchkey", "--icon=drive-harddisk", "--no-tty",
                "--timeout=\(AskingProcess.limit.components.seconds)",
            ]
            + (self == .user ? ["--user"] : [])
        let line: Printable = question.complaint.map { "\($0) \(question.text)" } ?? question.text
        return try AskingProcess.run(program, options + ["--", Path("\(line.text) (latchkey):")], name: name) {
            (process) throws(SecretReader.Failure) in
            let answer = try process.answer()
            guard try process.exitCode() == 0 else {
                throw .failed(
                    "systemd-ask-password got no answer; nothing was tried",
                    try: "systemd-tty-ask-password-agent   (in another terminal, to answer it)")
            }
            guard let answer else { throw .empty }
            return answer
        }
    }
}
