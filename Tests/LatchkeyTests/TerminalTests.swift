import Crypto
import Foundation
import Glibc
import Posix
import Testing

@testable import latchkey

/// A pseudo-terminal: the person's side of it.
private struct Keyboard {
    let master: Descriptor
    let terminal: Terminal

    init() throws {
        var ends: (Int32, Int32) = (-1, -1)
        try #require(unsafe openpty(&ends.0, &ends.1, nil, nil, nil) == 0)
        master = Descriptor(owning: ends.0)
        terminal = Terminal(descriptor: Descriptor(owning: ends.1))
    }

    func type(_ text: String) throws { try unsafe master.write(Array(text.utf8).span.bytes) }

    /// What the terminal shows, up to and with `end`.
    func shown(until end: String) throws -> String {
        var shown = ""
        while !shown.contains(end) {
            guard try !Poll.readable([master], timeout: .seconds(20)).isEmpty else { throw Errno.ETIMEDOUT }
            var buffer = [UInt8](repeating: 0, count: 256)
            var elements = buffer.mutableSpan
            var bytes = unsafe elements.mutableBytes
            let count = try master.read(into: &bytes)
            shown += String(decoding: buffer[..<count], as: UTF8.self)
        }
        return shown
    }

    var echoes: Bool {
        var settings = termios()
        return unsafe tcgetattr(terminal.descriptor.number, &settings) == 0 && settings.c_lflag & tcflag_t(ECHO) != 0
    }
}

@Suite struct TerminalTests {
    @Test func asksWithoutEchoAndPutsTheEchoBack() throws {
        let keyboard = try Keyboard()
        let typing = Thread {
            guard (try? keyboard.shown(until: "Passcode: ")) != nil else { return }
            try? keyboard.type("open sesame\n")
        }
        typing.start()
        let secret = try keyboard.terminal.secret(prompt: "Passcode: ")
        #expect(secret.equals(try Secret(text: "open sesame")))
        #expect(keyboard.echoes)
        // Only the end of the line is seen.
        #expect(try keyboard.shown(until: "\n") == "\r\n")
    }

    @Test func takesNothingThatWasTypedAhead() throws {
        let keyboard = try Keyboard()
        try keyboard.type("too early\n")
        // Its echo shows that the terminal has it.
        _ = try keyboard.shown(until: "early\r\n")
        let typing = Thread {
            guard (try? keyboard.shown(until: "Passcode: ")) != nil else { return }
            try? keyboard.type("in time\n")
        }
        typing.start()
        let secret = try keyboard.terminal.secret(prompt: "Passcode: ")
        #expect(secret.equals(try Secret(text: "in time")))
    }

    @Test func refusesAnEmptyLine() throws {
        let keyboard = try Keyboard()
        let typing = Thread {
            guard (try? keyboard.shown(until: "Passcode: ")) != nil else { return }
            try? keyboard.type("\n")
        }
        typing.start()
        #expect(throws: SecretReader.Failure.self) { _ = try keyboard.terminal.secret(prompt: "Passcode: ") }
        #expect(keyboard.echoes)
    }
}

extension Secret {
    init(text: String) throws {
        try self.init(copying: unsafe Array(text.utf8).span.bytes)
    }
}
