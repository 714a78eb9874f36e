import Glibc
import Posix
import Synchronization

/// Standard output and standard error. Text reaches them only as `Printable`; records for programs are written as they
/// are.
enum Standard {
    private static let goesOn = Atomic(false)

    /// From now on a reader that has ended does not end this process: what is written is dropped, by its children too.
    static func goOnWithoutReader() {
        _ = signal(SIGPIPE, SIG_IGN)
        goesOn.store(true, ordering: .relaxed)
    }

    private static func dropAll() {
        guard let null = try? Descriptor.open(path: "/dev/null", O_WRONLY) else { return }
        for number in [STDOUT_FILENO, STDERR_FILENO] { _ = dup2(null.number, number) }
    }

    /// Writes `line` and a newline to standard output.
    static func output(_ line: Printable) { write(ended(line), to: STDOUT_FILENO) }

    /// Writes `line` and a newline to standard error.
    static func error(_ line: Printable) { write(ended(line), to: STDERR_FILENO) }

    /// Writes fields and a path unchanged to standard output, separated by tabs, with a NUL at the end: the path may
    /// contain tabs.
    static func output(record fields: [String], _ path: Path) {
        write(fields.flatMap { Array("\($0)\t".utf8) } + path.bytes + [0], to: STDOUT_FILENO)
    }

    /// The same, where the process must go on if nothing can be written any more.
    static func note(_ line: Printable) {
        // A pipe without a reader would end the process.
        try? SignalDescriptor.block([SIGPIPE])
        let bytes = ended(line)
        _ = unsafe bytes.withUnsafeBytes { unsafe Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }

    private static func ended(_ line: Printable) -> [UInt8] {
        Array((line.text.hasSuffix("\n") ? line.text : line.text + "\n").utf8)
    }

    /// Replaces the terminal's last line by `text`; nothing clears it.
    static func progress(_ text: Printable) {
        // To the beginning of the line, then erase to its end: ECMA-48.
        let line = Array("\r\u{1B}[K\(text)".utf8)
        _ = unsafe line.withUnsafeBytes { unsafe Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }

    /// Unbuffered, so that lines keep their order with those of a child process.
    private static func write(_ bytes: [UInt8], to descriptor: Int32) {
        var bytes = bytes[...]
        while !bytes.isEmpty {
            let count = unsafe bytes.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0 {
                if errno == EINTR { continue }
                if errno == EPIPE, goesOn.load(ordering: .relaxed) { return dropAll() }
                // A full disk or a closed reader must not look like success.
                exit(CommandError.Code.failed.rawValue)
            }
            bytes = bytes.dropFirst(count)
        }
    }
}
