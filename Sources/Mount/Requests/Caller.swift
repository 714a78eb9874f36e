import CLinux
import Glibc
import Posix

/// The thread that sent a request and waits for its answer.
struct Caller {
    let thread: Int32

    /// Whether it is in read(2) or a similar call; nil until it has gone to sleep.
    ///
    /// False if the daemon cannot tell: for a process in another PID namespace or one that the daemon may not inspect,
    /// and for 32-bit programs, whose calls have other numbers. Source: proc(5), /proc/PID/syscall.
    var isReading: Bool? {
        guard thread != 0, let text = contents(of: "syscall", at: 0, upTo: 256) else { return false }
        // "running", or the number, six arguments, the stack pointer and the program counter.
        let words = String(decoding: text, as: UTF8.self).split(whereSeparator: \.isWhitespace)
        if words.first == "running" { return nil }
        guard words.count == 9, let number = Int(words[0]), lk_is_read_call(number) != 0, words[8].hasPrefix("0x"),
            let counter = Int64(words[8].dropFirst(2), radix: 16)
        else { return false }
        return contents(of: "mem", at: counter - Int64(Self.instruction.count), upTo: Self.instruction.count)
            == Self.instruction
    }

    /// The instruction of a 64-bit system call. A 32-bit call has another instruction and other numbers, in a 64-bit
    /// program too.
    #if arch(x86_64)
        private static let instruction: [UInt8] = [0x0f, 0x05]
    #else
        private static let instruction: [UInt8] = [0x01, 0x00, 0x00, 0xd4]
    #endif

    /// The credentials of the thread, from /proc/PID/status; nil if they cannot be read.
    var credentials: Credentials? {
        guard thread != 0, let text = contents(of: "status", at: 0, upTo: Self.longestStatus) else { return nil }
        return Credentials(text)
    }

    /// Room for more than 1,400 groups; a longer text is rejected.
    private static let longestStatus = 16 << 10

    private func contents(of name: String, at offset: Int64, upTo limit: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: limit)
        var span = bytes.mutableSpan
        var memory = unsafe span.mutableBytes
        guard let file = try? Descriptor.open(path: "/proc/\(thread)/\(name)", O_RDONLY),
            let count = try? file.read(into: &memory, at: offset)
        else { return nil }
        return Array(bytes[..<count])
    }
}
