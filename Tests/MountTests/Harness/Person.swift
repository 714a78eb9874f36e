import TestSupport

extension Vault {
    /// Runs latchkey at a terminal of its own and answers each question once it appears. The output is what it writes
    /// to either stream.
    ///
    /// - Parameters:
    ///   - withoutInput: its standard input is /dev/null, and the terminal only controls it.
    ///   - variables: of its environment, beside the vault's.
    func latchkey(
        _ arguments: [String], answering answers: [(question: String, answer: String)], withoutInput: Bool = false,
        variables: [String: String] = [:], within seconds: Double = 60
    ) throws -> Outcome {
        let said = answers.flatMap { [$0.question, $0.answer] }
        let wrapper = withoutInput ? ["/bin/sh", "-c", "exec \"$0\" \"$@\" </dev/null"] : []
        return try attempt(
            "python3", ["-c", person, "\(answers.count)"] + said + wrapper + [Built.latchkey] + arguments,
            environment: environment.merging(variables) { $1 }, within: seconds)
    }
}

/// Nothing is typed ahead, since the program discards such input.
private let person = """
    import os, pty, sys
    count = int(sys.argv[1])
    answers, command = sys.argv[2:2 + 2 * count], sys.argv[2 + 2 * count:]
    child, terminal = pty.fork()
    if child == 0:
        os.execv(command[0], command)
    heard = since = b""
    while True:
        try:
            some = os.read(terminal, 4096)
        except OSError:
            break
        if not some:
            break
        heard += some
        since += some
        if answers and since.endswith(answers[0].encode()):
            os.write(terminal, answers[1].encode() + b"\\n")
            answers, since = answers[2:], b""
    sys.stdout.buffer.write(heard)
    sys.stdout.flush()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    sys.exit("not asked: " + answers[0] if answers else status)
    """
