import Posix

/// Why a command did not do what was asked, in words for the person who typed it.
struct CommandError: Error, CustomStringConvertible {
    /// The exit codes; scripts rely on them, and docs/COMMANDS.md lists them.
    enum Code: Int32 {
        case failed = 1
        case usage = 2
        case wrongPasscode = 3
        case locked = 4
        case notFound = 5
        case damaged = 6
        case riskyStore = 7
    }

    let code: Code
    /// What was wrong: no capital letter at the beginning, no full stop at the end.
    let message: Printable
    /// Commands to type next, the likeliest first.
    let advice: [Printable]
    /// Whether the operation may have been done in spite of the error.
    private(set) var isInDoubt = false
    /// Whether a passcode was tried and is wrong, so that another one may be tried.
    private(set) var isWrongPasscode = false
    /// Set if nothing was tried, because a wrong passcode would be the last of so many and erase the vault's keys.
    private(set) var lastTryOf: Int?

    init(_ code: Code, _ message: Printable, try advice: Printable...) {
        self.init(code, message, advice: advice)
    }

    init(_ code: Code, _ message: Printable, advice: [Printable]) {
        self.code = code
        self.message = message
        self.advice = advice
    }

    /// The same error for an operation that may have been done.
    var inDoubt: CommandError {
        var error = self
        error.isInDoubt = true
        return error
    }

    /// The same error for a passcode that was tried and is wrong.
    var ofWrongPasscode: CommandError {
        var error = self
        error.isWrongPasscode = true
        return error
    }

    /// The error for a passcode that was not tried.
    init(lastTryOf limit: Int) {
        self.init(
            .wrongPasscode,
            "nothing was tried: this is \(Self.last(of: limit)), and a wrong passcode erases the vault's keys",
            try: "the same with --last-try   (to try it all the same)", "the same with --recovery   (the recovery key)")
        lastTryOf = limit
    }

    var description: String { text.text }

    /// The message, then each line of advice.
    var text: Printable {
        (["latchkey: \(message)"] + advice.map { "  try: \($0)" }).joined(separator: "\n")
    }
}
