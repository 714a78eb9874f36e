import Posix

/// A way to get a secret from the person, or from the pipe, that standard input stands for.
enum AskingWay: Equatable {
    /// One line of standard input: a pipe, a file or a socket. No person is asked.
    case line
    /// The terminal of standard input, or else the one that controls this process.
    case terminal
    /// The program that this environment variable names.
    case program(Path, variable: String)
    case pinentry(Path)
    /// systemd-ask-password(1).
    case passwordAgent(PasswordAgent)

    /// As in "no passcode in …".
    var place: Printable {
        switch self {
        case .line, .terminal: "standard input"
        case .program(let path, _): "the answer of \(path)"
        case .pinentry: "the answer of pinentry"
        case .passwordAgent: "the answer to systemd-ask-password"
        }
    }
}

/// What decides how a person is asked.
///
/// Source: ssh(1), SSH_ASKPASS and SSH_ASKPASS_REQUIRE, whose rules these are.
struct AskingSurroundings {
    enum Input: CaseIterable {
        case terminal
        /// A pipe, a file or a socket.
        case data
        /// /dev/null, as programs of a desktop and services have it.
        case nothing
    }

    /// SSH_ASKPASS_REQUIRE.
    enum Requirement: String, CaseIterable {
        case never
        case prefer
        case force
    }

    var input: Input
    /// Whether this process is in the foreground of a terminal, whatever standard input is.
    var hasControllingTerminal = false
    var requirement: Requirement?
    /// Whether DISPLAY or WAYLAND_DISPLAY is set.
    var hasDisplay = false
    /// LATCHKEY_ASKPASS.
    var program: Path?
    /// SSH_ASKPASS.
    var sshProgram: Path?
    /// Where PATH has it.
    var pinentry: Path?
    var agent: PasswordAgent?

    /// The ways in order; the next one counts only if the one before cannot ask. None if no person can be asked.
    ///
    /// What a script pipes in always counts. A program that is named has no other one behind it: the person, or what
    /// started this process, has chosen it.
    var ways: [AskingWay] {
        if input == .data { return [.line] }
        let hasTerminal = input == .terminal || hasControllingTerminal
        if let named, requirement != .never, requirement != nil || !hasTerminal { return [named] }
        if hasTerminal { return [.terminal] }
        guard requirement != .never else { return [] }
        let dialogue = hasDisplay ? pinentry.map { AskingWay.pinentry($0) } : nil
        return [dialogue, agent.map { .passwordAgent($0) }].compactMap { $0 }
    }

    private var named: AskingWay? {
        if let program { return .program(program, variable: "LATCHKEY_ASKPASS") }
        guard let sshProgram, hasDisplay || requirement == .force else { return nil }
        return .program(sshProgram, variable: "SSH_ASKPASS")
    }
}
