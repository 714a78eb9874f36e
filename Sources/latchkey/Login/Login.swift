import Failure
import Glibc
import Posix
import VaultNames

/// What the PAM module runs as the user: `latchkey ---login WORD PID`, with the secret in standard input. PID is the
/// process that the user logs in by.
///
/// The module ends this process by alarm(2) if it waits too long, and ignores its status. No word of this is for
/// people: without the module's pipe it does nothing.
enum Login {
    static let request = "---login"

    static func run(_ arguments: [String]) {
        // Of the module, which may have gone on.
        _ = signal(SIGPIPE, SIG_IGN)
        guard (try? ProcessLimits.forbidDumps()) != nil, isatty(STDIN_FILENO) == 0, arguments.count == 2,
            let host = pid_t(arguments[1]), host > 0
        else { exit(CommandError.Code.usage.rawValue) }
        // The program's name, and the process ID.
        openlog(nil, LOG_PID, LOG_AUTHPRIV)
        switch arguments[0] {
        case "unlock":
            // One byte tells the module that a later try, when the session is open, may find more vaults.
            if let unlocking = LoginUnlocking(), !unlocking.tryAll() { Standard.output("w") }
        case "unlock-later": LoginUnlocking()?.tryAll(while: host)
        case "passwd": LoginChange.run()
        default: exit(CommandError.Code.usage.rawValue)
        }
    }

    /// The vaults that their owner has registered; none if the configuration is wrong, which the log says.
    static func vaults() -> [NamedVault] {
        do throws(NamedVaultsError) { return try NamedVaults.load().vaults.filter { $0.unlocksAtLogin == true } } catch
        {
            log(LOG_WARNING, "no vault is unlocked at a login: \(error.description)")
            return []
        }
    }

    /// One line of the system's log, facility `authpriv`.
    static func log(_ priority: Int32, _ line: Printable) {
        unsafe line.text.withCString { text in unsafe withVaList([text]) { unsafe vsyslog(priority, "login: %s", $0) } }
    }
}
