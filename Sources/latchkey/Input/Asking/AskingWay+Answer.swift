import Crypto
import Glibc
import Posix

extension AskingWay {
    enum Answer: ~Copyable {
        case secret(Secret)
        /// Nothing was shown to a person, for this reason.
        case cannotAsk(Printable)
    }

    /// Asks once. Throws if the person has given no answer, or one that no secret can be.
    func answer(_ subject: SecretSource.Subject) throws(SecretReader.Failure) -> Answer {
        do throws(SecretReader.Failure) {
            switch self {
            case .line:
                let line = try SecretReader.line(from: STDIN_FILENO)
                try OneLine.check(line, subject, in: place)
                return .secret(line)
            case .terminal:
                guard let terminal = Terminal.standardInput() ?? Terminal.controlling() else {
                    return .cannotAsk("the terminal is gone")
                }
                // Standard error has shown it.
                _ = Complaint.take()
                return .secret(
                    try terminal.secret(prompt: subject.isRepeated ? "The same again: " : subject.prompt + ": "))
            case .program(let path, let variable):
                return .secret(try check(AskPass(program: path, variable: variable).ask(Question(subject)), subject))
            case .pinentry(let path):
                switch try Pinentry.ask(path, Question(subject)) {
                case .secret(let secret): return .secret(try check(secret, subject))
                case .cannotAsk(let reason): return .cannotAsk(reason)
                }
            case .passwordAgent(let agent):
                return .secret(try check(agent.ask(Question(subject)), subject))
            }
        } catch { throw .unanswered(CommandError(error, reading: subject, from: place)) }
    }

    /// What no person types would be a wrong passcode, which is counted.
    private func check(
        _ secret: consuming Secret, _ subject: SecretSource.Subject
    ) throws(SecretReader.Failure) -> Secret {
        try OneLine.check(secret, subject, in: place)
        let hasNul = secret.withBytes { bytes in unsafe bytes.withUnsafeBytes { unsafe $0.contains(0) } }
        guard !hasNul else {
            throw .failed("the \(subject.name) in \(place) has a NUL byte; nothing was tried")
        }
        return secret
    }
}
