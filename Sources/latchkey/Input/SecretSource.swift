import Crypto
import Glibc
import Posix

/// The source of a passcode or a recovery key: never an argument, since every process can read those.
enum SecretSource {
    case file(String)
    case descriptor(Int32)
    /// The terminal if standard input is one, else one line of standard input.
    case standardInput

    /// What the user is asked for, in words.
    struct Subject {
        /// As in "no … was given".
        let name: String
        /// As shown at the terminal, without the colon.
        let prompt: String

        static let passcode = Subject(name: "passcode", prompt: "Passcode")
        static let oldPasscode = Subject(name: "old passcode", prompt: "Old passcode")
        static let newPasscode = Subject(name: "new passcode", prompt: "New passcode")
        static let recoveryKey = Subject(name: "recovery key", prompt: "Recovery key")
        static let passphrase = Subject(name: "passphrase", prompt: "Passphrase of the backup")
        static let keyFile = Subject(name: "key", prompt: "Key")
    }

    /// Reads it once.
    func read(_ subject: Subject) throws(CommandError) -> Secret {
        do {
            // From here on, this process holds a secret.
            try ProcessLimits.forbidDumps()
            switch self {
            case .file(let path):
                let file = try openFile(path, subject)
                defer { withExtendedLifetime(file) {} }
                return try SecretReader.contents(of: file.number)
            case .descriptor(let number):
                return try SecretReader.contents(of: number)
            case .standardInput:
                if let terminal = Terminal.standardInput() {
                    return try terminal.secret(prompt: subject.prompt + ": ")
                }
                return try SecretReader.line(from: STDIN_FILENO)
            }
        } catch let error as SecretReader.Failure {
            throw explain(error, subject)
        } catch let error as CommandError {
            throw error
        } catch {
            throw CommandError(.failed, "\(error)")
        }
    }

    /// Reads one that is to be set. At a terminal the user types it twice, and again if the two differ.
    func readNew(_ subject: Subject) throws(CommandError) -> Secret {
        guard case .standardInput = self, isatty(STDIN_FILENO) == 1 else { return try read(subject) }
        for _ in 0..<3 {
            let first = try read(subject)
            let second = try read(Subject(name: subject.name, prompt: "The same again"))
            if first.equals(second) { return first }
            Standard.error("The two differ.")
        }
        throw CommandError(.failed, "the \(subject.name) was never typed the same twice; nothing was changed")
    }

    private func openFile(_ path: String, _ subject: Subject) throws(CommandError) -> Descriptor {
        do {
            return try Descriptor.open(path: path, O_RDONLY)
        } catch {
            throw CommandError(.failed, "cannot read the \(subject.name) from \(path): \(error)")
        }
    }

    private func explain(_ failure: SecretReader.Failure, _ subject: Subject) -> CommandError {
        let source =
            switch self {
            case .file(let path): path
            case .descriptor(let number): "descriptor \(number)"
            case .standardInput: "standard input"
            }
        switch failure {
        case .empty:
            return CommandError(
                .failed, "no \(subject.name) in \(source): it must have 1 to \(SecretReader.largest) bytes")
        case .tooLong:
            return CommandError(
                .failed, "the \(subject.name) in \(source) is longer than \(SecretReader.largest) bytes")
        case .io(let code):
            return CommandError(.failed, "cannot read the \(subject.name) from \(source): \(code)")
        case .noMemory(let error):
            return CommandError(.failed, "\(error)")
        }
    }
}
