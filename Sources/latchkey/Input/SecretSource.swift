import Crypto
import Glibc
import Posix

/// The source of a passcode or a recovery key: never an argument, since every process can read those.
enum SecretSource {
    case file(Path)
    case descriptor(Int32)
    /// What is piped into standard input: one line. Without that a person is asked, in the first of `AskingWay`'s ways.
    case standardInput
    /// systemd-ask-password(1).
    case agent
    /// One line of the output of a command of `/bin/sh`.
    case command(String)

    /// What the user is asked for, in words.
    struct Subject {
        /// As in "no … was given".
        let name: String
        /// As shown at the terminal, without the colon.
        var prompt: String
        /// It is asked for a second time, and must be the same.
        var isRepeated = false
        /// The option that names a file with it.
        var option: Printable?
        /// Whether what a file, a descriptor or standard input has besides one line is refused.
        var isOneLine = true

        /// The same, asked for with the path of its vault.
        func of(_ vault: Path) -> Subject {
            var subject = self
            subject.prompt += " of \(vault.printable)"
            return subject
        }

        /// The same, asked for once more.
        var again: Subject {
            var subject = self
            subject.isRepeated = true
            return subject
        }

        static let passcode = Subject(name: "passcode", prompt: "Passcode", option: "--passcode-file")
        static let oldPasscode = Subject(name: "old passcode", prompt: "Old passcode", option: "--passcode-file")
        static let newPasscode = Subject(name: "new passcode", prompt: "New passcode")
        static let recoveryKey = Subject(
            name: "recovery key", prompt: "Recovery key", option: "--recovery-key-file", isOneLine: false)
        /// From the command that has started this daemon, which has checked it.
        static let handedOver = Subject(name: "passcode", prompt: "Passcode", isOneLine: false)
        static let passphrase = Subject(name: "passphrase", prompt: "Passphrase of the backup")
        static let keyFile = Subject(name: "key", prompt: "Key", isOneLine: false)
    }

    /// Whether a person is asked for it.
    var isAsked: Bool { ways.contains { $0 != .line } }

    /// How it is asked for, the first way first; none for a source that is no person.
    private var ways: [AskingWay] {
        switch self {
        case .standardInput: AskingSurroundings.here.ways
        case .agent: [.passwordAgent(.system)]
        case .file, .descriptor, .command: []
        }
    }

    /// Reads it once.
    func read(_ subject: Subject) throws(CommandError) -> Secret {
        // From here on, this process holds a secret.
        do { try ProcessLimits.forbidDumps() } catch { throw CommandError(.failed, "\(error)") }
        do throws(SecretReader.Failure) {
            let secret: Secret
            switch self {
            case .standardInput, .agent:
                return try ask(subject)
            case .descriptor(let number):
                secret = try SecretReader.contents(of: number)
            case .command(let command):
                secret = try PasscodeCommand.run(command, subject)
            case .file(let path):
                let file = try openFile(path, subject)
                defer { withExtendedLifetime(file) {} }
                secret = try SecretReader.contents(of: file.number)
            }
            try OneLine.check(secret, subject, in: place, file: file)
            return secret
        } catch { throw CommandError(error, reading: subject, from: place) }
    }

    private func ask(_ subject: Subject) throws(SecretReader.Failure) -> Secret {
        var obstacle: Printable?
        for way in ways {
            switch try way.answer(subject) {
            case .secret(let secret): return secret
            case .cannotAsk(let reason): obstacle = reason
            }
        }
        throw .unanswered(CommandError(noneToAsk: subject, obstacle))
    }

    /// Reads one that is to be set. A person is asked for it twice, and again if the two differ.
    func readNew(_ subject: Subject) throws(CommandError) -> Secret {
        guard isAsked else { return try read(subject) }
        for _ in 0..<3 {
            let first = try read(subject)
            let second = try read(subject.again)
            if first.equals(second) { return first }
            Complaint.say("The two differ.", onError: "The two differ.")
        }
        throw CommandError(.failed, "the \(subject.name) was never typed the same twice; nothing was changed")
    }

    private func openFile(_ path: Path, _ subject: Subject) throws(SecretReader.Failure) -> Descriptor {
        do {
            let file = try Descriptor.open(path: path, O_RDONLY)
            if let readers = try file.status().otherReaders {
                Standard.error(
                    """
                    latchkey: warning: the file of the \(subject.name) can be read by \(readers): \(path)
                      try: chmod 600 \(path.quoted)
                    """)
            }
            return file
        } catch {
            throw .unanswered(CommandError(.failed, "cannot read the \(subject.name) from \(path): \(error)"))
        }
    }

    private var file: Path? { if case .file(let path) = self { path } else { nil } }

    /// As in "no passcode in …".
    var place: Printable {
        switch self {
        case .file(let path): path.printable
        case .descriptor(let number): "descriptor \(number)"
        case .standardInput: AskingWay.line.place
        case .agent: AskingWay.passwordAgent(.system).place
        case .command: "the output of its command"
        }
    }
}

extension FileStatus {
    /// Who besides its owner and root may read a regular file, as in "can be read by …"; nil if its mode lets no other
    /// user. With an access control list the group's bits are its mask: the most that it grants.
    fileprivate var otherReaders: Printable? {
        guard kind == .regular else { return nil }
        if permissions & 0o004 != 0 { return "every user of this machine" }
        if permissions & 0o040 != 0 { return "the group \(group)" }
        return owner == geteuid() || owner == 0 || geteuid() == 0 ? nil : "another user, \(owner), who owns it"
    }
}
