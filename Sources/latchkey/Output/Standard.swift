import Glibc

/// Standard output and standard error, a line at a time.
enum Standard {
    /// Writes `line` and a newline to standard output.
    static func output(_ line: String) { write(line, to: STDOUT_FILENO) }

    /// Writes `line` and a newline to standard error.
    static func error(_ line: String) { write(line, to: STDERR_FILENO) }

    /// Shows `text` in place of what the terminal's last line shows; nothing clears it.
    static func progress(_ text: String) {
        // To the line's beginning, and clear it to its end: ECMA-48.
        let line = Array("\r\u{1B}[K\(text)".utf8)
        _ = unsafe line.withUnsafeBytes { unsafe Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }

    /// Unbuffered, so that lines keep their order with those of a child process.
    private static func write(_ line: String, to descriptor: Int32) {
        let ended = line.hasSuffix("\n") ? line : line + "\n"
        var bytes = Array(ended.utf8)[...]
        while !bytes.isEmpty {
            let count = unsafe bytes.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0 {
                if errno == EINTR { continue }
                // A full disk or a closed reader must not look like success.
                exit(CommandError.Code.failed.rawValue)
            }
            bytes = bytes.dropFirst(count)
        }
    }
}
