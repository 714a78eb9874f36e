import Crypto
import Posix

/// A passcode from a file, a pipe or standard input is one line. What a program adds to it (a second line, a carriage
/// return) would make it a wrong one, which is counted.
enum OneLine {
    enum Excess {
        case secondLine
        case carriageReturn
    }

    /// What a secret without its final newline, which is not empty, has besides one line; nil if it has nothing.
    static func excess(of secret: borrowing Secret) -> Excess? {
        secret.withBytes { bytes in
            for index in 0..<bytes.byteCount where byte(index, bytes) == UInt8(ascii: "\n") { return .secondLine }
            return byte(bytes.byteCount - 1, bytes) == UInt8(ascii: "\r") ? .carriageReturn : nil
        }
    }

    private static func byte(_ index: Int, _ bytes: RawSpan) -> UInt8 {
        unsafe bytes.unsafeLoad(fromByteOffset: index, as: UInt8.self)
    }
}

extension OneLine {
    /// Throws if `secret`, from anything but a terminal, is more than one line.
    ///
    /// - Parameters:
    ///   - place: as in "no passcode in …".
    ///   - file: where it lies, if it lies in one.
    static func check(
        _ secret: borrowing Secret, _ subject: SecretSource.Subject, in place: Printable, file: Path? = nil
    ) throws(SecretReader.Failure) {
        guard subject.isOneLine, let excess = excess(of: secret) else { return }
        let what: Printable =
            switch excess {
            case .secondLine: "has a second line"
            case .carriageReturn: "has a carriage return before the end of the line, as files of Windows have"
            }
        throw .unanswered(
            CommandError(
                .usage, "the \(subject.name) in \(place) \(what): it must be one line alone; nothing was tried",
                advice: advice(about: excess, file)))
    }

    private static func advice(about excess: Excess, _ file: Path?) -> [Printable] {
        let command: Printable
        switch excess {
        case .secondLine: command = "head -n 1"
        case .carriageReturn: command = "tr -d '\\r'"
        }
        guard let file, !file.hasPrefix("/dev/"), !file.hasPrefix("/proc/") else {
            return ["the same with  \(command) |  before it   (keeps what a passcode has)"]
        }
        let fixed = (file + ".line").quoted
        return ["(umask 077; \(command) < \(file.quoted) > \(fixed))   (then the same with \(fixed))"]
    }
}
