import Glibc
import Posix

/// A program that a test started and talks with by lines, through its standard input and output.
///
/// It is killed when the test releases it. A program that does not answer in time may wait for a mount: then the mounts
/// of this run are aborted.
public final class LineProgram {
    public let process: Child
    private var input: Descriptor?
    private let output: Descriptor
    private var received: [UInt8] = []

    /// - Parameter hearsErrors: standard error is read as standard output is, and not passed on to this process's own.
    public init(
        _ program: String, _ arguments: [String] = [], environment: [String: String] = Environment.plain,
        hearsErrors: Bool = true
    ) throws {
        // A program that has died is an error of its test and must not end this process with SIGPIPE.
        signal(SIGPIPE, SIG_IGN)
        let (downward, upward) = (try Posix.Pipe(), try Posix.Pipe())
        process = try Child(
            program, arguments, environment: environment, input: downward.readEnd.number,
            output: upward.writeEnd.number, errors: hearsErrors ? upward.writeEnd.number : STDERR_FILENO)
        input = downward.writeEnd
        output = upward.readEnd
    }

    public func send(_ line: String) throws {
        do {
            guard let input else { throw Posix.Errno.EPIPE }
            try unsafe input.write(Array((line + "\n").utf8).span.bytes)
        } catch {
            throw HarnessError("\(process.program) is gone, at: \(line.prefix(200))")
        }
    }

    /// The next line that it writes.
    ///
    /// - Parameter question: what it was asked, for the error if it does not answer.
    public func line(within seconds: Double = 20, to question: String = "") throws -> String {
        let end = ContinuousClock.now + .seconds(seconds)
        while true {
            if let newline = received.firstIndex(of: UInt8(ascii: "\n")) {
                defer { received.removeSubrange(...newline) }
                return String(decoding: received[..<newline], as: UTF8.self)
            }
            let left = end - .now
            guard left > .zero, try !Poll.readable([output], timeout: left).isEmpty else {
                LiveMounts.abortAll()
                process.send(SIGKILL)
                throw HarnessError("\(process.program): no line in \(seconds) s: \(question.prefix(200))")
            }
            var chunk = [UInt8](repeating: 0, count: 65536)
            var elements = chunk.mutableSpan
            var bytes = unsafe elements.mutableBytes
            let count = try output.read(into: &bytes)
            guard count > 0 else { throw HarnessError("\(process.program) ended, at: \(question.prefix(200))") }
            received += chunk[..<count]
        }
    }

    /// Closes its standard input.
    public func endInput() {
        input = nil
    }

    /// The exit status, or 128 and the number of the signal.
    public func end(within seconds: Double) throws -> Int32 {
        guard let status = process.wait(seconds: seconds) else {
            throw HarnessError("\(process.program): no end in \(seconds) s")
        }
        return status
    }
}
