import Posix
import Testing

@testable import latchkey

/// The text that the parser gets for an argument's bytes.
@Suite struct ArgumentWordTests {
    /// Invalid bytes; parts of characters; characters of plane 16 and the bytes that they are made of.
    private static let words: [[UInt8]] = [
        [], Array("plain ü \u{10fe7f}".utf8), [0xff], [0x80], [0x66, 0xc3], [0xc3, 0xa9], [0xf4, 0x8f, 0xbf],
        Array("\u{10ff80}".utf8), Array("\u{10fffd}".utf8), Array("\u{10ffff}x".utf8), [0xed, 0xa0, 0x80],
        Array("a\u{10fffd}".utf8) + [0xff],
    ]

    @Test func `the bytes come back, and no two words are the same`() {
        let texts = Self.words.map(ArgumentWords.text)
        #expect(texts.map { Path(argument: $0).bytes } == Self.words)
        #expect(Set(texts.map { Array($0.utf8) }).count == Self.words.count)
        #expect(texts[1] == "plain ü \u{10fe7f}" && texts[2] == "\u{10ffff}")
    }

    @Test func `what is no path must be text`() throws {
        #expect(try textOnly(ArgumentWords.text(Array("\u{10fffd}".utf8))) == "\u{10fffd}")
        #expect(throws: (any Error).self) { try textOnly(ArgumentWords.text([0xff])) }
    }
}
