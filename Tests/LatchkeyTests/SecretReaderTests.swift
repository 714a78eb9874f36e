import Administration
import Crypto
import Posix
import Testing

@testable import latchkey

@Suite struct SecretReaderTests {
    /// The reading end of a pipe that holds `text`.
    private func pipe(_ text: String) throws -> Descriptor {
        let pipe = try Pipe()
        try unsafe pipe.writeEnd.write(Array(text.utf8).span.bytes)
        return pipe.readEnd
    }

    private func contents(of input: Descriptor) throws(SecretReader.Failure) -> Secret {
        defer { withExtendedLifetime(input) {} }
        return try SecretReader.contents(of: input.number)
    }

    @Test func takesALineAndLeavesTheNext() throws {
        let input = try pipe("old\nnew\n")
        #expect(try SecretReader.line(from: input.number).equals(Secret(text: "old")))
        #expect(try SecretReader.line(from: input.number).equals(Secret(text: "new")))
        #expect(throws: SecretReader.Failure.self) { _ = try SecretReader.line(from: input.number) }
        withExtendedLifetime(input) {}
    }

    @Test func stripsOneTrailingNewlineAndNoMore() throws {
        for (text, expected) in [("a\n", "a"), ("a", "a"), ("a\n\n", "a\n"), ("a\nb\n", "a\nb"), (" a \n", " a ")] {
            let input = try pipe(text)
            #expect(
                try contents(of: input).equals(Secret(text: expected)), "\(text.debugDescription)")
        }
    }

    @Test(arguments: ["", "\n"]) func refusesNothing(_ text: String) throws {
        let input = try pipe(text)
        #expect(throws: SecretReader.Failure.self) { _ = try contents(of: input) }
    }

    @Test(arguments: [(1024, true), (1025, false), (1026, false), (10_000, false)])
    func takesAtMost1024Bytes(_ count: Int, _ fits: Bool) throws {
        for end in ["", "\n"] {
            let input = try pipe(String(repeating: "x", count: count) + end)
            do throws(SecretReader.Failure) {
                let secret = try contents(of: input)
                #expect(fits && secret.count == count)
            } catch {
                #expect(!fits)
            }
        }
    }

    @Test func goesThroughAPipeWhole() throws {
        let secret = try Secret(random: 1024)
        let copy = try contents(of: secret.pipe())
        // A random last byte may be a newline, which is stripped.
        #expect(copy.equals(secret) || copy.count == 1023)
    }
}
