import Glibc
import Posix

extension AskingSurroundings {
    /// Those of this process.
    static var here: AskingSurroundings {
        var here = AskingSurroundings(input: standardInput)
        guard here.input != .data else { return here }
        here.hasControllingTerminal = Terminal.controlling() != nil
        here.requirement = variable("SSH_ASKPASS_REQUIRE")?.text.flatMap { Requirement(rawValue: $0.lowercased()) }
        here.hasDisplay = variable("DISPLAY") != nil || variable("WAYLAND_DISPLAY") != nil
        here.program = variable("LATCHKEY_ASKPASS")
        here.sshProgram = variable("SSH_ASKPASS")
        here.pinentry = ProgramPath.find("pinentry").flatMap { ProgramPath.objection(to: $0) == nil ? $0 : nil }
        here.agent = PasswordAgent.here
        return here
    }

    private static var standardInput: Input {
        if isatty(STDIN_FILENO) == 1 { return .terminal }
        var (input, nothing) = (stat(), stat())
        guard unsafe fstat(STDIN_FILENO, &input) == 0 else { return .nothing }
        let isNothing =
            input.st_mode & S_IFMT == S_IFCHR && Path("/dev/null").status(&nothing) == 0
            && input.st_rdev == nothing.st_rdev
        return isNothing ? .nothing : .data
    }

    /// Nil for one that is not set or empty, and for all if this process has rights that its caller lacks.
    static func variable(_ name: String) -> Path? {
        guard getuid() == geteuid(), getgid() == getegid(), let value = unsafe getenv(name),
            unsafe value.pointee != 0
        else { return nil }
        return unsafe Path(cString: value)
    }
}
