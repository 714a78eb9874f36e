import Glibc

/// Standard output and standard error, a line at a time.
enum Standard {
    /// Writes `line` and a newline to standard output.
    static func output(_ line: String) { write(line, to: STDOUT_FILENO) }

    /// Writes `line` and a newline to standard error.
    static func error(_ line: String) { write(line, to: STDERR_FILENO) }

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
