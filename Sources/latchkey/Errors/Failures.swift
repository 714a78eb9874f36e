/// The errors of a command that goes on after them: each is shown when it comes, the exit code is decided at the end.
struct Failures {
    private(set) var count = 0
    private var code: CommandError.Code?
    /// Each error says what to type next, not the first one alone.
    private let advises: Bool

    init(advises: Bool = false) { self.advises = advises }

    mutating func add(_ error: CommandError) {
        // What to type next, once: a folder may have thousands of locked files.
        Standard.error(count == 0 || advises ? error.text : "latchkey: \(error.message)")
        count += 1
        // Locked says more than failed: the rest goes again after an unlock.
        if code == nil || error.code == .locked { code = error.code }
    }

    /// Runs `body` and notes what it throws.
    mutating func collect(_ body: () throws(CommandError) -> Void) {
        do { try body() } catch { add(error) }
    }

    /// Throws when there was an error among the `total` things done.
    func end(of total: Int) throws {
        guard let code else { return }
        if total > 1 { Standard.error("latchkey: \(count) of \(total) failed") }
        throw Ended(code: code)
    }
}

/// The end of a command whose errors have been shown already.
struct Ended: Error {
    let code: CommandError.Code
}
