/// The errors of a command that goes on after an error: each is shown at once, and the exit code is decided at the end.
struct Failures {
    private(set) var count = 0
    private var code: CommandError.Code?
    /// Whether each error shows its advice, and not only the first one.
    private let advises: Bool

    init(advises: Bool = false) { self.advises = advises }

    mutating func add(_ error: CommandError) {
        // The advice only once: a folder may have thousands of locked files.
        Standard.error(count == 0 || advises ? error.text : "latchkey: \(error.message)")
        count += 1
        // Locked is more specific than failed: the command succeeds for those files after an unlock.
        if code == nil || error.code == .locked { code = error.code }
    }

    /// Runs `body` and adds what it throws.
    mutating func collect(_ body: () throws(CommandError) -> Void) {
        do { try body() } catch { add(error) }
    }

    /// Throws if there was an error among the `total` operations.
    func end(of total: Int) throws {
        guard let code else { return }
        if total > 1 { Standard.error("latchkey: \(count) of \(total) failed") }
        throw Ended(code: code)
    }
}

/// The end of a command that has shown its errors already.
struct Ended: Error {
    let code: CommandError.Code
}
