import Crypto
import Glibc
import Posix

/// A program as ssh(1) has it in SSH_ASKPASS: it shows its argument as a question, and writes the answer to its
/// standard output. When a person cancels, its exit code is 1.
struct AskPass {
    let program: Path
    /// The environment variable that names it.
    let variable: String

    func ask(_ question: Question) throws(SecretReader.Failure) -> Secret {
        guard let path = ProgramPath.find(program), path.access(X_OK) == 0 else {
            throw .failed(
                "cannot ask: \(program), which \(variable) names, is no program; nothing was tried",
                try: "\(variable)=/usr/bin/ssh-askpass latchkey …   (or another program that asks)")
        }
        if let objection = ProgramPath.objection(to: path) {
            throw .failed(
                "root does not run \(program), which \(variable) names: \(objection); nothing was tried",
                try: "unset \(variable)", "sudo chown root \(path.quoted)")
        }
        let name = program.printable
        return try AskingProcess.run(path, [Path(question.line.text)], name: name) {
            (process) throws(SecretReader.Failure) in
            // A program that was cancelled may have written something.
            let answer = try process.answer()
            try Self.check(try process.exitCode(), of: name)
            guard let answer else { throw .empty }
            return answer
        }
    }

    private static func check(_ code: Int32, of name: Printable) throws(SecretReader.Failure) {
        switch code {
        case 0: return
        case 1: throw .failed("you cancelled \(name); nothing was tried")
        case 129...: throw .failed("\(name) was ended by signal \(code - 128); nothing was tried")
        default: throw .failed("\(name) ended with exit code \(code); nothing was tried")
        }
    }
}
