import Crypto
import Posix

/// pinentry, a dialogue with a window, by the Assuan protocol: a line for each command, and OK or ERR for each.
///
/// It is told of no cache, so it asks a person each time.
///
/// Source: the manual of pinentry, "Protocol"; the manual of Assuan, "Server responses".
struct Pinentry {
    private let process: AskingProcess
    private let commands: Descriptor

    static func ask(_ program: Path, _ question: Question) throws(SecretReader.Failure) -> AskingWay.Answer {
        let ends: (Descriptor, Descriptor)
        do { ends = try UnixSocket.pair() } catch { throw .io(error) }
        let commands = ends.0
        return try AskingProcess.run(program, [], name: "pinentry", input: ends.1) {
            (process) throws(SecretReader.Failure) in
            do throws(Obstacle) {
                return .secret(try Pinentry(process: process, commands: commands).ask(question))
            } catch {
                switch error {
                case .failure(let failure): throw failure
                case .cannotAsk(let reason): return .cannotAsk("pinentry cannot ask: \(reason)")
                }
            }
        }
    }

    private enum Obstacle: Error {
        case failure(SecretReader.Failure)
        case cannotAsk(Printable)
    }

    private func ask(_ question: Question) throws(Obstacle) -> Secret {
        switch try reply() {
        case .done: break
        case .error(_, let text): throw .cannotAsk(text)
        case .data: throw .cannotAsk("it does not begin with OK")
        }
        // It can ask without these, if it does not know them.
        _ = try send("SETTITLE Latchkey")
        _ = try send("SETTIMEOUT \(AskingProcess.limit.components.seconds)")
        _ = try send("SETPROMPT \(question.label):")
        if let complaint = question.complaint { _ = try send("SETERROR \(Self.encoded(complaint))") }
        if case .error(_, let text) = try send("SETDESC \(Self.encoded(question.text))") { throw .cannotAsk(text) }
        try write("GETPIN")
        var secret: Secret?
        for _ in 0..<Self.mostLines {
            switch try reply() {
            case .data(let part):
                guard let before = secret.take() else {
                    secret = consume part
                    continue
                }
                secret = try Self.joined(before, part)
            case .done:
                _ = try? write("BYE")
                guard let secret = secret.take(), secret.count > 0 else { throw .failure(.empty) }
                return secret
            case .error(let code, let text): throw Self.obstacle(code, text)
            }
        }
        throw .cannotAsk("its answer has no end")
    }

    /// Lines of an answer, and of what it says besides.
    private static let mostLines = 100

    private static func joined(
        _ first: borrowing Secret, _ second: borrowing Secret
    ) throws(Obstacle) -> Secret {
        guard first.count + second.count <= SecretReader.largest else { throw .failure(.tooLong) }
        do { return try Secret(joining: first, second) } catch { throw .failure(.noMemory(error)) }
    }

    private static func obstacle(_ code: Int, _ text: Printable) -> Obstacle {
        // The lower half is a code of libgpg-error, the upper one says where it comes from.
        switch code & 0xffff {
        case 99, 114, 198: .failure(.failed("you cancelled pinentry; nothing was tried"))
        case 62: .failure(.failed("pinentry has given no answer in time; nothing was tried"))
        default: .cannotAsk(text)
        }
    }

    private func send(_ command: String) throws(Obstacle) -> AssuanReply {
        try write(command)
        return try reply()
    }

    private func write(_ command: String) throws(Obstacle) {
        do throws(Errno) { try unsafe commands.send(Array((command + "\n").utf8).span.bytes) } catch {
            throw .cannotAsk("it has ended")
        }
    }

    private func reply() throws(Obstacle) -> AssuanReply {
        for _ in 0..<Self.mostLines {
            do throws(SecretReader.Failure) {
                if let reply = try AssuanReply.parsed(try process.line()) { return reply }
            } catch {
                switch error {
                case .unanswered, .noMemory: throw .failure(error)
                case .empty: throw .cannotAsk("it has ended")
                case .tooLong: throw .cannotAsk("a line of its is longer than Assuan allows")
                case .io(let code): throw .cannotAsk("\(code)")
                }
            }
        }
        throw .cannotAsk("it says too much")
    }

    private static func encoded(_ text: Printable) -> String { text.text.replacing("%", with: "%25") }
}
